import Tandem

/// The rows of a file; the next chunk is read while the current one is sent.
///
/// A rejected row is on disk before any later row is returned.
final class TableBatch: ImportedRows {
    typealias Element = BatchValues

    private let file: TableFile
    private let name: String
    private let rejects: RejectFile
    private var failures: UniformFailures
    private let onRead: (UInt64) -> Void
    private var ahead: Task<TableFile.Chunk, any Error>?
    private var chunk = TableFile.Chunk()
    private var index = 0
    private var last = LastRows<TableFile.Row>()

    /// Starts to read ahead; the file's `begin` must have been called.
    ///
    /// `onRead` is called after each chunk with the offset in the file.
    init(
        _ file: TableFile, _ name: String, _ rejects: RejectFile, _ failures: UniformFailures,
        onRead: @escaping (UInt64) -> Void
    ) {
        self.file = file
        self.name = name
        self.rejects = rejects
        self.failures = failures
        self.onRead = onRead
        readAhead()
    }

    func reject(_ index: Int) -> RejectFile.Reject? {
        guard let row = last[index] else { return nil }
        // The identity of a row begins with the hash of the map.
        let raw = row.values.identity?.dropFirst(TablePlan.seedBytes) ?? []
        return .init(line: row.line, raw: String(decoding: raw, as: UTF8.self), reason: "")
    }

    nonisolated(nonsending) func end() async { _ = await ahead?.result }

    private func readAhead() {
        let file = file
        ahead = Task.detached { try await file.next() }
    }

    /// Returns the next row, or nil after the last one.
    nonisolated(nonsending) func next() async throws -> BatchValues? {
        while index == chunk.rows.count {
            guard !chunk.isLast, let ahead else { return nil }
            chunk = try await ahead.value
            index = 0
            if !chunk.rows.isEmpty { failures.didPass() }
            for reject in chunk.rejects { try failures.add(reject.reason) }
            try rejects.add(chunk.rejects, of: name, by: .reader)
            onRead(chunk.offset)
            if chunk.isLast { self.ahead = nil } else { readAhead() }
        }
        let row = chunk.rows[index]
        index += 1
        last.add(row, bytes: row.values.contentBytes)
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
