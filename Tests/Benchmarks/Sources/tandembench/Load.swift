import Tandem

/// Writer processes that save at the same time, for a duration or a number of saves.
@MainActor
struct Load {
    let socket: String
    let folder: String
    let n: Int
    let writers: Int
    let perSave: Int
    var seconds = 1.0
    /// The maximum number of saves of each writer.
    var saves = Int.max

    /// The measurements of a load.
    struct Outcome {
        /// The saves of each writer.
        var times: [[SaveTime]]
        /// The time from the start until the last writer had closed its connection.
        var seconds: Double

        var saves: Int { times.reduce(0) { $0 + $1.count } }
        var microseconds: [Double] {
            times.joined().map { tandembench.microseconds(from: $0.start, to: $0.end) }
        }
    }

    /// Runs the writers; `data` has the new sizes afterwards.
    ///
    /// `meanwhile` is called after all writers have started.
    func run(_ data: inout BenchData, meanwhile: () throws -> Void = {}) throws -> Outcome {
        let processes = try (0..<writers).map { writer in
            try BenchProcess([
                "p2-writer", "\(n)", socket, folder, "\(writer)", "\(writers)", "\(perSave)",
                "\(UInt64(seconds * 1e9))", "\(saves)",
            ])
        }
        for process in processes { _ = try process.read(1, UInt64(0)) }
        let start = now()
        for process in processes { process.closeInput() }
        try meanwhile()
        // Each writer sends its count when its connection is closed; the times follow after all
        // counts.
        let counts = try processes.map { Int(try $0.read(1, UInt64(0))[0]) }
        let took = microseconds(from: start, to: now()) / 1e6
        let times = try zip(processes, counts).map { process, count in
            try process.read(count, SaveTime(start: 0, end: 0))
        }
        for process in processes { try process.finish() }
        for (writer, count) in counts.enumerated() { replay(writer, count, &data) }
        return Outcome(times: times, seconds: took)
    }

    private func replay(_ writer: Int, _ count: Int, _ data: inout BenchData) {
        var plan = SaverPlan(writer: writer, writers: writers, perSave: perSave, contents: n)
        for _ in 0..<count {
            for update in plan.next() { data.contents[update.index].size = update.size }
        }
    }
}

/// P2: durable saves per second of 1, 4 and 16 writer processes, with 1 and 100 objects per save.
///
/// The long variant runs longer and reports what delayed the slowest saves.
@MainActor
struct ThroughputBenchmark {
    let socket: String
    let folder: String
    let n: Int

    func run() throws {
        var data = BenchData(contents: n)
        let ids = try data.seed(socket)
        try BenchData.save(ids, to: folder)
        for perSave in [1, 100] {
            for writers in [1, 4, 16] {
                let load = Load(
                    socket: socket, folder: folder, n: n, writers: writers, perSave: perSave)
                let outcome = try load.run(&data)
                try data.check(socket, ids)
                line("p2", load, outcome).emit()
            }
        }
    }

    /// Runs one longer load, and prints the 99.9th percentile and its causes.
    func runLong(_ writers: Int, _ perSave: Int, seconds: Double) throws {
        var data = BenchData(contents: n)
        let ids = try data.seed(socket)
        try BenchData.save(ids, to: folder)
        let load = Load(
            socket: socket, folder: folder, n: n, writers: writers, perSave: perSave,
            seconds: seconds)
        let outcome = try load.run(&data)
        let status = try status(socket)
        try data.check(socket, ids)
        var line = line("load", load, outcome)
        line.notes += SlowSaves(outcome.times, status.latestStalls).notes
        let flushes = Double(status.batches ?? 0)
        line.notes += [
            ("saves_per_flush", decimal(Double(status.transactions ?? 0) / flushes)),
            ("checkpoints", "\(status.checkpoints ?? 0)"),
        ]
        line.emit()
    }

    private func line(_ scenario: String, _ load: Load, _ outcome: Load.Outcome) -> ResultLine {
        func plural(_ count: Int, _ name: String) -> String {
            "\(count)_\(name)\(count > 1 ? "s" : "")"
        }
        let rate = Double(outcome.saves) / outcome.seconds
        return ResultLine(
            scenario: scenario, peer: "tandem", n: n,
            metric: "save_\(plural(load.perSave, "object"))_\(plural(load.writers, "writer"))",
            values: outcome.microseconds,
            notes: [
                ("writers", "\(load.writers)"), ("objects_per_save", "\(load.perSave)"),
                ("saves_per_s", decimal(rate)),
                ("objects_per_s", "\(Int(rate * Double(load.perSave)))"),
                ("least_saves_of_a_writer", "\(outcome.times.map(\.count).min() ?? 0)"),
            ])
    }
}
