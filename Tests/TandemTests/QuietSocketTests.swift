import TandemIO
import TandemModel
import TandemWire
import TestSupport
import Testing

@testable import Tandem

/// The connection of a process without subscriptions: its thread is idle, and callers read their
/// own answers.
@MainActor @Suite struct `A connection without subscriptions` {
    private func savedOnce(_ container: PersistentContainer) throws {
        let context = container.makeContext(name: "quiet")
        try context.insert("Content")["size"] = .int(1)
        try context.save()
    }

    /// Sends syncs from several tasks; half of the tasks block their thread, the others are
    /// suspended.
    private nonisolated static func ask(_ connection: Connection) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<6 {
                group.addTask(executorPreference: ThreadPerJob()) {
                    let sync = ClientMessage.sync(Sync(number: 0, timeoutMilliseconds: 0))
                    for _ in 0..<300 {
                        let answer =
                            task % 2 == 0
                            ? connection.answer(sync) : await connection.answerAsync(sync)
                        guard case .synced = try answer.get() else { return 0 }
                    }
                    return 300
                }
            }
            return try await group.reduce(0, +)
        }
    }

    @Test func `answers blocking and suspended callers`() async throws {
        let fixture = try Fixture()
        let container = fixture.container("quiet")
        try savedOnce(container)
        let connection = container.connection
        #expect(connection.interests.isEmpty)
        let answers = try await Self.ask(connection)
        #expect(answers == 6 * 300)
    }

    @Test func `receives pushes once something is followed`() async throws {
        let fixture = try Fixture()
        let container = fixture.container("quiet")
        try savedOnce(container)
        var saves = container.didSave.makeAsyncIterator()
        try await container.follow()
        try savedOnce(fixture.container("other"))
        #expect(try await saves.next()?.author == "other")
    }

    @Test func `is re-established after it was cut`() async throws {
        let daemon = try FakeDaemon(buckets)
        let container = daemon.container()
        try savedOnce(container)
        daemon.cutConnections()
        try savedOnce(container)
        var events = container.connectionEvents.makeAsyncIterator()
        daemon.cutConnections()
        #expect(await events.next(isolation: #isolation)?.state == .lost)
    }

    @Test func `is read when a listener is added`() async throws {
        let daemon = try FakeDaemon(buckets)
        let container = daemon.container()
        try savedOnce(container)
        var bytes: [UInt8] = []
        let push = StatePush(isReadOnly: true, since: 1, reason: "full")
        try FrameEncoder.encode(DaemonMessage.state(push), id: 0, into: &bytes)
        for session in daemon.state.withLock({ $0.sessions }) { try session.socket.writeAll(bytes) }
        var events = container.connectionEvents.makeAsyncIterator()
        #expect(await events.next(isolation: #isolation)?.state == .readOnly)
    }
}
