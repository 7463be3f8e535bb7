import TandemDaemon
import TandemEmbedded
import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// Fetches awaited by tasks that are cancelled.
@MainActor @Suite struct CancelTests {
    let daemon: EmbeddedDaemon
    let script: ScriptedTransport
    let context: ManagedObjectContext
    let other: ManagedObjectContext
    private let all = FetchRequest(entity: "Content", sort: ["name"])

    init() throws {
        daemon = try EmbeddedDaemon(.inMemory())
        script = ScriptedTransport(daemon.transport)
        func container(_ transport: Transport) -> PersistentContainer {
            var limits = ClientLimits()
            // An answer is held until the test runs again, which takes a long time if many tests
            // wait for the main actor.
            limits.answerMilliseconds = 3_600_000
            return PersistentContainer(
                entities: [Bucket.self, Content.self], transport: transport, limits: limits)
        }
        context = container(script.transport)
            .makeContext(name: "asker", mergesAutomatically: true)
        other = container(daemon.transport).makeContext(name: "other")
        for size in 0..<3 { try other.insert(Content.self).size = size }
        try context.reach(try other.save())
    }

    /// Starts a fetch and leaves it in flight: sent and not answered.
    private func begin() async throws -> Task<Int, any Error> {
        script.hold()
        let (before, context, all) = (script.readRequests, context, all)
        let task = Task { try await context.fetch(all).count }
        while script.readRequests == before { await Task.yield() }
        return task
    }

    private func status(_ key: String) throws -> Int64? {
        let container = PersistentContainer(transport: daemon.transport)
        return try JSON(parsing: try container.status())[key]?.int
    }

    @Test func `a fetch throws at once, and the daemon is notified`() async throws {
        let task = try await begin()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // The daemon may have answered already; that answer is held back.
        while try status("cancelledRequests") == 0, try status("lateCancels") == 0 {
            await Task.yield()
        }
        script.release()
        #expect(try await context.fetch(all).count == 3)
        #expect(context.connection.state.withLock { $0.requests.isEmpty })
    }

    @Test func `the context continues to follow changes`() async throws {
        let task = try await begin()
        task.cancel()
        _ = await task.result
        script.release()
        #expect(try await context.fetch(all).count == 3)
        let changes = context.objectsDidChange
        try other.insert(Content.self).size = 3
        let end = try await other.save()
        for try await change in changes where change.position == end { break }
        #expect(context.position == end)
    }

    @Test func `a task that was cancelled before sends no request`() async throws {
        let (before, context, all) = (script.readRequests, context, all)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await context.fetch(all).count
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(script.readRequests == before)
    }

    @Test func `a cancelled request is not sent again over another connection`() async throws {
        let task = try await begin()
        task.cancel()
        _ = await task.result
        let before = script.readRequests
        script.cut()
        script.release()
        #expect(try await context.fetch(all).count == 3)
        #expect(script.readRequests == before + 1)
    }

    @Test func `a queued request is cancelled without being sent`() async throws {
        let first = try await begin()
        let (context, all) = (context, all)
        let most = context.connection.state.withLock { $0.daemon.limits.requestsInFlight }
        let tasks = (0..<2 * most).map { _ in Task { try await context.fetch(all).count } }
        while context.connection.state.withLock({ $0.queue.count }) < most + 1 {
            await Task.yield()
        }
        let sent = context.connection.state.withLock { $0.requests.count }
        #expect(sent == most)
        for task in tasks.suffix(most + 1) { task.cancel() }
        for task in tasks.suffix(most + 1) {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(context.connection.state.withLock { $0.queue.isEmpty })
        script.release()
        #expect(try await first.value == 3)
        for task in tasks.prefix(most - 1) { #expect(try await task.value == 3) }
    }

    @Test func `counts, values and reads of the past are cancelled as well`() async throws {
        let position = try #require(context.position)
        script.hold()
        let (context, all) = (context, all)
        let tasks: [Task<Void, any Error>] = [
            Task { _ = try await context.count(for: all) },
            Task { _ = try await context.fetchDictionaries(all, FetchColumns(["name"])) },
            Task { _ = try await context.fetch(all, at: position) },
            Task { _ = try await context.count(for: all, at: position) },
        ]
        while context.connection.state.withLock({ $0.requests.count }) < tasks.count {
            await Task.yield()
        }
        for task in tasks { task.cancel() }
        for task in tasks {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        script.release()
    }
}
