import Tandem

/// The rows of a file, without those that were refused before.
protocol ImportedRows: AnyObject, AsyncSequence where Element == BatchValues {
    /// By what one of the last rows is told if the daemon refuses it: by its number among all that were handed out.
    func reject(_ index: Int) -> RejectFile.Reject?
    /// Returns when nothing more is read for it.
    nonisolated(nonsending) func end() async
}

extension ImportedRows {
    nonisolated(nonsending) func end() async {}
}

/// Inserts the rows of a file by a batch of the daemon.
///
/// Rows that the daemon refuses are left out and stand in the file of rejects before anything behind them is inserted. The batch has an id that
/// follows from the import's: so the same import, started again, leaves out the same rows and goes on where it was.
@MainActor struct ImportBatches {
    let context: ManagedObjectContext
    let entity: String
    let policy: MergePolicy
    let rejects: RejectFile
    /// The name of the file among those of a folder.
    var file = ""
    /// Whether to continue if the first rows are all refused for one reason.
    var keepsGoing = false
    /// What tells this batch from all others.
    let name: String

    /// Inserts the rows that `rows` gives for the batch of an id; `count` is told how many were.
    ///
    /// Throws what the daemon has against all of them.
    func run<Rows: ImportedRows>(
        _ rows: @MainActor (_ id: [UInt8]) async throws -> Rows,
        numbering: (([(row: Int, number: ObjectNumber)]) throws -> Void)? = nil,
        count: (Int) -> Void
    ) async throws {
        let id = Self.id(name)
        let batch = try await rows(id)
        let request = AsyncBatchInsertRequest(entity: entity, rows: batch, policy: policy)
        do {
            var failures = UniformFailures(keepsGoing)
            let refusing = { (refused: [(row: Int, error: TandemError)]) in
                for (row, error) in refused {
                    if row != failures.count { failures.didPass() }
                    try failures.add(Self.reason(error))
                }
                try rejects.add(refused.map { reject($0, of: batch) }, of: file, by: .daemon)
            }
            let result = try await context.execute(
                request, id: id, refusing: refusing, numbering: numbering)
            count(result.count)
            await batch.end()
        } catch {
            await batch.end()
            count((error as? TandemError)?.done?.count ?? 0)
            throw error
        }
    }

    private func reject(
        _ refused: (row: Int, error: TandemError), of rows: some ImportedRows
    ) -> RejectFile.Reject {
        guard var reject = rows.reject(refused.row) else {
            preconditionFailure("The rows of all parts under way are kept.")
        }
        reject.reason = Self.reason(refused.error)
        return reject
    }

    /// The id of a batch of an import.
    static func id(_ name: String) -> [UInt8] {
        Array(StableHash(Array("import \(name)".utf8)).description.utf8)
    }

    /// What is wrong with the row.
    private static func reason(_ error: TandemError) -> String {
        let problems = error.problems.map { problem in
            (problem.property.map { "\($0): " } ?? "") + problem.message
        }
        return problems.isEmpty ? error.message : problems.joined(separator: "; ")
    }
}

/// The last rows that were handed to a batch.
///
/// The daemon refuses rows of a part that is under way: of the last two, while one more row has come. A part has so many rows and bytes at
/// most, or is one row, however long that is.
struct LastRows<Row> {
    /// As many as two parts have, and what is read ahead.
    private static var kept: Int { 4_096 }
    private static var partBytes: Int { 1 << 20 }
    /// More than two parts and a row have, where a row counts for one part at most.
    private static var keptBytes: Int { 4 * partBytes }
    private var rows: [(row: Row, bytes: Int)] = []
    private var count = 0
    private var bytes = 0

    /// Notes the next row, which takes so many bytes in a part, or more.
    mutating func add(_ row: Row, bytes rowBytes: Int) {
        count += 1
        rows.append((row, min(rowBytes, Self.partBytes)))
        bytes += rows[rows.count - 1].bytes
        // Many at once, as all others move.
        if rows.count > 2 * Self.kept || bytes > 2 * Self.keptBytes { drop() }
    }

    private mutating func drop() {
        var gone = 0
        while rows.count - gone > Self.kept || bytes - rows[gone].bytes > Self.keptBytes {
            bytes -= rows[gone].bytes
            gone += 1
        }
        rows.removeFirst(gone)
    }

    /// A row by its number, from 0; nil for one that is not kept any more.
    subscript(index: Int) -> Row? {
        let place = index - (count - rows.count)
        return rows.indices.contains(place) ? rows[place].row : nil
    }
}

extension BatchValues {
    /// The bytes of its texts and data: no more than it takes in a part.
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
