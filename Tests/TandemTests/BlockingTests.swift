import Tandem
import TandemIO
import Testing

/// An actor with a context and no executor of its own.
private actor Saver {
    private let container: PersistentContainer
    private let name: String
    private var context: ManagedObjectContext?

    init(_ container: PersistentContainer, _ name: String) {
        self.container = container
        self.name = name
    }

    /// Inserts and saves `times` times, blocking the thread each time.
    ///
    /// Returns whether every call ran on the only thread of the pool, if there is one.
    func save(times: Int, on pool: OneThread?) throws -> Bool {
        let context = context ?? container.makeContext(name: name, mergesAutomatically: true)
        self.context = context
        for number in 0..<times {
            try context.insert(Content.self).name = "\(name) \(number)"
            try context.save()
        }
        return pool?.isCurrent ?? true
    }
}

/// Blocking saves need no thread but the caller's, so a daemon inside the process can always answer
/// them.
@MainActor @Suite struct BlockingTests {
    let fixture: Fixture
    let context: ManagedObjectContext

    init() throws {
        fixture = try Fixture()
        context = fixture.container("main").makeContext(
            name: "main", mergesAutomatically: true)
    }

    private func count() throws -> Int { try context.count(for: FetchRequest(entity: "Content")) }

    /// Runs blocking saves in actors, each with a container of its own or all with a shared one.
    private nonisolated static func saveAll(
        _ containers: [PersistentContainer], on pool: OneThread? = nil
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, container) in containers.enumerated() {
                let saver = Saver(container, "saver \(number)")
                group.addTask {
                    for _ in 0..<5 {
                        let isOnPool = try await saver.save(times: 10, on: pool)
                        #expect(isOnPool)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `on the main actor, which also has to merge`() throws {
        _ = try count()
        let other = fixture.container("other").makeContext(name: "other")
        for number in 1...50 {
            try context.insert(Content.self).size = number
            try context.save()
            try other.insert(Content.self).size = -number
            try other.save()
        }
        #expect(try count() == 100)
    }

    @Test(arguments: [false, true])
    func `from several actors whose only thread each of them blocks`(isShared: Bool) async throws {
        let pool = try OneThread()
        let shared = fixture.container("shared")
        let containers = (0..<6).map { isShared ? shared : fixture.container("own \($0)") }
        try await withTaskExecutorPreference(pool) {
            try await Self.saveAll(containers, on: pool)
        }
        #expect(try count() == 300)
        pool.stop()
    }

    @Test func `from more actors than the pool of the process has threads`() async throws {
        try await Self.saveAll((0..<32).map { fixture.container("\($0)") })
        #expect(try count() == 32 * 50)
    }

    @Test(arguments: [false, true])
    func `within a delegate's callback, which is called once more`(isPush: Bool) async throws {
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: [SortKey("name")]),
            context: context)
        let recorder = ChangeRecorder()
        let failure = Locked<String?>(nil)
        try await list.performFetch()
        list.delegate = recorder
        let context = context
        recorder.onChange = {
            guard recorder.changes.count == 1 else { return }
            do {
                try context.insert(Content.self).name = "reply"
                try context.save()
            } catch {
                failure.withLock { $0 = "\(error)" }
            }
        }
        let saver = isPush ? fixture.container("other").makeContext(name: "other") : context
        try saver.insert(Content.self).name = "question"
        try await saver.save()
        while list.numberOfObjects < 2 { await Task.yield() }
        #expect(failure.withLock { $0 } == nil && recorder.changes.count == 2)
        #expect(list.fetchedObjects.map { $0["name"] } == [.string("question"), .string("reply")])
    }
}
