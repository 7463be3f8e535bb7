import Tandem
import TandemIO

/// Reads the rows of one file of a map, away from the main thread, so that rows are read while others are sent.
actor TableFile {
    /// A row that can be sent.
    struct Row: Sendable {
        var line: Int
        var values: BatchValues
    }

    /// Some rows, and the rejected ones between them.
    struct Chunk: Sendable {
        var rows: [Row] = []
        var rejects: [RejectFile.Reject] = []
        /// How far the file is read.
        var offset: UInt64 = 0
        /// Whether nothing comes behind them.
        var isLast = false
    }

    /// What of the rows is known before they are read.
    struct Start: Sendable {
        /// How many of them are inserted.
        var inserted: Int
        /// Lines that are rejected.
        var rejected: Set<Int>
        /// Where links lead.
        var targets: [LinkTargets]
    }

    /// As many as a part of a batch has.
    private static let chunkRows = 1_000
    /// So that long rows don't add up.
    private static let chunkBytes = 1 << 20
    private var table: CSVTable
    private let beginning: ImportLines.Place
    private let plan: TablePlan
    private var start: Start?
    private var count = 0
    /// How many bytes there are.
    let size: UInt64

    /// Opens a file, and finds what the map says in it; throws ``CommandFailure``.
    init(_ table: ImportMap.Table, in folder: String, _ model: CompiledModel) throws {
        let path = try TableContent.path(table.name, in: folder)
        let content = try TableContent.open(path)
        let csv = try mapped { try CSVTable(content, path, delimiter: table.delimiter) }
        size = try mapped { try content.size() }
        plan = try TablePlan(table, columns: csv.columns, model)
        self.table = csv
        beginning = csv.place
    }

    /// The plan by which rows are read.
    nonisolated var reading: TablePlan { plan }

    // MARK: Rows

    /// Reads from the beginning.
    func begin(_ start: Start) {
        table.go(to: beginning)
        count = 0
        self.start = start
    }

    /// The next rows.
    func next() throws -> Chunk {
        var chunk = Chunk()
        guard let start else { return chunk }
        var bytes = 0
        while chunk.rows.count < Self.chunkRows, bytes < Self.chunkBytes {
            guard let record = try mapped({ try table.next() }) else {
                chunk.isLast = true
                break
            }
            if start.rejected.contains(record.line) { continue }
            bytes += record.bytes.count
            do throws(ImportValues.Misfit) {
                let values = try values(record, start)
                chunk.rows.append(Row(line: record.line, values: values))
                count += 1
            } catch {
                chunk.rejects.append(
                    .init(line: record.line, raw: record.text, reason: error.reason))
                // They are held until the chunk is handed over.
                if chunk.rejects.count == Self.chunkRows { break }
            }
        }
        chunk.offset = table.place.offset
        return chunk
    }

    /// What a row sets; of one that is inserted, what stands for it is enough, and what its links led to may be gone.
    private func values(
        _ record: CSVTable.Record, _ start: Start
    ) throws(ImportValues.Misfit) -> BatchValues {
        var values = BatchValues([:])
        if count >= start.inserted {
            if let problem = record.problem { throw ImportValues.Misfit(reason: problem) }
            values = try plan.values(record.cells, start.targets)
        }
        values.identity = plan.identity(record.bytes)
        return values
    }

    // MARK: Keys

    /// The keys that rows name, each once, of the links whose missing objects are made.
    struct Keys: Sendable {
        /// By the number of the link, in the order in which they come up.
        var byLink: [Int: [LinkKey]]
        fileprivate var known: [Int: Set<LinkKey>]
        /// How far the file is read; nil when that is all.
        var offset: UInt64?
    }

    /// Reads on for keys; begins with nil.
    func keys(_ before: Keys?) throws -> Keys {
        let links = plan.links.enumerated().filter { $0.element.missing == .create }
        if before == nil { table.go(to: beginning) }
        var keys = before ?? Keys(byLink: [:], known: [:], offset: 0)
        for _ in 0..<(16 * Self.chunkRows) {
            guard let record = try mapped({ try table.next() }) else {
                keys.offset = nil
                return keys
            }
            if record.problem != nil { continue }
            for (number, link) in links {
                // What can't be read is rejected with its row, later.
                guard let key = try? link.key(record.cells, plan.nulls), link.allows(key),
                    keys.known[number, default: []].insert(key).inserted
                else { continue }
                keys.byLink[number, default: []].append(key)
            }
        }
        keys.offset = table.place.offset
        return keys
    }
}
