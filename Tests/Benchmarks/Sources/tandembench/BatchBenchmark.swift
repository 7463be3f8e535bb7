import Glibc
import Tandem

/// Batches over all objects while another client saves: measures the duration of those saves, and
/// the memory of the requesting client.
@MainActor
struct BatchBenchmark {
    let socket: String
    let n: Int

    /// The measurements of one batch.
    private struct Run {
        var start: UInt64
        var end: UInt64
        var growth: Int
        var positions: UInt64
    }

    /// Runs all batches twice: from a client without subscriptions, and from one whose context
    /// merges all changes.
    func run() throws {
        for follows in [false, true] {
            let saver = try BenchProcess(["batch-saver", "\(n)", socket, "-"])
            _ = try saver.read(1, UInt64(0))
            let runs = try batches(follows: follows)
            saver.closeInput()
            let count = try saver.read(1, UInt64(0))[0]
            let times = try saver.read(Int(count), SaveTime(start: 0, end: 0))
            try saver.finish()
            for (name, run) in runs { emit(name + (follows ? "_followed" : ""), run, times) }
        }
    }

    private func batches(follows: Bool) throws -> [(String, Run)] {
        let container = container(socket, "batch")
        defer { container.close() }
        let context = container.makeContext(name: "batch")
        if follows { _ = try context.fetch(Measured.self, limit: 1) }
        let rows = (0..<n).lazy.map { index -> BatchValues in
            ["serial": index, "name": "measured \(index)", "rank": index % 100, "score": 1]
        }
        let all = TypedPredicate<Measured>.text("score > 0")
        return [
            (
                "insert",
                try measure(container) {
                    try context.execute(BatchInsertRequest(entity: "Measured", rows: rows))
                }
            ),
            (
                "update",
                try measure(container) {
                    try context.execute(
                        BatchUpdateRequest(Measured.self, where: all, set: ["plain": 7]))
                }
            ),
            (
                "delete",
                try measure(container) {
                    try context.execute(BatchDeleteRequest(Measured.self, where: all))
                }
            ),
        ]
    }

    private func measure(
        _ container: PersistentContainer, _ body: () throws -> BatchResult
    ) throws -> Run {
        let before = try container.end().number
        resetPeak()
        let memory = try kibibytes("VmRSS")
        let start = now()
        let result = try body()
        let end = now()
        guard result.count == n else { throw Failure("\(result.count) of \(n) objects") }
        return Run(
            start: start, end: end, growth: try kibibytes("VmHWM") - memory,
            positions: result.position.number - before)
    }

    private func emit(_ name: String, _ run: Run, _ times: [SaveTime]) {
        let during = times.filter { $0.end > run.start && $0.start < run.end }
        ResultLine(
            scenario: "batch", peer: "tandem", n: n, metric: name + "_other_saves",
            values: during.map { microseconds(from: $0.start, to: $0.end) },
            notes: [
                ("batch_ms", decimal(microseconds(from: run.start, to: run.end) / 1_000)),
                ("positions", "\(run.positions)"), ("client_growth_kib", "\(run.growth)"),
            ]
        ).emit()
    }

    // MARK: Memory

    /// Resets the process's peak memory to its current memory.
    private func resetPeak() {
        let file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC)
        defer { close(file) }
        _ = write(file, "5", 1)
    }

    private func kibibytes(_ name: String) throws -> Int {
        guard let file = fopen("/proc/self/status", "r") else { throw Failure("no status") }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 8_192)
        let count = fread(&bytes, 1, bytes.count, file)
        let lines = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n")
        return Int((lines.first { $0.hasPrefix(name + ":") } ?? "").filter(\.isNumber)) ?? 0
    }
}

/// The other client: saves one object repeatedly until its input ends, and reports each save.
@MainActor
struct BatchSaver {
    let socket: String

    func run() throws {
        let container = container(socket, "other")
        let context = container.makeContext(name: "other")
        let bucket = try context.insert(Bucket.self)
        bucket.name = "\(now())"
        try context.save()
        try send([UInt64(1)])
        var times: [SaveTime] = []
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        while poll(&input, 1, 1) == 0 {
            bucket.name = "\(now())"
            let start = now()
            try context.save()
            times.append(SaveTime(start: start, end: now()))
        }
        container.close()
        try send([UInt64(times.count)])
        try send(times)
    }
}
