public import TandemModel
import TandemWire

/// A request for the daemon to insert an object for each row of an asynchronous sequence; see
/// ``BatchInsertRequest``.
///
///     let rows = FileHandle.standardInput.bytes.lines.map { BatchValues(["name": .string($0)]) }
///     try await context.execute(AsyncBatchInsertRequest(entity: "Team", rows: rows))
///
/// At most 2,001 rows are held in memory at a time: two chunks and one row.
public struct AsyncBatchInsertRequest<Rows: AsyncSequence> where Rows.Element == BatchValues {
    /// The entity's name.
    package var entity: String
    /// The values of each object; relationships may refer to existing objects only.
    package var rows: Rows
    /// The policy for a row whose unique values an existing object already has.
    package var policy: MergePolicy

    /// Creates a request that inserts objects of an entity.
    public init(entity: String, rows: Rows, policy: MergePolicy = .error) {
        self.entity = entity
        self.rows = rows
        self.policy = policy
    }
}

extension AsyncBatchInsertRequest: Sendable where Rows: Sendable {}
