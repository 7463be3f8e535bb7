import Tandem
import TandemJournal

/// The entity and the checksum of each row of a file, recorded in the first pass.
///
/// With them, later passes parse only the rows that they need, and detect rows that have changed.
struct LineRecords {
    /// The records by line, from line 1; a line without a valid row has the tag `noEntity`.
    private var records: [(tag: EntityTag, checksum: UInt32)] = []
    private static let noEntity = EntityTag.max
    /// The number of the line after the last valid row.
    var end: Int { records.count + 1 }

    /// The reason for the rejection of a row that has changed.
    static let changed =
        "the row was changed or removed during the import; leave the file unchanged until it ends"

    /// Records a row and its entity.
    mutating func add(_ row: ImportRow, _ entity: CompiledEntity) {
        while records.count < row.line { records.append((Self.noEntity, 0)) }
        records[row.line - 1] = (entity.tag, CRC32C.checksum(row.raw.utf8))
    }

    /// Returns the tag of a line's entity, or nil if the line has no valid row.
    func entity(of line: Int) -> EntityTag? {
        guard line < end, records[line - 1].tag != Self.noEntity else { return nil }
        return records[line - 1].tag
    }

    /// Throws if a recorded row has changed since the first pass.
    func checkUnchanged(_ row: ImportRow) throws(ImportValues.RowError) {
        guard records[row.line - 1].checksum != CRC32C.checksum(row.raw.utf8) else { return }
        throw ImportValues.RowError(reason: Self.changed)
    }
}

/// The rows of one entity, without those that were rejected before.
final class ImportBatch: ImportedRows {
    typealias Element = BatchValues

    /// The progress of earlier attempts.
    struct Start {
        /// The number of rows of the entity that were already inserted.
        var inserted: Int
        /// The lines that were rejected.
        var refused: Set<Int>
        /// Whether all links have already been set.
        var isOver: Bool
    }

    private var reader: any ImportReader
    private let lines: LineRecords
    private let entity: CompiledEntity
    private let start: Start
    private let targets: ImportTargets
    private let rejects: RejectFile
    private var last = LastRows<(reject: RejectFile.Reject, id: ObjectID?)>()
    private var count = 0
    /// The first line that has not been read.
    private var line = 1
    /// The lines whose links can only be set after later rows are inserted.
    private(set) var pending: Set<Int> = []
    var onRow: ((ImportLines.Location) -> Void)?
    private let model: CompiledModel

    init(
        _ reader: any ImportReader, _ lines: LineRecords, _ entity: CompiledEntity, _ start: Start,
        _ parts: (targets: ImportTargets, rejects: RejectFile)
    ) {
        self.reader = reader
        self.lines = lines
        self.entity = entity
        self.start = start
        (targets, rejects) = parts
        model = parts.targets.model
    }

    func reject(_ index: Int) -> RejectFile.Reject? { last[index]?.reject }

    /// Returns the exported id of a recent row, by its index among all rows returned so far.
    func id(_ index: Int) -> ObjectID? { last[index].flatMap(\.id) }

    /// Returns the next row that can be sent.
    func next() throws -> BatchValues? {
        while let row = try nextRow() {
            var reject = RejectFile.Reject(line: row.line, raw: row.raw, reason: "")
            do throws(ImportValues.RowError) {
                try lines.checkUnchanged(row)
                var values = try values(of: row)
                values.identity = Array(row.raw.utf8)
                onRow?(reader.location)
                last.add((reject, row.id), bytes: values.contentBytes)
                count += 1
                return values
            } catch {
                reject.reason = error.reason
                try rejects.add([reject], by: .reader)
            }
        }
        return nil
    }

    /// Returns the next row of the entity; rejects earlier recorded rows that are no longer in the
    /// file.
    private func nextRow() throws -> ImportRow? {
        let row = try reader.next(where: isWanted)
        let end = row?.line ?? lines.end
        let removed = (line..<end).filter(isWanted).map {
            RejectFile.Reject(line: $0, raw: "", reason: LineRecords.changed)
        }
        try rejects.add(removed, by: .reader)
        line = row == nil ? end : end + 1
        return row
    }

    private func isWanted(_ line: Int) -> Bool {
        lines.entity(of: line) == entity.tag && !start.refused.contains(line)
    }

    /// Returns the values of a row.
    ///
    /// For a row that was already inserted, the daemon needs only the identity, so links are
    /// omitted. An earlier attempt may not have set all of them, so they are set again at the end.
    private func values(of row: ImportRow) throws(ImportValues.RowError) -> BatchValues {
        var (values, links) = try ImportValues.read(row, of: entity, model)
        if count < start.inserted {
            if !start.isOver, !links.isEmpty { pending.insert(row.line) }
            return values
        }
        var isComplete = true
        for (name, links) in links.sorted(by: { $0.key < $1.key }) {
            guard let property = entity.property(named: name) else { continue }
            let found = try targets.targets(links, property, of: row)
            values.objects[name] = found.objects
            if !found.isComplete { isComplete = false }
        }
        if !isComplete { pending.insert(row.line) }
        return values
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let batch: ImportBatch

        func next() async throws -> BatchValues? { try batch.next() }

        func next(isolation actor: isolated (any Actor)?) async throws -> BatchValues? {
            try batch.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(batch: self) }
}
