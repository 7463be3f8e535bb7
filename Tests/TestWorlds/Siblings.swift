package import Tandem
package import TandemModel
import TandemQuery
import TandemResults

/// One edit of the scenarios, which names the object by its title.
package enum SiblingEdit: Sendable {
    case insert(String, even: Bool)
    case set(String, even: Bool)
    case delete(String)
}

/// The saves of one context, and the changes expected from the list of another one that never
/// loaded the objects.
///
/// A sibling inserts four objects, and some are updated or deleted, before the first save or after
/// it. `+` is an object that enters the list, `-` one that leaves, `~` one that changes.
package struct SiblingScenario: Sendable {
    /// A save and the resulting changes of two lists: of all objects and of the even ones.
    package struct Save: Sendable {
        package var edits: [SiblingEdit]
        package var all: String
        package var even: String
    }

    package var saves: [Save]

    private static func four(even: String = "") -> [SiblingEdit] {
        ["a", "b", "c", "d"].map { .insert($0, even: even.contains($0)) }
    }

    private static let turns: [SiblingEdit] = [.set("a", even: true), .set("c", even: true)]
    private static let deletes: [SiblingEdit] = [.delete("b"), .delete("c")]
    private static let insertion = Save(edits: four(), all: "+a +b +c +d", even: "")

    package static let insert = SiblingScenario(saves: [insertion])
    package static let insertMatching = SiblingScenario(
        saves: [Save(edits: four(even: "ac"), all: "+a +b +c +d", even: "+a +c")])
    package static let updateBeforeFirstSave = SiblingScenario(
        saves: [Save(edits: four() + turns, all: "+a +b +c +d", even: "+a +c")])
    package static let updateAfterEarlierSave = SiblingScenario(
        saves: [insertion, Save(edits: turns, all: "~a ~c", even: "+a +c")])
    package static let updateAwayAfterEarlierSave = SiblingScenario(
        saves: updateAfterEarlierSave.saves
            + [Save(edits: [.set("a", even: false)], all: "~a", even: "-a")])
    package static let deleteBeforeFirstSave = SiblingScenario(
        saves: [Save(edits: four(even: "ab") + deletes, all: "+a +d", even: "+a")])
    package static let deleteAllBeforeFirstSave = SiblingScenario(
        saves: [
            Save(edits: [.insert("a", even: true), .delete("a")], all: "", even: ""), insertion,
        ])
    package static let deleteAfterEarlierSave = SiblingScenario(
        saves: [
            Save(edits: four(even: "ab"), all: "+a +b +c +d", even: "+a +b"),
            Save(edits: deletes, all: "-b -c", even: "-b"),
        ])

    /// The model of all scenarios.
    package static let model = ManagedObjectModel {
        Entity("Dummy") {
            Attribute("title", .string)
            Attribute("isEven", .bool, default: .bool(false))
        }
    }
}

/// The list of a sibling context, with or without the predicate, and the changes its delegate
/// received.
@MainActor package final class SiblingList: FetchedResultsControllerDelegate {
    private let controller: FetchedResultsController<ManagedObject>
    private let hasPredicate: Bool
    private var titles: [UInt64: String] = [:]
    private var told: [String] = []

    /// Opens the list of a context that has loaded nothing.
    package init(_ context: ManagedObjectContext, hasPredicate: Bool) throws {
        self.hasPredicate = hasPredicate
        var request = FetchRequest(entity: "Dummy", sort: [SortKey("title", ascending: true)])
        if hasPredicate { request.predicate = try ObjectPredicate(format: "isEven == TRUE") }
        controller = try FetchedResultsController(fetchRequest: request, context: context)
        try controller.performFetch()
        controller.delegate = self
    }

    /// Plays a scenario and returns the differences from the expected changes.
    ///
    /// `save` makes the sibling apply the edits and save, and returns the number of the save's
    /// position.
    package func problems(
        _ scenario: SiblingScenario, save: ([SiblingEdit]) throws -> UInt64
    ) throws -> [String] {
        var problems: [String] = []
        for step in scenario.saves {
            let number = try save(step.edits)
            guard let here = controller.context.position else { return ["not a position"] }
            try controller.context.reach(here.at(number))
            let expected = hasPredicate ? step.even : step.all
            let text = told.sorted { $0.dropFirst() < $1.dropFirst() }.joined(separator: " ")
            if text != expected { problems.append("\(step.edits): \(text), not \(expected)") }
            told = []
        }
        let fetched = try controller.context.fetch(controller.fetchRequest)
        if fetched != controller.fetchedObjects { problems.append("a fetch finds others") }
        return problems
    }

    package nonisolated func controller(
        _ controller: FetchedResultsController<ManagedObject>, didChange change: ControllerChange
    ) {
        MainActor.assumeIsolated {
            for object in self.controller.fetchedObjects {
                titles[object.id.number] = object["title"].json.string
            }
            told += change.change.objects.map { mark($0) + (titles[$0.number] ?? "?") }
        }
    }

    private func mark(_ change: ResultsChange.ObjectChange) -> String {
        switch change {
        case .insert: "+"
        case .delete: "-"
        case .move, .update: "~"
        }
    }
}
