import Glibc
import Tandem

/// Counting with an indexed condition, compared with this process's own walk over the same keys in
/// LMDB.
@MainActor
struct CountBenchmark {
    let socket: String
    let folder: String
    let n: Int

    private static let runs = 15

    func run() throws {
        let container = container(socket, "count")
        defer { container.close() }
        let context = container.makeContext(name: "count")
        let rows = (0..<n).lazy.map { index -> BatchValues in
            ["serial": index, "name": "measured \(index)", "rank": index % 100, "score": index]
        }
        try context.execute(BatchInsertRequest(entity: "Measured", rows: rows))
        // The inserted objects are in the file only after a checkpoint.
        try waitForCheckpoint(socket, container)
        try measure("one_of_100", "rank = 7", (7, 7), container, context)
        try measure("half", "rank >= 50", (50, 99), container, context)
    }

    private func measure(
        _ name: String, _ format: String, _ ranks: (Int64, Int64),
        _ container: PersistentContainer, _ context: ManagedObjectContext
    ) throws {
        let request = FetchRequest(
            entity: "Measured", predicate: try ObjectPredicate(format: format))
        let plan = try container.explain(request, isCount: true)
        guard plan.rowsRead == 0 else { throw Failure("\(plan.rowsRead) rows are read") }
        let keys = try IndexKeys("\(folder)/store/store", ranks)
        var (values, floor): ([Double], [Double]) = ([], [])
        for _ in 0..<Self.runs {
            let start = now()
            let count = try context.count(for: request)
            values.append(microseconds(from: start, to: now()))
            let walked = try keys.walk()
            floor.append(walked.microseconds)
            guard count == walked.count, count == plan.returned else {
                throw Failure("\(count) objects, but \(walked.count) keys")
            }
        }
        ResultLine(
            scenario: "count", peer: "tandem", n: n, metric: name, values: values, floor: floor,
            notes: [
                ("returned", "\(plan.returned)"), ("rows_read", "\(plan.rowsRead)"),
                ("keys_read", "\(plan.keysRead)"),
            ], durability: nil
        ).emit()
    }
}
