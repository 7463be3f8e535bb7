import Glibc
import Tandem

/// Adding an attribute with a default, and an index over it, to all objects: its duration, and the
/// waits of other clients.
@MainActor
struct MigrationBenchmark {
    let socket: String
    let n: Int

    func run() throws {
        let container = container(socket, "migrate")
        defer { container.close() }
        let context = container.makeContext(name: "migrate")
        let rows = (0..<n).lazy.map { index -> BatchValues in
            ["serial": index, "name": "measured \(index)", "rank": index % 100, "score": index]
        }
        try context.execute(BatchInsertRequest(entity: "Measured", rows: rows))
        let saver = try BenchProcess(["batch-saver", "\(n)", socket, "-"])
        let reader = try BenchProcess(["migrate-reader", "\(n)", socket, "-"])
        for process in [saver, reader] { _ = try process.read(1, UInt64(0)) }
        usleep(500_000)
        let start = now()
        let (_, report) = try container.migrate(to: Self.later)
        let end = now()
        usleep(200_000)
        for process in [saver, reader] { process.closeInput() }
        let saves = try times(saver)
        let reads = try times(reader)
        let found = try context.count(
            for: FetchRequest(
                entity: "Measured", predicate: try ObjectPredicate(format: "added = 5")))
        guard found == n else {
            throw Failure("\(found) of \(n) objects have the default: \(report)")
        }
        ResultLine(
            scenario: "migrate", peer: "tandem", n: n, metric: "attribute_and_index",
            values: [microseconds(from: start, to: end) / 1_000], unit: "ms",
            notes: [
                ("longest_save_ms", longest(saves, start, end)),
                ("longest_read_ms", longest(reads, start, end)),
            ]
        ).emit()
    }

    private func times(_ process: BenchProcess) throws -> [SaveTime] {
        let count = try process.read(1, UInt64(0))[0]
        let times = try process.read(Int(count), SaveTime(start: 0, end: 0))
        try process.finish()
        return times
    }

    private func longest(_ times: [SaveTime], _ start: UInt64, _ end: UInt64) -> String {
        let during = times.filter { $0.end > start && $0.start < end }
        return decimal(
            (during.map { microseconds(from: $0.start, to: $0.end) }.max() ?? 0) / 1_000)
    }

    private static let later = ManagedObjectModel {
        Bucket.entity
        Content.entity
        Entity("Measured", indexes: [["rank"], ["score", "name"], ["added"]]) {
            Attribute("serial", .int, optional: false)
            Attribute("name", .string, optional: false)
            Attribute("plain", .int, optional: false, default: .int(0))
            Attribute("rank", .int, optional: false, default: .int(0))
            Attribute("score", .int, optional: false, default: .int(0))
            Attribute("added", .int, default: .int(5))
        }
    }
}

/// A client that counts objects repeatedly until its input ends, and reports each read.
@MainActor
struct MigrationReader {
    let socket: String

    func run() throws {
        let container = container(socket, "reader")
        let context = container.makeContext(name: "reader")
        _ = try context.count(for: FetchRequest(entity: "Bucket"))
        try send([UInt64(1)])
        var times: [SaveTime] = []
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        while poll(&input, 1, 1) == 0 {
            let start = now()
            _ = try context.count(for: FetchRequest(entity: "Bucket"))
            times.append(SaveTime(start: start, end: now()))
        }
        container.close()
        try send([UInt64(times.count)])
        try send(times)
    }
}
