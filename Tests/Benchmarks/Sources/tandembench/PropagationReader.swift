import FoundationEssentials
import Tandem

/// The second process of P3: it holds the sectioned list, and acknowledges each update to the
/// writer.
@MainActor
final class PropagationReader: FetchedResultsControllerDelegate {
    /// The ways in which the reader can receive changes.
    enum Delivery: String, CaseIterable {
        case callback
        case sequence

        var peer: String { self == .callback ? "tandem" : "tandem-asyncsequence" }
        var note: String {
            self == .callback
                ? "results controller, delegate callback"
                : "results controller, AsyncStream element"
        }
    }

    private let n: Int
    private let socket: String
    private let context: ManagedObjectContext
    private let controller: FetchedResultsController<ManagedObject>
    private let container: PersistentContainer
    private let (ended, end) = AsyncStream.makeStream(of: Void.self)
    private var seen = 0
    private var problem: (any Error)?

    private static let sort = ["bucket.name", "-creationDate", "name"]

    init(_ socket: String, _ n: Int) throws {
        self.n = n
        self.socket = socket
        container = tandembench.container(socket, "reader")
        context = container.viewContext
        controller = try FetchedResultsController(
            fetchRequest: FetchRequest(
                entity: "Content", sort: Self.sort.compactMap { SortKey($0) }),
            context: context,
            sectionNameKeyPath: "bucket.name")
    }

    /// Receives the updates of a pass, then compares the list with a fresh fetch and with the
    /// expected content.
    func run(_ delivery: Delivery, pass: Int) async throws {
        try await controller.performFetch()
        switch delivery {
        case .callback:
            controller.delegate = self
            try Acknowledgement(position: 0, at: now()).send()
            for await _ in ended {}
        case .sequence:
            let changes = controller.changes()
            try Acknowledgement(position: 0, at: now()).send()
            for try await change in changes {
                handle(change)
                if seen == Updates.count || problem != nil { break }
            }
        }
        if let problem { throw problem }
        try check(pass)
        container.close()
    }

    nonisolated func controller(
        _ controller: FetchedResultsController<ManagedObject>, didChange change: ControllerChange
    ) {
        MainActor.assumeIsolated {
            handle(change)
            if seen == Updates.count || problem != nil { end.finish() }
        }
    }

    nonisolated func controller(
        _ controller: FetchedResultsController<ManagedObject>, didFailWith error: TandemError
    ) {
        MainActor.assumeIsolated {
            problem = error
            end.finish()
        }
    }

    /// Checks an update: one change of one object, which becomes the first of its section.
    private func handle(_ change: ControllerChange) {
        let at = now()
        do {
            try Acknowledgement(position: change.position.number, at: at).send()
            seen += 1
            guard change.change.objects.count == 1, change.change.sections.isEmpty,
                change.change.objects.first?.to?.item == 0
            else { throw Failure("change \(seen) is not one first row: \(change.change)") }
        } catch { problem = error }
    }

    // MARK: Checking

    private func check(_ pass: Int) throws {
        var data = BenchData(contents: n)
        data.apply(passesThrough: pass)
        // A separate container, so that every row comes from the daemon.
        let container = tandembench.container(socket, "check")
        defer { container.close() }
        let context = container.makeContext(name: "check")
        let fresh = try context.fetch(Content.self, sort: Self.sort.compactMap { SortKey($0) })
        guard controller.fetchedObjectIDs == fresh.map(\.id) else {
            throw Failure("the list differs from a fresh fetch")
        }
        let expected = data.listOrder().map { data.contents[$0] }
        guard fresh.count == expected.count else { throw Failure("\(fresh.count) contents") }
        for (content, wanted) in zip(fresh, expected) {
            guard content.name == wanted.name,
                content.creationDate.timeIntervalSince1970 == wanted.creationDate
            else {
                // A property that could not be loaded reads as null.
                throw context.faultFailure
                    ?? Failure("\(content.id) is \(content.name), expected \(wanted.name)")
            }
        }
        try checkSections(expected.map { data.bucketNames[$0.bucket] })
    }

    /// Checks the names of all sections, each repeated for its objects.
    private func checkSections(_ names: [String]) throws {
        let found = controller.sections.flatMap { section in
            Array(repeating: section.name, count: section.numberOfObjects)
        }
        guard found == names else { throw Failure("the sections are not those of the buckets") }
    }
}
