import TandemIO
import TandemModel
import TandemWire
import Testing

@testable import Tandem

/// Blocking callers, which spin while they wait if recent answers arrived early.
@Suite(.ownThread) struct CallerSpinTests {
    /// A clock that advances by a fixed stride with each reading.
    private final class StridingClock: Clock {
        private let stride: UInt64
        private let looks = Locked(UInt64(0))

        init(stride: UInt64) { self.stride = stride }

        var monotonicNanoseconds: UInt64 {
            looks.withLock { looks in
                looks += 1
                return looks * stride
            }
        }

        var wallMicroseconds: Int64 { 0 }
    }

    private let daemon: FakeDaemon
    private let question = ClientMessage.sync(Sync(number: 0, timeoutMilliseconds: 0))

    init() throws { daemon = try FakeDaemon(buckets) }

    /// Returns an established connection whose clock advances by `stride` with each reading.
    private func connection(stride: UInt64) throws -> Connection {
        let connection = Connection(
            transport: daemon.transport, author: "spin", model: nil, limits: ClientLimits(),
            clock: StridingClock(stride: stride))
        _ = try connection.session()
        return connection
    }

    /// Returns the spin policy of the next caller that waits for an answer.
    private func policy(_ connection: Connection) throws -> SpinPolicy {
        try #require(connection.state.withLock { $0.io.inbound }).spin
    }

    private func save() -> ClientMessage {
        .save(
            SaveRequest(
                saveID: ThisProcess.randomBytes(16), contentHash: StableHash([]), author: "spin",
                context: "", policy: .error, modelVersion: daemon.model.version, operations: []))
    }

    @Test func `the next caller spins as long as answers arrive early`() throws {
        let connection = try connection(stride: 1)
        defer { connection.close() }
        for _ in 0..<3 { _ = try connection.answer(question).get() }
        #expect(try policy(connection) == SpinPolicy(cores: ThisProcess.cores))
    }

    @Test func `after a late answer the next caller sleeps, then one spins`() throws {
        let connection = try connection(stride: 1_000_000)
        defer { connection.close() }
        var (last, waits) = (SpinPolicy(cores: ThisProcess.cores), 0)
        // On a busy machine the connection's thread sometimes has the answer, or a chunk of it,
        // before the caller waits.
        for _ in 0..<10_000 where waits < 4 {
            _ = try connection.answer(question).get()
            let found = try policy(connection)
            var (expected, possible) = (last, [last])
            for _ in 0..<4 {
                expected.waited(nanoseconds: 1_000_000)
                possible.append(expected)
            }
            #expect(possible.contains(found))
            waits += found == last ? 0 : 1
            last = found
        }
        #expect(waits == 4)
    }

    @Test func `a save neither spins nor affects how long answers are expected to take`() throws {
        let connection = try connection(stride: 1_000_000)
        defer { connection.close() }
        _ = try connection.answer(save()).get()
        #expect(try policy(connection) == SpinPolicy(cores: ThisProcess.cores))
    }
}
