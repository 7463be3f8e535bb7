import Tandem

/// An open controller, which writes an event for each change to its list.
@MainActor final class BridgeController {
    /// The keys of `open` that `refetch` may change.
    static let keys = [
        "entity", "where", "arguments", "sort", "sections", "refresh", "limit",
        "includesSubentities", "cache",
    ]

    let results: FetchedResultsController<ManagedObject>
    /// The settings of the last `open` or `refetch` request that succeeded.
    private(set) var members: [String: JSON]
    private let events: ControllerEvents

    /// Opens a controller; throws the errors of the fetch.
    init(
        _ name: String, _ settings: ControllerSettings, _ context: ManagedObjectContext,
        _ output: BridgeOutput
    ) throws {
        members = settings.members
        results = try FetchedResultsController(
            fetchRequest: settings.request, context: context,
            sectionNameKeyPath: settings.sections,
            relationshipKeyPathsForRefreshing: settings.refresh, cacheName: settings.cache)
        // The protocol has one change per merged transaction, so unsaved edits are not reported.
        results.includesPendingChanges = false
        events = ControllerEvents(name: name, output: output)
        try results.performFetch()
        results.delegate = events
    }

    /// Fetches with new settings; keeps the old settings if the fetch fails.
    func refetch(_ settings: ControllerSettings) throws {
        let old = (
            results.fetchRequest, results.sectionNameKeyPath,
            results.relationshipKeyPathsForRefreshing, results.cacheName
        )
        do {
            results.fetchRequest = settings.request
            results.sectionNameKeyPath = settings.sections
            results.relationshipKeyPathsForRefreshing = settings.refresh
            results.cacheName = settings.cache
            try results.performFetch()
            members = settings.members
        } catch {
            (
                results.fetchRequest, results.sectionNameKeyPath,
                results.relationshipKeyPathsForRefreshing, results.cacheName
            ) = old
            throw error
        }
    }

    /// The sections as JSON.
    var sections: JSON {
        .array(
            results.sections.map { section in
                .object([
                    "name": .string(section.name), "indexTitle": .string(section.indexTitle),
                    "objects": JSON(section.objectIDs),
                ])
            })
    }
}

/// The settings of an `open` or `refetch` request.
struct ControllerSettings {
    let members: [String: JSON]
    let request: FetchRequest<ManagedObject>
    let sections: String?
    let refresh: [String]
    let cache: String?
}

/// Writes the changes and failures of a controller as events.
private final class ControllerEvents: FetchedResultsControllerDelegate {
    private let name: String
    private let output: BridgeOutput

    init(name: String, output: BridgeOutput) {
        self.name = name
        self.output = output
    }

    func controller(
        _ controller: FetchedResultsController<ManagedObject>, didChange change: ControllerChange
    ) {
        output.write([
            "event": .string("change"), "controller": .string(name),
            "position": JSON(number: change.position.number),
            "sections": .array(change.change.sections.map { Self.json($0) }),
            "objects": .array(change.change.objects.map { Self.json($0, change) }),
        ])
    }

    func controller(
        _ controller: FetchedResultsController<ManagedObject>, didFailWith error: TandemError
    ) {
        output.write([
            "event": .string("failure"), "controller": .string(name),
            "position": JSON(number: controller.position?.number ?? 0),
            "error": BridgeErrors.json(error),
        ])
    }

    private static func json(_ section: ResultsChange.SectionChange) -> JSON {
        let (type, index, name) =
            switch section {
            case .delete(let index, let name): ("delete", index, name)
            case .insert(let index, let name): ("insert", index, name)
            }
        return .object([
            "type": .string(type), "index": .int(Int64(index)), "name": .string(name),
        ])
    }

    private static func json(
        _ object: ResultsChange.ObjectChange, _ change: ControllerChange
    ) -> JSON {
        let type =
            switch object {
            case .insert: "insert"
            case .delete: "delete"
            case .move: "move"
            case .update: "update"
            }
        var members: [String: JSON] = [
            "type": .string(type), "object": JSON(change.id(of: object)),
        ]
        members["from"] = object.from.map { json($0) }
        members["to"] = object.to.map { json($0) }
        return .object(members)
    }

    private static func json(_ path: ResultsIndexPath) -> JSON {
        .array([.int(Int64(path.section)), .int(Int64(path.item))])
    }
}
