import TandemIO
import TandemModel
import TandemWire
import Testing

@testable import Tandem

/// How callers who block wait for answers: looking again and again as long as answers come early.
@Suite(.ownThread) struct CallerSpinTests {
    /// A clock by which every look is so much later than the one before.
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

    /// A connection that is there, by a clock of which two looks are so far apart.
    private func connection(stride: UInt64) throws -> Connection {
        let connection = Connection(
            transport: daemon.transport, author: "spin", model: nil, limits: ClientLimits(),
            clock: StridingClock(stride: stride))
        _ = try connection.session()
        return connection
    }

    /// How the next caller waits for the answer to a question.
    private func policy(_ connection: Connection) throws -> SpinPolicy {
        try #require(connection.state.withLock { $0.intake }).spin
    }

    private func save() -> ClientMessage {
        .save(
            SaveRequest(
                saveID: ThisProcess.randomBytes(16), contentHash: StableHash([]), author: "spin",
                context: "", policy: .error, modelVersion: daemon.model.version, operations: []))
    }

    @Test func `as long as answers come early the next caller spins`() throws {
        let connection = try connection(stride: 1)
        defer { connection.close() }
        for _ in 0..<3 { _ = try connection.answer(question).get() }
        #expect(try policy(connection) == SpinPolicy(cores: ThisProcess.cores))
    }

    @Test func `after an answer that came late the next caller sleeps, then one spins`() throws {
        let connection = try connection(stride: 1_000_000)
        defer { connection.close() }
        var (last, waits) = (SpinPolicy(cores: ThisProcess.cores), 0)
        // On a busy machine the connection's thread now and then has the answer before its caller waits, or some of it.
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

    @Test func `what is no question neither spins nor says how long answers take`() throws {
        let connection = try connection(stride: 1_000_000)
        defer { connection.close() }
        _ = try connection.answer(save()).get()
        #expect(try policy(connection) == SpinPolicy(cores: ThisProcess.cores))
    }
}
