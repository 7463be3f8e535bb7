import Glibc
import Tandem

/// An object by its unique key, again and again, from a client process, beside a bare round trip of as many bytes over a Unix socket.
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
        let echo = try BenchProcess(["echo", "\(bytes.up)", "\(folder)/echo", "\(bytes.down)"])
        _ = try echo.read(1, UInt64(0))
        let bare = try RoundTrip("\(folder)/echo", up: bytes.up, down: bytes.down)
        var (values, floor): ([Double], [Double]) = ([], [])
        for _ in 0..<Self.rounds {
            values += try Self.look(context, n, Self.lookups)
            floor += try bare.times(Self.lookups)
        }
        bare.end()
        try echo.finish()
        ResultLine(
            scenario: "lookup", peer: "tandem", n: n, metric: "fetch_by_unique_key", values: values,
            floor: floor, notes: [("bytes_up", "\(bytes.up)"), ("bytes_down", "\(bytes.down)")],
            durability: nil
        ).emit()
    }

    private static func name(_ index: Int) -> String { "bucket-\(1_000_000 + index)" }

    /// Looks up other ones each time; microseconds.
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

    /// The bytes that one lookup sends and gets, as the daemon counts them.
    private func bytesOfOne(_ context: ManagedObjectContext) throws -> (up: Int, down: Int) {
        func counted() throws -> (up: Int, down: Int) {
            let status = try status(socket)
            return (Int(status["receivedBytes"]?.int ?? 0), Int(status["sentBytes"]?.int ?? 0))
        }
        let first = try counted()
        let second = try counted()
        try Self.look(context, n, 1_000)
        let third = try counted()
        // Asking for the counts has its own bytes.
        let up = third.up - second.up - (second.up - first.up)
        let down = third.down - second.down - (second.down - first.down)
        guard up >= 1_000, down >= 1_000 else { throw Failure("\(up) and \(down) bytes") }
        return (up / 1_000, down / 1_000)
    }
}

/// One end of round trips over a Unix socket, blocking.
struct RoundTrip {
    private let descriptor: Int32
    private let up: Int
    private let down: Int

    /// Connects to who answers.
    init(_ path: String, up: Int, down: Int) throws {
        descriptor = try connected(to: path)
        (self.up, self.down) = (up, down)
    }

    /// Microseconds of so many round trips.
    func times(_ count: Int) throws -> [Double] {
        var bytes = [UInt8](repeating: 7, count: max(up, down))
        var times: [Double] = []
        for _ in 0..<count {
            let start = now()
            guard write(descriptor, bytes, up) == up, Self.take(descriptor, down, &bytes) else {
                throw Failure("the echo is gone")
            }
            times.append(microseconds(from: start, to: now()))
        }
        return times
    }

    func end() { close(descriptor) }

    /// Answers whoever connects, until that one ends.
    static func answer(at path: String, up: Int, down: Int) throws {
        let listener = try connected(to: path, listening: true)
        try send([UInt64(1)])
        let descriptor = accept(listener, nil, nil)
        var bytes = [UInt8](repeating: 7, count: max(up, down))
        while take(descriptor, up, &bytes) {
            guard write(descriptor, bytes, down) == down else { break }
        }
        close(descriptor)
        close(listener)
    }

    private static func take(_ descriptor: Int32, _ count: Int, _ bytes: inout [UInt8]) -> Bool {
        var done = 0
        while done < count {
            let got = bytes.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress.map { $0 + done }, count - done)
            }
            guard got > 0 else { return false }
            done += got
        }
        return true
    }
}
