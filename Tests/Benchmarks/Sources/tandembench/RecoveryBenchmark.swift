import Tandem

/// The speed at which a daemon applies the journal to a store that lags far behind.
///
/// run.sh copies the store after ``seed()``, kills the daemon after ``fill()``, restores the copy,
/// and starts the daemon again, which then applies everything. ``report(startMilliseconds:)``
/// prints how long that took.
@MainActor
struct RecoveryBenchmark {
    /// The properties that change: one without an index, or one in each of two indexes.
    enum Kind: String { case unindexed, indexed }

    private static let changesPerSave = 100
    let socket: String
    let folder: String
    let n: Int
    let kind: Kind

    private var saves: Int { 500_000 / Self.changesPerSave }

    func seed() throws {
        let container = container("seed")
        defer { container.close() }
        var ids: [ObjectID] = []
        var at = 0
        while at < n {
            let context = container.makeContext(name: "seed")
            for number in at..<min(at + 1_000, n) {
                let object = try context.insert(Measured.self)
                object.serial = number
                object.name = "measured-\(number)"
                ids.append(object.id)
            }
            try context.save()
            at += 1_000
        }
        try BenchData.save(ids, to: folder)
    }

    func fill() throws {
        let numbers = try BenchData.loadNumbers(folder)
        let container = container("fill")
        defer { container.close() }
        let context = container.makeContext(name: "fill")
        for save in updates() {
            for (index, value) in save {
                let id = ObjectID(entity: "Measured", number: numbers[index])
                let object = try context.object(with: id) as? Measured
                switch kind {
                case .unindexed: object?.plain = value
                case .indexed:
                    object?.rank = value
                    object?.score = value
                }
            }
            try context.save()
        }
    }

    private func container(_ author: String) -> PersistentContainer {
        tandembench.container(socket, author)
    }

    private func updates() -> some Sequence<[(Int, Int)]> {
        var generator = SplitMix64(45)
        return (0..<saves).lazy.map { _ in
            (0..<Self.changesPerSave).map { _ in
                (generator.below(n), generator.below(1_048_576))
            }
        }
    }

    func report(startMilliseconds: Double) throws {
        let container = container("report")
        defer { container.close() }
        let status = try DaemonStatus(container)
        guard let changes = status.replayedChanges,
            let time = status.replayMicroseconds, time > 0
        else { throw Failure("the daemon did not report the number of applied transactions") }
        try check(container)
        ResultLine(
            scenario: "recovery", peer: "tandem", n: n, metric: "\(kind.rawValue)_changes",
            values: [Double(time)],
            notes: [
                ("changes", "\(changes)"),
                ("changes_per_s", decimal(Double(changes) / Double(time) * 1e6)),
                ("start_ms", decimal(startMilliseconds)),
            ]
        ).emit()
    }

    private func check(_ container: PersistentContainer) throws {
        var expected = [Int](repeating: 0, count: n)
        for save in updates() { for (index, value) in save { expected[index] = value } }
        let context = container.makeContext(name: "check")
        var at = 0
        while at < n {
            let end = min(n, at + 10_000)
            let found = try context.fetch(
                Measured.self, where: .text("serial >= \(at) AND serial < \(end)"), sort: ["serial"]
            )
            guard found.count == end - at else { throw Failure("\(found.count) objects") }
            for (index, object) in found.enumerated() {
                let value = kind == .unindexed ? object.plain : object.rank
                guard value == expected[at + index] else {
                    throw Failure("\(object.id) has \(value), expected \(expected[at + index])")
                }
            }
            at = end
        }
    }
}
