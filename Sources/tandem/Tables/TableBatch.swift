import Tandem

/// The rows of one batch of a file: a chunk is read while another is sent.
///
/// What is rejected is on the disk before any row behind it is handed out.
final class TableBatch: ImportedRows {
    typealias Element = BatchValues

    /// The daemon refuses a row of the last part, of at most so many rows, while one more has come.
    private static let rowsKept = 2_048
    private let file: TableFile
    private let name: String
    private let rejects: RejectFile
    private let onRead: (UInt64) -> Void
    private var ahead: Task<TableFile.Chunk, any Error>?
    private var chunk = TableFile.Chunk()
    private var index = 0
    private var kept: [TableFile.Row] = []
    private var count = 0

    /// Reads on in a file that has begun; `onRead` hears how far that has come.
    init(
        _ file: TableFile, _ name: String, _ rejects: RejectFile,
        onRead: @escaping (UInt64) -> Void
    ) {
        self.file = file
        self.name = name
        self.rejects = rejects
        self.onRead = onRead
        readAhead()
    }

    var stoppedBehind: ImportLines.Place? { chunk.stoppedBehind }

    func row(_ index: Int) -> ImportedRow? {
        let place = index - (count - kept.count)
        guard kept.indices.contains(place) else { return nil }
        let row = kept[place]
        // What stands for the row begins with what stands for the map.
        let raw = row.values.identity?.dropFirst(TablePlan.seedBytes) ?? []
        return ImportedRow(
            reject: .init(line: row.line, raw: String(decoding: raw, as: UTF8.self), reason: ""),
            behind: row.behind)
    }

    nonisolated(nonsending) func end() async { _ = await ahead?.result }

    private func readAhead() {
        let file = file
        ahead = Task.detached { try await file.next() }
    }

    /// The next row.
    nonisolated(nonsending) func next() async throws -> BatchValues? {
        while index == chunk.rows.count {
            guard !chunk.isLast, let ahead else { return nil }
            chunk = try await ahead.value
            index = 0
            try rejects.add(chunk.rejects, of: name, by: .reader)
            onRead(chunk.offset)
            if chunk.isLast { self.ahead = nil } else { readAhead() }
        }
        let row = chunk.rows[index]
        index += 1
        count += 1
        kept.append(row)
        if kept.count > 2 * Self.rowsKept { kept.removeFirst(Self.rowsKept) }
        return row.values
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let batch: TableBatch

        func next() async throws -> BatchValues? { try await batch.next() }

        func next(isolation actor: isolated (any Actor)?) async throws -> BatchValues? {
            try await batch.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(batch: self) }
}
