import Tandem
import TandemIO
import TestSupport
import Testing

/// The places where a context can be made, and the actor to which it belongs.
@MainActor @Suite struct MakingContextTests {
    let fixture: Fixture

    init() throws { fixture = try Fixture() }

    /// Inserts and saves, blocking and awaited.
    private nonisolated(nonsending) static func use(
        _ context: ManagedObjectContext
    ) async throws -> [Int] {
        try saveBlocking(1, context)
        try await context.connect()
        try saveBlocking(2, context)
        try context.insert(Content.self).size = 3
        try await context.save()
        return try await context.fetch(Content.self, sort: ["size"]).map(\.size)
    }

    private nonisolated static func saveBlocking(
        _ size: Int, _ context: ManagedObjectContext
    ) throws {
        try context.insert(Content.self).size = size
        try context.save()
    }

    private actor InSyncInit {
        let context: ManagedObjectContext
        init(_ container: PersistentContainer) { context = container.makeContext(name: "init") }
        func use() async throws -> [Int] { try await MakingContextTests.use(context) }
    }

    private actor InAsyncInit {
        let context: ManagedObjectContext
        init(_ container: PersistentContainer) async {
            context = container.makeContext(name: "async init")
        }
        func use() async throws -> [Int] { try await MakingContextTests.use(context) }
    }

    private actor AsLazyProperty {
        private let container: PersistentContainer
        private lazy var context = container.makeContext(name: "lazy")
        init(_ container: PersistentContainer) { self.container = container }
        func use() async throws -> [Int] { try await MakingContextTests.use(context) }
    }

    /// An actor that makes its context in a method, where the compiler knows the isolation.
    private actor Follower {
        private let container: PersistentContainer
        private var context: ManagedObjectContext?

        init(_ container: PersistentContainer) { self.container = container }

        /// Makes the context in a method.
        func use() async throws -> [Int] {
            let context = container.makeContext(name: "method", mergesAutomatically: true)
            self.context = context
            return try await MakingContextTests.use(context)
        }

        var position: Position? { context?.position }
    }

    /// An actor whose asynchronous initializer has set all properties before it makes the context.
    private actor AfterAllProperties {
        private var context: ManagedObjectContext?
        init(_ container: PersistentContainer) async {
            context = container.makeContext(name: "after", mergesAutomatically: true)
        }
        var position: Position? { context?.position }
        func use() async throws -> [Int] {
            guard let context else { return [] }
            return try await MakingContextTests.use(context)
        }
    }

    private nonisolated static func report(_ container: PersistentContainer) async throws -> [Int] {
        let context = container.makeContext(name: "function")
        return try await use(context)
    }

    @Test func `an actor's init`() async throws {
        #expect(try await InSyncInit(fixture.container()).use() == [1, 2, 3])
    }

    @Test func `an actor's asynchronous init`() async throws {
        #expect(try await InAsyncInit(fixture.container()).use() == [1, 2, 3])
    }

    @Test func `a lazy property of an actor`() async throws {
        #expect(try await AsLazyProperty(fixture.container()).use() == [1, 2, 3])
    }

    @Test func `a nonisolated function`() async throws {
        #expect(try await Self.report(fixture.container()) == [1, 2, 3])
    }

    @Test func `a detached task`() async throws {
        let container = fixture.container()
        let pool = try OneThread()
        let task = Task.detached(executorPreference: pool) {
            let context = container.makeContext(name: "detached")
            return try await Self.use(context)
        }
        #expect(try await task.value == [1, 2, 3])
        pool.stop()
    }

    @Test func `withContext`() async throws {
        let found = try await fixture.container().withContext { try await Self.use($0) }
        #expect(found == [1, 2, 3])
    }

    @Test func `a method, whose context follows the saves of others`() async throws {
        let follower = Follower(fixture.container())
        #expect(try await follower.use() == [1, 2, 3])
        let position = try await saveAnother()
        while await follower.position != position { await Task.yield() }
    }

    @Test func `an asynchronous init whose context follows the saves of others`() async throws {
        let follower = await AfterAllProperties(fixture.container())
        #expect(try await follower.use() == [1, 2, 3])
        let position = try await saveAnother()
        while await follower.position != position { await Task.yield() }
    }

    private func saveAnother() async throws -> Position {
        let context = fixture.container("other").makeContext(name: "other")
        try context.insert(Content.self).size = 4
        return try await context.save()
    }

    // MARK: A context of no actor

    /// Edits an object, and returns the changes reported before and after the next operation.
    private nonisolated static func observe(
        _ container: PersistentContainer
    ) async throws -> (before: Int, after: Int) {
        let context = container.makeContext(name: "function")
        let content = try context.insert(Content.self) as Content
        let reports = Locked(0)
        let observation = context.onObjectsDidChange { _ in reports.withLock { $0 += 1 } }
        content.size = 5
        let before = reports.withLock { $0 }
        _ = try await context.count(for: FetchRequest(entity: "Content"))
        let after = reports.withLock { $0 }
        withExtendedLifetime(observation) {}
        return (before, after)
    }

    @Test func `a context reports changes in its next operation`() async throws {
        let (before, after) = try await Self.observe(fixture.container())
        #expect(before == 0 && after == 1)
    }

    @Test
    func `a context without an actor can't merge automatically, and the error names the remedy`()
        async throws
    {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            func make(_ container: PersistentContainer) {
                _ = container.makeContext(name: "x", mergesAutomatically: true, isolation: nil)
            }
            make(PersistentContainer())
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("Create it in a method of its actor"), "\(message)")
    }
}
