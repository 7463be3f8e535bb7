import Tandem

/// A row that was handed to a batch.
struct ImportedRow {
    /// What it is told by if the daemon refuses it.
    var reject: RejectFile.Reject
    /// Where the next one begins.
    var behind: ImportLines.Place
}

/// The rows of one batch: those of a file from some place on, up to one that the daemon refused before.
protocol ImportedRows: AnyObject, AsyncSequence where Element == BatchValues {
    /// Behind the refused row at which it ended; nil where the file did.
    var stoppedBehind: ImportLines.Place? { get }
    /// One of the last rows, by its number in the batch.
    func row(_ index: Int) -> ImportedRow?
    /// Returns when nothing more is read for it.
    nonisolated(nonsending) func end() async
}

extension ImportedRows {
    nonisolated(nonsending) func end() async {}
}

/// Inserts the rows of a file by batches of the daemon.
///
/// A batch ends at a row that the daemon refuses; the next one goes on behind it. Each has an id that follows from the import's, so
/// that the same import, started again, goes on where it was.
@MainActor struct ImportBatches {
    let context: ManagedObjectContext
    let entity: String
    let policy: MergePolicy
    let rejects: RejectFile
    /// The name of the file among those of a folder.
    var file = ""
    /// What tells these batches from all others.
    let name: String

    /// Inserts the rows that `rows` gives from a place on, for the batch of an id; `count` is told how many were.
    ///
    /// Throws what the daemon has against all of them.
    func run<Rows: ImportedRows>(
        _ rows: @MainActor (ImportLines.Place, _ id: [UInt8]) async throws -> Rows,
        count: (Int) -> Void
    ) async throws {
        var place = ImportLines.Place()
        var number = 0
        while true {
            let id = Self.id("\(name) \(number)")
            let batch = try await rows(place, id)
            do {
                let request = AsyncBatchInsertRequest(entity: entity, rows: batch, policy: policy)
                count(try await context.execute(request, id: id).count)
                await batch.end()
                guard let stopped = batch.stoppedBehind else { return }
                place = stopped
            } catch let error as TandemError {
                await batch.end()
                count(error.done?.count ?? 0)
                guard var row = error.row.flatMap(batch.row) else { throw error }
                row.reject.reason = Self.reason(error)
                try rejects.add([row.reject], of: file, by: .daemon)
                place = row.behind
            }
            number += 1
        }
    }

    /// The id of a batch of an import.
    static func id(_ name: String) -> [UInt8] {
        Array(StableHash(Array("import \(name)".utf8)).description.utf8)
    }

    /// What is wrong with the row; its number in a batch says nothing to anybody.
    private static func reason(_ error: TandemError) -> String {
        let problems = error.problems.map { problem in
            (problem.property.map { "\($0): " } ?? "") + problem.message
        }
        if !problems.isEmpty { return problems.joined(separator: "; ") }
        let message = error.message.split(separator: ": ", maxSplits: 1).last ?? ""
        let end = message.ranges(of: "; ").last { message[$0.upperBound...].contains("were done") }
        return String(message[..<(end?.lowerBound ?? message.endIndex)])
    }
}
