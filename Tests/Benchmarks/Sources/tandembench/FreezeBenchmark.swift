import Glibc
import Tandem

/// The delay that one client's expensive requests cause for another client, which saves and counts
/// objects in a closed loop.
///
/// The predicate searches texts of 45 kB sixty times, so the daemon needs hundredths of a second
/// for each object.
@MainActor
struct FreezeBenchmark {
    /// The work of the client with the expensive predicate.
    enum Request: String, CaseIterable {
        case none, fetch, count, batch, verdicts
    }

    let socket: String
    let n: Int

    private nonisolated static let searches = (1...60).map { "name CONTAINS[cd] 'zq\($0)'" }
        .joined(separator: " OR ")
    private nonisolated static let seconds = 3.0

    func run() throws {
        let container = container(socket, "freeze")
        defer { container.close() }
        let context = container.makeContext(name: "freeze")
        let objects = try (0..<n).map { index in
            let object = try context.insert(Measured.self)
            object.serial = index
            object.name = String(repeating: "Té", count: 15_000)
            try context.save()
            return object
        }
        try waitForCheckpoint(socket, container)
        for request in Request.allCases { try measure(request, objects, context) }
    }

    private func measure(
        _ request: Request, _ objects: [Measured], _ context: ManagedObjectContext
    ) throws {
        let asker = try BenchProcess(["freeze-asker", "\(n)", socket, "-", request.rawValue])
        _ = try asker.read(1, UInt64(0))
        asker.closeInput()
        let other = container(socket, "other")
        defer { other.close() }
        let reader = other.makeContext(name: "reader")
        var (saveTimes, countTimes): ([Double], [Double]) = ([], [])
        let end = now() + UInt64(Self.seconds * 1e9)
        while now() < end {
            objects[saveTimes.count % objects.count].rank += 1
            saveTimes.append(try time { try context.save() })
            countTimes.append(
                try time { _ = try reader.count(for: FetchRequest(entity: "Bucket")) })
        }
        let took = try asker.read(1, UInt64(0))[0]
        try asker.finish()
        guard request == .none || Double(took) > Self.seconds * 1e9 else {
            throw Failure("the other client ended early, after \(took) ns")
        }
        for (metric, times) in [("save", saveTimes), ("count", countTimes)] {
            ResultLine(
                scenario: "freeze", peer: "tandem", n: n, metric: "\(metric)_beside_\(request)",
                values: times, durability: metric == "save" ? "power-loss durable" : nil
            ).emit()
        }
    }

    private func time(_ body: () throws -> Void) throws -> Double {
        let start = now()
        try body()
        return microseconds(from: start, to: now())
    }

    /// Repeats an expensive request, and sends the nanoseconds that this took.
    static func ask(_ socket: String, _ request: Request) throws {
        let container = container(socket, "asker")
        defer { container.close() }
        let context = container.makeContext(name: "asker")
        let fetch = FetchRequest(
            entity: "Measured", predicate: try ObjectPredicate(format: searches))
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(
                entity: "Measured", predicate: fetch.predicate, sort: ["serial"]),
            context: context)
        if request == .verdicts { try list.performFetch() }
        try send([UInt64(1)])
        var byte: UInt8 = 0
        _ = Glibc.read(STDIN_FILENO, &byte, 1)
        let start = now()
        let end = start + UInt64((seconds + 0.2) * 1e9)
        if request == .none { return try send([0]) }
        repeat {
            do {
                switch request {
                case .none: break
                case .fetch: _ = try context.fetchIDs(fetch)
                case .count: _ = try context.count(for: fetch)
                case .batch: try context.execute(BatchUpdateRequest(fetch, set: ["plain": 1]))
                // Each save of the other client is followed by a verdict on its object.
                case .verdicts: try context.reach(container.end())
                }
            } catch let error as TandemError where error.code == .timeout {
                // The saves outgrew the bounds of a snapshot.
            }
        } while now() < end
        try send([now() - start])
    }
}
