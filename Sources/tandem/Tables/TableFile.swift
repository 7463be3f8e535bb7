import Tandem
import TandemIO

/// Reads the rows of a file on its own actor, so that rows are read while others are sent.
actor TableFile {
    /// A row that can be sent.
    struct Row: Sendable {
        var line: Int
        var values: BatchValues
    }

    /// Consecutive rows, and the rejected rows among them.
    struct Chunk: Sendable {
        var rows: [Row] = []
        var rejects: [RejectFile.Reject] = []
        /// The offset up to which the file was read.
        var offset: UInt64 = 0
        /// Whether these are the last rows.
        var isLast = false
    }

    /// The state of the import before its rows are read.
    struct Start: Sendable {
        /// The number of rows already inserted.
        var inserted: Int
        /// The lines already rejected.
        var rejected: Set<Int>
        /// The targets of each link.
        var targets: [LinkTargets]
    }

    /// The maximum number of rows in a chunk, the same as in a transaction of a batch.
    private static let chunkRows = 1_000
    /// The maximum size of a chunk in bytes, which limits the memory for long rows.
    private static let chunkBytes = 1 << 20
    private var table: CSVTable
    private let beginning: ImportLines.Location
    private let plan: TablePlan
    private var start: Start?
    private var count = 0
    /// The size of the file in bytes.
    let size: UInt64

    /// Opens a file and resolves the names of the map; throws ``CommandFailure``.
    init(_ table: ImportMap.Table, in folder: String, _ model: CompiledModel) throws {
        let path = try TableContent.path(table.name, in: folder)
        let content = try TableContent.open(path)
        let csv = try mapped { try CSVTable(content, path, delimiter: table.delimiter) }
        size = try mapped { try content.size() }
        plan = try TablePlan(table, columns: csv.columns, model)
        self.table = csv
        beginning = csv.location
    }

    /// The plan for reading the rows.
    nonisolated var reading: TablePlan { plan }

    // MARK: Rows

    /// Throws ``UniformFailure`` if the first rows all fail for the same reason.
    ///
    /// Targets of links are not looked up, and lines that were already rejected are omitted.
    func checkFirst(_ failures: UniformFailures, _ rejected: Set<Int>) throws {
        var failures = failures
        table.go(to: beginning)
        while !failures.isDisabled, let record = try mapped({ try table.next() }) {
            if rejected.contains(record.line) { continue }
            do throws(ImportValues.RowError) {
                if let problem = record.problem { throw ImportValues.RowError(reason: problem) }
                _ = try plan.values(record.cells, nil)
                failures.didPass()
            } catch {
                try failures.add(error.reason)
            }
        }
    }

    /// Starts to read from the beginning.
    func begin(_ start: Start) {
        table.go(to: beginning)
        count = 0
        self.start = start
    }

    /// Returns the next rows.
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
            do throws(ImportValues.RowError) {
                let values = try values(record, start)
                chunk.rows.append(Row(line: record.line, values: values))
                count += 1
            } catch {
                chunk.rejects.append(
                    .init(line: record.line, raw: record.text, reason: error.reason))
                // Rejected rows stay in memory until the chunk is returned, so they are limited
                // too.
                if chunk.rejects.count == Self.chunkRows { break }
            }
        }
        chunk.offset = table.location.offset
        return chunk
    }

    /// Returns the values of a row.
    ///
    /// A row that was already inserted has only its identity, because the targets of its links may
    /// have been deleted.
    private func values(
        _ record: CSVTable.Record, _ start: Start
    ) throws(ImportValues.RowError) -> BatchValues {
        var values = BatchValues([:])
        if count >= start.inserted {
            if let problem = record.problem { throw ImportValues.RowError(reason: problem) }
            values = try plan.values(record.cells, start.targets)
        }
        values.identity = plan.identity(record.bytes)
        return values
    }

    // MARK: Keys

    /// The distinct keys in a file's rows, for links whose missing targets are created.
    struct Keys: Sendable {
        /// The keys by the index of the link, in order of appearance.
        var byLink: [Int: [LinkKey]]
        fileprivate var known: [Int: Set<LinkKey>]
        /// The offset up to which the file was read; nil at its end.
        var offset: UInt64?
    }

    /// Reads more keys; starts at the beginning of the file if `before` is nil.
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
                // A key that can't be read is rejected later, together with its row.
                guard let key = try? link.key(record.cells, plan.nulls), link.allows(key),
                    keys.known[number, default: []].insert(key).inserted
                else { continue }
                keys.byLink[number, default: []].append(key)
            }
        }
        keys.offset = table.location.offset
        return keys
    }
}
