import TandemModel
import TandemResults
import Testing

@testable import Tandem

/// A controller with what its changes led to, to be compared with a fresh one.
@MainActor final class Watch: FetchedResultsControllerDelegate {
    let controller: FetchedResultsController
    private var replayed: [SectionIDs]
    private var failure: String?
    /// The survivors that each change since the last check reported, and what rows showed at that check.
    private var reports: [[UInt64]] = []
    private var values: [UInt64: [String]] = [:]
    private let shape: ListShape
    /// The log and epoch of the last check.
    private var origin: Position?

    init(_ shape: ListShape, _ context: ManagedObjectContext, slack: Int) throws {
        self.shape = shape
        controller = try FetchedResultsController(
            fetchRequest: shape.request(), context: context, sectionNameKeyPath: shape.section,
            relationshipKeyPathsForRefreshing: shape.refresh)
        controller.slack = slack
        replayed = []
        try controller.performFetch()
        controller.delegate = self
        replayed = shown(controller)
        values = try rowValues()
        origin = context.position?.at(0)
    }

    nonisolated var description: String {
        MainActor.assumeIsolated {
            let request = controller.fetchRequest
            let sort = request.sort.map { ($0.ascending ? "" : "-") + $0.keyPath }
            return
                "\(request.entity) where \(request.predicate?.format ?? "-") sort \(sort) section "
                + "\(controller.sectionNameKeyPath ?? "-") refresh "
                + "\(controller.relationshipKeyPathsForRefreshing) limit \(request.limit ?? -1) "
                + "offset \(request.offset) subentities \(request.includesSubentities)"
        }
    }

    private func shown(_ controller: FetchedResultsController) -> [SectionIDs] {
        controller.sections.map { section in
            SectionIDs(name: section.name, numbers: section.objectIDs.map(\.number))
        }
    }

    nonisolated func controller(
        _ controller: FetchedResultsController, didChange change: ControllerChange
    ) {
        MainActor.assumeIsolated {
            do {
                replayed = try change.change.apply(to: replayed)
                reports.append(change.change.reloaded)
            } catch {
                failure = "the change can't be applied: \(error)"
            }
        }
    }

    /// Law 5: what was replayed is what is shown.
    ///
    /// Law 4: what is shown is what a fresh fetch gives, and what the plain rules make of the graph.
    func check(_ dump: Dump, _ comment: String) throws {
        #expect(failure == nil, "\(comment)")
        #expect(replayed == shown(controller), "law 5, \(comment)")
        try checkReports(comment)
        if let expected = dump.sections(shape) {
            #expect(controller.error == nil, "\(comment)")
            #expect(shown(controller) == expected, "law 4, by the dump, \(comment)")
            let fetched = try controller.context.fetch(controller.fetchRequest).map(\.id.number)
            #expect(fetched == expected.flatMap(\.numbers), "law 4, a fetch, \(comment)")
        } else {
            #expect(controller.error?.code == .outOfOrderSection, "\(comment)")
        }
        let fresh = try FetchedResultsController(
            fetchRequest: controller.fetchRequest, context: controller.context,
            sectionNameKeyPath: controller.sectionNameKeyPath)
        do {
            try fresh.performFetch()
            #expect(controller.error == nil, "\(comment)")
            #expect(shown(fresh) == shown(controller), "law 4, \(comment)")
        } catch let error as TandemError where error.code == .outOfOrderSection {
            #expect(controller.error?.code == .outOfOrderSection, "\(comment)")
        }
    }

    /// Law 5: rows that stay are reported once if anything of them differs, else not.
    private func checkReports(_ comment: String) throws {
        guard controller.error == nil else { return }
        let now = try rowValues()
        let differing = now.filter { number, value in values[number].map { $0 != value } ?? false }
        let reported = Set(reports.joined())
        var wrong = Set(differing.keys).subtracting(reported)
        // Of several changes one may undo another; in another epoch nobody can tell what is as it was.
        if reports.count <= 1, origin == controller.context.position?.at(0) {
            wrong.formUnion(reported.subtracting(differing.keys))
        }
        let details = wrong.sorted().map { "\($0): \(values[$0] ?? []) -> \(now[$0] ?? [])" }
        #expect(wrong.isEmpty, "law 5, reports, \(details) \(comment)")
        for report in reports {
            #expect(report.count == Set(report).count, "law 5, once, \(comment)")
        }
        origin = controller.context.position?.at(0)
        values = now
        reports = []
    }

    /// For each row all that counts: its own values and members, and what the declared paths reach.
    private func rowValues() throws -> [UInt64: [String]] {
        var result: [UInt64: [String]] = [:]
        let paths =
            controller.relationshipKeyPathsForRefreshing
            + controller.fetchRequest.sort.map(\.keyPath)
            + [controller.sectionNameKeyPath].compactMap { $0 }
        for id in controller.fetchedObjectIDs {
            let object = try controller.context.existingObject(with: id)
            let own = object.entity.properties.map { property in
                property.isToMany
                    ? Watch.text(object.objects(property.name)) : "\(object[property.name])"
            }
            let reached = paths.map { Watch.reached([object], $0.split(separator: ".")[...]) }
            result[id.number] = own + reached
        }
        return result
    }

    private static func text(_ objects: some Sequence<ManagedObject>) -> String {
        "\(objects.map(\.id.number).sorted())"
    }

    private static func reached(
        _ objects: [ManagedObject], _ path: ArraySlice<Substring>
    ) -> String {
        guard let first = path.first.map(String.init) else { return text(objects) }
        var next: [ManagedObject] = []
        var values: [String] = []
        for object in objects {
            guard let property = object.entity.property(named: first) else { continue }
            if property.isToMany {
                next += object.objects(first)
            } else if property.relationship != nil {
                // A path that ends early reaches nothing, like one that ends at nothing.
                guard let target = object.object(first) else {
                    values.append("\(Value.null)")
                    continue
                }
                next.append(target)
            } else {
                values.append("\(object[first])")
            }
        }
        return next.isEmpty ? "\(values.sorted())" : reached(next, path.dropFirst())
    }
}
