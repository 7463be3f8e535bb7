import Tandem

/// An actor on a run loop, as a toolkit's window would be: it has a context, and a list that
/// follows every save.
actor LoopWindow {
    nonisolated let loop: HandMadeLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let container: PersistentContainer
    private var context: ManagedObjectContext?
    private var list: FetchedResultsController<ManagedObject>?
    private var counter: ChangeCounter?

    init(_ loop: HandMadeLoop, _ container: PersistentContainer) {
        self.loop = loop
        self.container = container
    }

    /// The number of changes that the delegate received.
    var changes: Int { counter?.changes ?? 0 }
    /// Whether the calling thread is the loop's thread, and all changes were received on it.
    var isOnLoop: Bool { loop.isCurrent && counter?.isOnLoop ?? true }
    var names: [String] { list?.fetchedObjects.map { $0["name"].json.string ?? "" } ?? [] }
    var position: Position? { context?.position }

    func open() throws {
        let context = container.makeContext(name: "window", mergesAutomatically: true)
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: [SortKey("name")]),
            context: context)
        let counter = ChangeCounter(loop)
        try list.performFetch()
        list.delegate = counter
        (self.context, self.list, self.counter) = (context, list, counter)
    }

    /// Inserts and saves; the loop is blocked meanwhile.
    @discardableResult
    func addBlocking(_ name: String) throws -> Position? {
        guard let context else { return nil }
        try context.insert(Content.self).name = name
        return try context.save()
    }

    /// Inserts and saves; the loop keeps running meanwhile.
    @discardableResult
    func addAwaiting(_ name: String) async throws -> Position? {
        guard let context else { return nil }
        try context.insert(Content.self).name = name
        return try await context.save()
    }

    /// Makes the delegate save too, when it receives the next change.
    func answerNextChange(with name: String) {
        counter?.reply = { [weak context] in
            guard let context else { return }
            try context.insert(Content.self).name = name
            try context.save()
        }
    }

    var failure: (any Error)? { counter?.failure }

    func reach(_ position: Position) async throws { try await context?.reach(position) }
}

/// A delegate that counts a list's changes and can save when it receives one.
final class ChangeCounter: FetchedResultsControllerDelegate {
    private let loop: HandMadeLoop
    private(set) var changes = 0
    private(set) var isOnLoop = true
    private(set) var failure: (any Error)?
    var reply: (() throws -> Void)?

    init(_ loop: HandMadeLoop) { self.loop = loop }

    func controller(
        _ controller: FetchedResultsController<ManagedObject>, didChange change: ControllerChange
    ) {
        changes += 1
        isOnLoop = isOnLoop && loop.isCurrent
        guard let reply else { return }
        self.reply = nil
        do { try reply() } catch { failure = error }
    }
}
