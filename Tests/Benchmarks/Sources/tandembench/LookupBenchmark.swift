import Glibc
import Tandem

/// Repeated lookups of an object by its unique key, compared with a bare round trip of as many
/// bytes over a Unix socket.
///
/// Both ends of the bare round trip sleep while they wait, and the scheduler usually keeps both on
/// one core. The second floor is the time if both stay awake, each on its own core.
@MainActor
struct LookupBenchmark {
    let socket: String
    let folder: String
    let n: Int

    private static let rounds = 20
    private static let lookups = 500

    func run() throws {
        let container = container(socket, "lookup")
        defer { container.close() }
        let context = container.makeContext(name: "lookup")
        let rows = (0..<n).lazy.map { BatchValues(["name": .string(Self.name($0))]) }
        try context.execute(BatchInsertRequest(entity: "Bucket", rows: rows))
        try Self.look(context, n, Self.lookups)
        let bytes = try bytesOfOne(context)
        var (values, floor): ([Double], [Double]) = ([], [])
        try withEcho("echo", bytes) { bare in
            for _ in 0..<Self.rounds {
                values += try Self.look(context, n, Self.lookups)
                floor += try bare.times(Self.lookups)
            }
        }
        // Measured separately, since a process that stays awake takes a core from all others.
        var awake: [Double] = []
        try withEcho("echo-awake", bytes) { awake = try $0.times(Self.rounds * Self.lookups) }
        ResultLine(
            scenario: "lookup", peer: "tandem", n: n, metric: "fetch_by_unique_key", values: values,
            floor: floor,
            notes: [
                ("floor_awake_p50", decimal(percentile(awake.sorted(), 0.5))),
                ("bytes_up", "\(bytes.up)"), ("bytes_down", "\(bytes.down)"),
            ],
            durability: nil
        ).emit()
    }

    /// Calls `body` with a connection to a process that answers with the requested number of bytes.
    private func withEcho(
        _ kind: String, _ bytes: (up: Int, down: Int), _ body: (RoundTrip) throws -> Void
    ) throws {
        let path = "\(folder)/\(kind)"
        let echo = try BenchProcess([kind, "\(bytes.up)", path, "\(bytes.down)"])
        _ = try echo.read(1, UInt64(0))
        let bare = try RoundTrip(
            path, up: bytes.up, down: bytes.down, isAwake: kind == "echo-awake")
        try body(bare)
        bare.end()
        try echo.finish()
    }

    private static func name(_ index: Int) -> String { "bucket-\(1_000_000 + index)" }

    /// Looks up random objects; returns the times in microseconds.
    @discardableResult
    private static func look(
        _ context: ManagedObjectContext, _ n: Int, _ count: Int
    ) throws -> [Double] {
        var times: [Double] = []
        for _ in 0..<count {
            let wanted = name(Int.random(in: 0..<n))
            let start = now()
            let found = try context.fetch(Bucket.self, where: \.name == wanted)
            times.append(microseconds(from: start, to: now()))
            guard found.count == 1, found[0].name == wanted else {
                throw Failure("no \(wanted), but \(found.count) others")
            }
        }
        return times
    }

    /// Returns the bytes that one lookup sends and receives, as counted by the daemon.
    private func bytesOfOne(_ context: ManagedObjectContext) throws -> (up: Int, down: Int) {
        func counted() throws -> (up: Int, down: Int) {
            let status = try status(socket)
            return (status.receivedBytes ?? 0, status.sentBytes ?? 0)
        }
        let first = try counted()
        let second = try counted()
        try Self.look(context, n, 1_000)
        let third = try counted()
        // The status requests themselves are counted too, so their bytes are subtracted.
        let up = third.up - second.up - (second.up - first.up)
        let down = third.down - second.down - (second.down - first.down)
        guard up >= 1_000, down >= 1_000 else { throw Failure("\(up) and \(down) bytes") }
        return (up / 1_000, down / 1_000)
    }
}

/// One end of round trips over a Unix socket, which sleeps or polls while it waits.
struct RoundTrip {
    private let descriptor: Int32
    private let up: Int
    private let down: Int
    private let isAwake: Bool

    /// Connects to the answering process.
    init(_ path: String, up: Int, down: Int, isAwake: Bool = false) throws {
        descriptor = try connected(to: path)
        (self.up, self.down, self.isAwake) = (up, down, isAwake)
    }

    /// Returns the times of `count` round trips in microseconds.
    func times(_ count: Int) throws -> [Double] {
        var bytes = [UInt8](repeating: 7, count: max(up, down))
        var times: [Double] = []
        for _ in 0..<count {
            let start = now()
            guard write(descriptor, bytes, up) == up,
                Self.receive(descriptor, down, &bytes, isAwake)
            else {
                throw Failure("the answering process closed the connection")
            }
            times.append(microseconds(from: start, to: now()))
        }
        return times
    }

    func end() { close(descriptor) }

    /// Answers the first client that connects, until it disconnects.
    static func answer(at path: String, up: Int, down: Int, isAwake: Bool = false) throws {
        let listener = try connected(to: path, listening: true)
        try send([UInt64(1)])
        let descriptor = accept(listener, nil, nil)
        var bytes = [UInt8](repeating: 7, count: max(up, down))
        while receive(descriptor, up, &bytes, isAwake) {
            guard write(descriptor, bytes, down) == down else { break }
        }
        close(descriptor)
        close(listener)
    }

    private static func receive(
        _ descriptor: Int32, _ count: Int, _ bytes: inout [UInt8], _ isAwake: Bool
    ) -> Bool {
        var done = 0
        while done < count {
            let got = bytes.withUnsafeMutableBytes {
                recv(
                    descriptor, $0.baseAddress.map { $0 + done }, count - done,
                    isAwake ? Int32(MSG_DONTWAIT) : 0)
            }
            if got < 0, isAwake, errno == EAGAIN { continue }
            guard got > 0 else { return false }
            done += got
        }
        return true
    }
}
