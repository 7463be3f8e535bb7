import Tandem

/// The rows of a file, without those that were rejected before.
protocol ImportedRows: AnyObject, AsyncSequence where Element == BatchValues {
    /// Returns a recent row as a reject, by its index among all rows returned so far; nil if the
    /// row is no longer in memory.
    func reject(_ index: Int) -> RejectFile.Reject?
    /// Waits until no rows are being read ahead.
    nonisolated(nonsending) func end() async
}

extension ImportedRows {
    nonisolated(nonsending) func end() async {}
}

/// Inserts the rows of a file with a batch insert.
///
/// Rows that the daemon rejects are written to the reject file before any later row is inserted.
/// The batch's id is derived from the import's id, so a resumed import omits the same rows and
/// continues after the last inserted row.
@MainActor struct ImportBatches {
    let context: ManagedObjectContext
    let entity: String
    let policy: MergePolicy
    let rejects: RejectFile
    /// The name of the file in the folder of the import; empty for the import of a single file.
    var file = ""
    /// Whether to continue if the first 1,000 rows all fail for the same reason.
    var keepsGoing = false
    /// The name that distinguishes this batch from all others.
    let name: String

    /// Inserts the rows returned by `rows` for the batch's id.
    ///
    /// Calls `count` with the number of inserted rows, even if the batch fails. Throws the error
    /// that ended the batch. If that is a ``UniformFailure``, no row was inserted, and the reject
    /// file is as it was before.
    func run<Rows: ImportedRows>(
        _ rows: @MainActor (_ id: [UInt8]) async throws -> Rows,
        numbering: (([(row: Int, number: ObjectNumber)]) throws -> Void)? = nil,
        count: (Int) -> Void
    ) async throws {
        let id = Self.id(name)
        let mark = rejects.mark
        let batch = try await rows(id)
        let request = AsyncBatchInsertRequest(entity: entity, rows: batch, policy: policy)
        do {
            var failures = UniformFailures(keepsGoing, of: file.isEmpty ? entity : file)
            let rejecting = { (refused: [(row: Int, error: TandemError)]) in
                for (row, error) in refused {
                    if row != failures.count { failures.didPass() }
                    try failures.add(Self.reason(error))
                }
                try rejects.add(refused.map { reject($0, of: batch) }, of: file, by: .daemon)
            }
            let result = try await context.tools.execute(
                request, id: id, refusing: rejecting, numbering: numbering)
            count(result.count)
            await batch.end()
        } catch {
            await batch.end()
            count(await inserted(id, error))
            if error is UniformFailure { try rejects.removeAll(after: mark) }
            throw error
        }
    }

    /// Returns the number of rows that the daemon inserted before an error.
    private func inserted(_ id: [UInt8], _ error: any Error) async -> Int {
        if let error = error as? TandemError { return error.done?.count ?? 0 }
        // The error did not come from the daemon.
        return (try? await context.tools.insertedRows(entity, policy, id: id)) ?? 0
    }

    private func reject(
        _ refused: (row: Int, error: TandemError), of rows: some ImportedRows
    ) -> RejectFile.Reject {
        guard var reject = rows.reject(refused.row) else {
            preconditionFailure("The rows of all chunks in progress are kept.")
        }
        reject.reason = Self.reason(refused.error)
        return reject
    }

    /// Returns the id of a batch.
    static func id(_ name: String) -> [UInt8] {
        Array(StableHash(Array("import \(name)".utf8)).description.utf8)
    }

    /// Returns the reason for the rejection of a row.
    private static func reason(_ error: TandemError) -> String {
        let problems = error.problems.map { problem in
            (problem.property.map { "\($0): " } ?? "") + problem.message
        }
        return problems.isEmpty ? error.message : problems.joined(separator: "; ")
    }
}

/// The rows most recently passed to a batch, which the daemon may still reject.
///
/// At most two chunks are in flight, and a row after them may have been read. A chunk has a limited
/// number of rows and bytes, or consists of a single row of any length.
struct LastRows<Row> {
    /// The minimum number of rows kept, more than two chunks and the row read ahead contain.
    private static var keptRows: Int { 4_096 }
    private static var chunkBytes: Int { 1 << 20 }
    /// The minimum number of bytes kept, more than two chunks and the row read ahead contain,
    /// because a row counts as at most one chunk.
    private static var keptBytes: Int { 4 * chunkBytes }
    private var rows: [(row: Row, bytes: Int)] = []
    private var count = 0
    private var bytes = 0

    /// Adds the next row; `rowBytes` must not exceed the row's size in a chunk.
    mutating func add(_ row: Row, bytes rowBytes: Int) {
        count += 1
        rows.append((row, min(rowBytes, Self.chunkBytes)))
        bytes += rows[rows.count - 1].bytes
        // Rows are dropped in bulk, because removing the first rows moves all others.
        if rows.count > 2 * Self.keptRows || bytes > 2 * Self.keptBytes { drop() }
    }

    private mutating func drop() {
        var droppedCount = 0
        while rows.count - droppedCount > Self.keptRows
            || bytes - rows[droppedCount].bytes > Self.keptBytes
        {
            bytes -= rows[droppedCount].bytes
            droppedCount += 1
        }
        rows.removeFirst(droppedCount)
    }

    /// The row with this index, counted from 0; nil if it was dropped.
    subscript(index: Int) -> Row? {
        let offset = index - (count - rows.count)
        return rows.indices.contains(offset) ? rows[offset].row : nil
    }
}

extension BatchValues {
    /// The size of all strings and data in bytes, a lower bound of the row's size in a chunk.
    var contentBytes: Int {
        attributes.values.reduce(0) { bytes, value in
            switch value {
            case .string(let text), .url(let text): bytes + text.utf8.count
            case .data(let content): bytes + content.count
            default: bytes
            }
        }
    }
}
