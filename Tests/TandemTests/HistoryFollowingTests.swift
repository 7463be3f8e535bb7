import TandemDaemon
import TandemEmbedded
import TandemIO
import TandemModel
import TandemWire
import Testing

@testable import Tandem

/// Readers of the journal that wait for new transactions.
@MainActor @Suite struct HistoryFollowingTests {
    private let daemon: EmbeddedDaemon
    private let script: ScriptedTransport
    private let reader: PersistentContainer
    private let writer: ManagedObjectContext

    init() throws {
        daemon = try EmbeddedDaemon(.inMemory())
        script = ScriptedTransport(daemon.transport)
        let types: [any ManagedEntity.Type] = [Bucket.self, Content.self]
        reader = PersistentContainer(entities: types, transport: script.transport)
        writer = PersistentContainer(entities: types, transport: daemon.transport)
            .makeContext(name: "writer")
    }

    /// Starts a task that follows the journal, and returns once the task waits.
    private func begin() async throws -> Task<Int, any Error> {
        let start = try await reader.end()
        let before = script.readRequests
        let reader = reader
        let task = Task {
            var count = 0
            for try await _ in reader.changes(of: Content.self, after: start, follows: true) {
                count += 1
            }
            return count
        }
        // A page, then the wait.
        while script.readRequests < before + 2 { await Task.yield() }
        return task
    }

    private func cancelled() throws -> Int64 {
        let container = PersistentContainer(transport: daemon.transport)
        let status = try JSON(parsing: try container.status())
        return (status["cancelledRequests"]?.int ?? 0)
    }

    @Test func `cancellation ends a waiting reader, and its request in the daemon`() async throws {
        let task = try await begin()
        // No save and no timeout ends the wait, so only the cancellation can.
        task.cancel()
        #expect(try await task.value == 0)
        while try cancelled() == 0 { await Task.yield() }
        #expect(reader.connection.state.withLock { $0.requests.isEmpty })
    }

    @Test func `cancellation ends a reader whose daemon is away`() async throws {
        let task = try await begin()
        script.refuseConnections()
        task.cancel()
        #expect(try await task.value == 0)
        let other = PersistentContainer(
            entities: [Bucket.self, Content.self], transport: script.transport)
        let start = Position(log: LogID(high: 1, low: 1), epoch: 1, number: 0)
        let first = Task {
            for try await _ in other.changes(after: start) {}
        }
        first.cancel()
        try await first.value
    }

    @Test func `a waiting reader survives the loss of its connection`() async throws {
        let (reader, end) = (reader, try await reader.end())
        let task = Task {
            var sizes: [Int?] = []
            for try await change in reader.changes(of: Content.self, after: end, follows: true) {
                sizes.append(change.after?[\.size])
                if sizes.count == 5 { break }
            }
            return sizes
        }
        for size in 0..<5 {
            while reader.connection.state.withLock({ $0.requests.isEmpty }) { await Task.yield() }
            script.cut()
            try writer.insert(Content.self).size = size
            try await writer.save()
        }
        #expect(try await task.value == [0, 1, 2, 3, 4])
    }

    @Test func `readers that would take all requests are refused`() async throws {
        let most = SessionLimits().requestsInFlight / 2
        var tasks: [Task<Int, any Error>] = []
        for _ in 0..<most { tasks.append(try await begin()) }
        let (reader, end) = (reader, try await reader.end())
        let error = await #expect(throws: TandemError.self) {
            for try await _ in reader.changes(after: end, follows: true) {}
        }
        #expect(error?.code == .limitExceeded)
        // Other requests still have room.
        #expect(try await reader.end().number > 0)
        for task in tasks { task.cancel() }
        for task in tasks { #expect(try await task.value == 0) }
    }
}
