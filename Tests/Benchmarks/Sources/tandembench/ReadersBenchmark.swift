import Glibc
import Tandem

/// Several processes that fetch or count at the same time, with and without one that saves in a
/// closed loop.
@MainActor
struct ReadersBenchmark {
    /// The request that each reader repeats.
    enum Question: String, CaseIterable {
        /// A tenth of the rows, found by an index.
        case byIndex = "rows_by_index"
        /// A tenth of the rows, found by evaluating all.
        case byScan = "rows_by_scan"
        /// The number of matches, found by evaluating all rows.
        case count = "count_by_scan"

        /// Sends the request once; returns the number of rows answered, or evaluated for a count.
        @MainActor func ask(_ context: ManagedObjectContext, _ n: Int) throws -> Int {
            let format = self == .byIndex ? "rank >= 90" : "plain >= \(n - n / 10)"
            let request = FetchRequest(
                entity: "Measured", predicate: try ObjectPredicate(format: format))
            guard self != .count else {
                guard try context.count(for: request) == n / 10 else { throw Failure("count") }
                return n
            }
            let found = try context.fetchIDs(request)
            guard found.count == n / 10 else { throw Failure("\(found.count) objects") }
            return found.count
        }
    }

    let socket: String
    let n: Int

    nonisolated static let readers = [1, 2, 4, 8]
    nonisolated static let seconds = 2.0

    func run() throws {
        let container = container(socket, "readers")
        defer { container.close() }
        let context = container.makeContext(name: "readers")
        let rows = (0..<n).lazy.map { index -> BatchValues in
            [
                "serial": index, "name": "measured \(index)", "rank": index % 100, "score": index,
                "plain": index,
            ]
        }
        try context.execute(BatchInsertRequest(entity: "Measured", rows: rows))
        try waitForCheckpoint(socket, container)
        try measure(nil, readers: 0, saves: true)
        for question in Question.allCases {
            for readers in Self.readers {
                for saves in [false, true] {
                    try measure(question, readers: readers, saves: saves)
                }
            }
        }
    }

    private func measure(_ question: Question?, readers: Int, saves: Bool) throws {
        let processes = try (0..<readers).map { _ in
            try BenchProcess([
                "p8-reader", "\(n)", socket, "-", question?.rawValue ?? "", "\(Self.seconds)",
            ])
        }
        let saver =
            saves
            ? try BenchProcess(["p8-saver", "\(n)", socket, "-", "\(Self.seconds)"]) : nil
        for process in processes + [saver].compactMap(\.self) {
            _ = try process.read(1, UInt64(0))
        }
        let probe = try DaemonProbe(socket)
        let before = try probe.allProcessorMicroseconds()
        for process in processes + [saver].compactMap(\.self) { process.closeInput() }
        var (times, rows) = try Self.results(of: processes)
        var notes: [(String, String)] = [
            ("readers", "\(readers)"), ("saver", saves ? "true" : "false"),
            ("rows_per_second", "\(Int(rows / Self.seconds))"),
        ]
        if let saver {
            let found = try saver.read(2, UInt64(0))
            let saved = try saver.read(Int(found[0]), SaveTime(start: 0, end: 0)).map {
                microseconds(from: $0.start, to: $0.end)
            }.sorted()
            try saver.finish()
            notes += [
                ("saves_per_second", "\(Int(Double(saved.count) / Self.seconds))"),
                ("save_p50", "\(Int(percentile(saved, 0.5)))"),
                ("save_p99", "\(Int(percentile(saved, 0.99)))"),
                ("save_max", "\(Int(saved.last ?? 0))"),
            ]
            if question == nil { times = saved }
        }
        if rows > 0 {
            let used = try probe.allProcessorMicroseconds() - before
            notes.append(("daemon_ns_per_row", "\(Int(used * 1_000 / rows))"))
        }
        ResultLine(
            scenario: "p8", peer: "tandem", n: n, metric: question?.rawValue ?? "saves_alone",
            values: times, notes: notes, durability: nil
        ).emit()
    }

    /// Returns the times of all requests in microseconds, and the number of rows of all processes.
    nonisolated static func results(of processes: [BenchProcess]) throws -> ([Double], Double) {
        var (times, rows): ([Double], Double) = ([], 0)
        for process in processes {
            let found = try process.read(2, UInt64(0))
            rows += Double(found[1])
            times += try process.read(Int(found[0]), SaveTime(start: 0, end: 0)).map {
                microseconds(from: $0.start, to: $0.end)
            }
            try process.finish()
        }
        return (times, rows)
    }

    // MARK: The processes

    /// Sends requests in a closed loop.
    static func read(_ socket: String, _ n: Int, _ question: Question, seconds: Double) throws {
        let container = container(socket, "reader")
        let context = container.makeContext(name: "reader")
        _ = try question.ask(context, n)
        var rows: UInt64 = 0
        let times = try loop(seconds) { rows += UInt64(try question.ask(context, n)) }
        container.close()
        try send([UInt64(times.count), rows])
        try send(times)
    }

    /// Saves one object at a time in a closed loop.
    static func save(_ socket: String, _ n: Int, seconds: Double) throws {
        let container = container(socket, "saver")
        let context = container.makeContext(name: "saver")
        let objects = try context.fetch(Measured.self, where: .text("rank = 7"))
        var generator = SplitMix64(7)
        let times = try loop(seconds) {
            objects[generator.below(objects.count)].serial = generator.below(1 << 20)
            try context.save()
        }
        container.close()
        try send([UInt64(times.count), 0])
        try send(times)
    }

    static func loop(_ seconds: Double, _ body: () throws -> Void) throws -> [SaveTime] {
        try send([UInt64(1)])
        var byte: UInt8 = 0
        _ = Glibc.read(STDIN_FILENO, &byte, 1)
        var times: [SaveTime] = []
        let stop = now() + UInt64(seconds * 1e9)
        repeat {
            let start = now()
            try body()
            times.append(SaveTime(start: start, end: now()))
        } while times[times.count - 1].end < stop
        return times
    }
}

extension DaemonProbe {
    /// Returns the processor time of all threads of the daemon, in microseconds.
    func allProcessorMicroseconds() throws -> Double {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(pid_t(process), &clock) == 0, clock_gettime(clock, &time) == 0
        else { throw Failure("the daemon's time can't be read") }
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
}
