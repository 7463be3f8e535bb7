import Tandem

/// P1: one process, one object changed in each blocking save, each durable when it returns.
@MainActor
struct SaveBenchmark {
    /// The number of saves before the measurement, enough for logs to reach their working size.
    private static let warmUp = 600
    private static let samples = 2_000
    let socket: String
    let folder: String
    let n: Int

    func run() throws {
        var data = BenchData(contents: n)
        let ids = try data.seed(socket)
        let outcome = try measure(&data, ids)
        try data.check(socket, ids)
        ResultLine(
            scenario: "p1", peer: "tandem", n: n, metric: "save_1_object", values: outcome.saves,
            floor: outcome.floor
        ).emit()
    }

    /// The measured times of saves and floor writes in microseconds, and the number of all saves.
    struct Outcome {
        var saves: [Double]
        var floor: [Double]
        var count: Int
    }

    /// Saves objects; `data` has the new sizes afterwards.
    ///
    /// Each call needs another `seed`; with a repeated one, saves would change nothing.
    func measure(
        _ data: inout BenchData, _ ids: [ObjectID], seed: UInt64 = 43
    ) throws -> Outcome {
        var floor = try DiskFloor(folder: folder)
        var count = 0
        let container = container(socket, "saver")
        defer { container.close() }
        let context = container.makeContext(name: "p1")
        // Nothing is read, so the session has no interests and nothing is pushed to it.
        let objects = try ids.compactMap { try context.object(with: $0) as? Content }
        guard objects.count == n else { throw Failure("the store has not \(n) contents") }
        var generator = SplitMix64(seed)
        var saves: [Double] = []
        let limit = now() + 7_000_000_000
        for i in 0..<(Self.warmUp + Self.samples) {
            let (index, size) = (generator.below(n), generator.below(1_048_576))
            let start = now()
            objects[index].size = size
            objects[index].isEven = size % 2 == 0
            try context.save()
            let end = now()
            data.contents[index].size = size
            count += 1
            try floor.measure(counts: i >= Self.warmUp)
            if i >= Self.warmUp { saves.append(microseconds(from: start, to: end)) }
            if end > limit, saves.count >= 100 { break }
        }
        return Outcome(saves: saves, floor: floor.microseconds, count: count)
    }
}
