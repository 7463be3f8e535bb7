import FoundationEssentials
import Tandem

/// P5: a new connection, then the complete sectioned list in the memory of a client process.
@MainActor
struct FirstFetchBenchmark {
    let socket: String
    let n: Int

    private static let sort = ["bucket.name", "-creationDate", "name"]

    /// A complete row of the list.
    private struct Row: ObjectValue {
        let number: UInt64
        let name: String
        let creationDate: Date
        let size: Int
        let isEven: Bool
        let bucket: ObjectID?

        init(_ content: RowReader<Content>) {
            number = content.id.number
            (name, creationDate) = (content.name, content.creationDate)
            (size, isEven) = (content.size, content.isEven)
            bucket = content.bucket?.id
        }
    }

    private struct Buckets: ObjectValue {
        let id: ObjectID
        let name: String

        init(_ bucket: RowReader<Bucket>) { (id, name) = (bucket.id, bucket.name) }
    }

    /// A section of complete rows.
    private struct Section {
        let name: String
        let rows: ArraySlice<Row>
    }

    func run() throws {
        let data = BenchData(contents: n)
        let ids = try data.seed(socket)
        let order = data.listOrder()
        let numbers = order.map { ids[$0].number }
        let names = order.map { data.bucketNames[data.contents[$0].bucket] }
        var (keys, rows, counts): ([Double], [Double], [Double]) = ([], [], [])
        for run in 0..<(n >= 1_000_000 ? 3 : 9) {
            keys.append(try timed { try list($0, run == 0 ? (numbers, names) : nil) })
            let whole = try timed { context in
                let found = try sections(context)
                guard run == 0 else { return }
                guard found.flatMap({ $0.rows.map(\.number) }) == numbers,
                    found.flatMap({ section in section.rows.map { _ in section.name } }) == names,
                    found.flatMap({ $0.rows.map(\.size) }) == order.map({ data.contents[$0].size })
                else { throw Failure("the rows are not those of the list") }
            }
            rows.append(whole)
            counts.append(
                try timed { context in
                    let found = try context.count(for: FetchRequest(entity: "Content"))
                    guard found == n else { throw Failure("\(found) contents") }
                })
        }
        emit("fetch_ids_and_sections", keys)
        emit("fetch_rows", rows)
        emit("count", counts)
        try compareAfterSave()
    }

    /// Opens the list with and without a preceding save, alternately; the daemon has to checkpoint
    /// that save first.
    private func compareAfterSave() throws {
        let saver = container(socket, "saver")
        defer { saver.close() }
        let context = saver.makeContext(name: "saver")
        let content = try context.fetch(
            Content.self, where: .text("size >= 0"), sort: ["name"], limit: 1)
        guard let content = content.first else { throw Failure("no contents") }
        var (alone, after): ([Double], [Double]) = ([], [])
        for run in 0..<(n >= 1_000_000 ? 6 : 30) {
            // Neither kind of run waits for a checkpoint of earlier saves.
            try waitForCheckpoint(socket, saver)
            if run % 2 == 1 {
                content.size += 1
                try context.save()
            }
            let start = now()
            try list(context, nil)
            let time = microseconds(from: start, to: now()) / 1_000
            if run % 2 == 1 { after.append(time) } else { alone.append(time) }
        }
        emit("list_without_save", alone)
        emit("list_after_save", after)
    }

    private func emit(_ metric: String, _ values: [Double]) {
        ResultLine(
            scenario: "p5", peer: "tandem", n: n, metric: metric, values: values, unit: "ms",
            durability: nil
        ).emit()
    }

    /// Returns the milliseconds of some work over a new connection, including the connection.
    private func timed(_ work: (ManagedObjectContext) throws -> Void) throws -> Double {
        let start = now()
        let container = container(socket, "reader")
        defer { container.close() }
        try work(container.makeContext(name: "reader"))
        return microseconds(from: start, to: now()) / 1_000
    }

    private func list(
        _ context: ManagedObjectContext, _ expected: (numbers: [UInt64], names: [String])?
    ) throws {
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest(
                entity: "Content", sort: Self.sort.compactMap { SortKey($0) }),
            context: context, sectionNameKeyPath: "bucket.name")
        try controller.performFetch()
        guard let expected else { return }
        let names = controller.sections.flatMap { section in
            Array(repeating: section.name, count: section.numberOfObjects)
        }
        guard controller.fetchedObjectIDs.map(\.number) == expected.numbers,
            names == expected.names
        else { throw Failure("the list is not in order") }
    }

    private func sections(_ context: ManagedObjectContext) throws -> [Section] {
        let buckets = try context.fetchValues(Buckets.self)
        let names = Dictionary(uniqueKeysWithValues: buckets.map { ($0.id, $0.name) })
        let rows = try context.fetchValues(
            Row.self, for: FetchRequest(sort: Self.sort.compactMap { SortKey($0) }))
        var sections: [Section] = []
        var start = 0
        guard !rows.isEmpty else { return [] }
        for end in 1...rows.count
        where end == rows.count || rows[end].bucket != rows[start].bucket {
            let name = rows[start].bucket.flatMap { names[$0] } ?? ""
            sections.append(Section(name: name, rows: rows[start..<end]))
            start = end
        }
        return sections
    }
}
