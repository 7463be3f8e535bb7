public import TandemModel
import TandemWire

/// Inserts an object for each row of an asynchronous sequence; see ``BatchInsertRequest``.
///
///     let rows = FileHandle.standardInput.bytes.lines.map { BatchValues(["name": .string($0)]) }
///     try await context.execute(AsyncBatchInsertRequest(entity: "Team", rows: rows))
///
/// No more rows are asked for than two parts have, and one: at most 2,001.
public struct AsyncBatchInsertRequest<Rows: AsyncSequence> where Rows.Element == BatchValues {
    /// The entity's name.
    public var entity: String
    /// What is set in each object; relationships lead to objects that exist.
    public var rows: Rows
    /// What happens where an existing object has the unique values of a row.
    public var policy: MergePolicy

    /// Inserts objects of an entity.
    public init(entity: String, rows: Rows, policy: MergePolicy = .error) {
        self.entity = entity
        self.rows = rows
        self.policy = policy
    }
}

extension AsyncBatchInsertRequest: Sendable where Rows: Sendable {}

extension ManagedObjectContext {
    /// Inserts an object for each row as it comes; the actor is free meanwhile.
    ///
    /// As with a ``BatchInsertRequest``. An error that the sequence itself throws is thrown on, when what was inserted before
    /// is merged; rows that came since the last part was sent are not inserted.
    @discardableResult
    public nonisolated(nonsending) func execute<Rows>(
        _ request: AsyncBatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await execute(request, id: id, author: author, refusing: nil)
    }

    /// Inserts an object for each row as it arrives, and skips rows that are refused.
    ///
    /// `refusing` receives the refused rows, as indexes among all rows with their errors, before any later row is inserted. To repeat
    /// the batch, leave out the refused rows. `numbering` receives the object numbers of each part before the part is sent; a part that
    /// is sent again may get other numbers.
    @discardableResult
    package nonisolated(nonsending) func execute<Rows>(
        _ request: AsyncBatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil,
        refusing: (([(row: Int, error: TandemError)]) throws -> Void)?,
        numbering: (([(row: Int, number: ObjectNumber)]) throws -> Void)? = nil
    ) async throws -> BatchResult {
        let idBytes = batchID(id)
        _ = try await sessionStep().runAsync(on: connection)
        let work = inserting(
            request.entity, request.policy, idBytes, mayBeRepeat: id != nil, author,
            refusing: refusing, numbering: numbering)
        do {
            try await insert(request.rows, work)
        } catch {
            // What the sequence's error left under way is inserted as well.
            try await connection.quietStep(work).runAsync(on: connection)
            // Whether that can be merged now or not: the error says what there is to say.
            _ = try? await finish(work, error as? TandemError ?? TandemError(.usage, "\(error)"))
            guard let error = error as? TandemError else { throw error }
            throw connection.failure(error, of: work)
        }
        return try await finish(work, nil)
    }

    /// How many rows of a batch insert are inserted; none of one that has not begun.
    ///
    /// Throws `usage` for an id that something else has.
    package nonisolated(nonsending) func insertedRows(
        _ entity: String, _ policy: MergePolicy, id: [UInt8]
    ) async throws -> Int {
        _ = try await sessionStep().runAsync(on: connection)
        let work = inserting(entity, policy, batchID(id), mayBeRepeat: true, nil)
        while work.isUnsettled { try await connection.partStep(work).runAsync(on: connection) }
        return work.knownRows
    }

    private nonisolated(nonsending) func insert<Rows: AsyncSequence>(
        _ rows: Rows, _ work: BatchInserting
    ) async throws where Rows.Element == BatchValues {
        var rows = rows.makeAsyncIterator()
        while !work.isDone {
            while work.wantsMore {
                if let row = try await rows.next(isolation: #isolation) {
                    try work.add(row)
                } else {
                    try work.end()
                }
            }
            if !work.isDone { try await connection.partStep(work).runAsync(on: connection) }
        }
    }

    /// Merges what was inserted, and tells of it as of a save.
    @discardableResult
    private nonisolated(nonsending) func finish(
        _ work: BatchInserting, _ error: TandemError?
    ) async throws -> BatchResult {
        let connection = connection
        return try await toldBatch("insert", work.entity) {
            try self.mergedStep {
                .connect { _ in
                    if let error { throw connection.failure(error, of: work) }
                    return .done(try connection.result(work))
                }
            }
        }.runAsync(on: connection)
    }
}
