public import TandemModel
import TandemWire

/// Inserts an object for each row of an asynchronous sequence; see ``BatchInsertRequest``.
///
///     let rows = FileHandle.standardInput.bytes.lines.map { BatchValues(["name": .string($0)]) }
///     try await context.execute(AsyncBatchInsertRequest(entity: "Team", rows: rows))
///
/// At most 2,001 rows are held at a time: two chunks and one row.
public struct AsyncBatchInsertRequest<Rows: AsyncSequence> where Rows.Element == BatchValues {
    /// The entity's name.
    public var entity: String
    /// The values of each object; relationships may refer to existing objects only.
    public var rows: Rows
    /// The policy for a row whose unique values an existing object already has.
    public var policy: MergePolicy

    /// Creates a request that inserts objects of an entity.
    public init(entity: String, rows: Rows, policy: MergePolicy = .error) {
        self.entity = entity
        self.rows = rows
        self.policy = policy
    }
}

extension AsyncBatchInsertRequest: Sendable where Rows: Sendable {}

extension ManagedObjectContext {
    /// Inserts an object for each row as it arrives, without blocking the actor.
    ///
    /// Works like a ``BatchInsertRequest``. If the sequence throws an error, the rows already sent
    /// are inserted and merged, and the error is rethrown. Rows that arrived after the last sent
    /// chunk are not inserted.
    @discardableResult
    public func execute<Rows>(
        _ request: AsyncBatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil
    ) async throws -> BatchResult {
        try await execute(request, id: id, author: author, refusing: nil)
    }

    /// Inserts an object for each row as it arrives, and skips rejected rows.
    ///
    /// `refusing` receives the rejected rows, as indexes among all rows with their errors, before
    /// any later row is inserted. To repeat the batch, leave out the rejected rows. `numbering`
    /// receives the object numbers of each chunk before the chunk is sent. A chunk that is sent
    /// again may get other numbers.
    @discardableResult
    package func execute<Rows>(
        _ request: AsyncBatchInsertRequest<Rows>, id: [UInt8]? = nil, author: String? = nil,
        refusing: (([(row: Int, error: TandemError)]) throws -> Void)?,
        numbering: (([(row: Int, number: ObjectNumber)]) throws -> Void)? = nil
    ) async throws -> BatchResult {
        let idBytes = batchID(id)
        _ = try await connectedSession(suspendingCalls)
        let work = inserting(
            request.entity, request.policy, idBytes, mayBeRepeat: id != nil, author,
            refusing: refusing, numbering: numbering)
        do {
            try await insert(request.rows, work)
        } catch {
            // Chunks in flight when the sequence threw are inserted as well.
            await suspendingCalls.receiveAll(of: work)
            // A failure to merge is ignored: the original error is the one to report.
            _ = try? await finish(work, error as? TandemError ?? TandemError(.usage, "\(error)"))
            guard let error = error as? TandemError else { throw error }
            throw connection.failure(error, of: work)
        }
        return try await finish(work, nil)
    }

    /// Returns the number of rows that the daemon has inserted for a batch id.
    ///
    /// Returns 0 if the batch has not begun. Throws `usage` if the id was used for something else.
    package func insertedRows(
        _ entity: String, _ policy: MergePolicy, id: [UInt8]
    ) async throws -> Int {
        _ = try await connectedSession(suspendingCalls)
        let work = inserting(entity, policy, batchID(id), mayBeRepeat: true, nil)
        while work.isUnsettled { try await suspendingCalls.sendChunk(of: work) }
        return work.knownRows
    }

    private func insert<Rows: AsyncSequence>(
        _ rows: Rows, _ work: BatchInsertSender
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
            if !work.isDone { try await suspendingCalls.sendChunk(of: work) }
        }
    }

    /// Merges the inserted objects, and traces the batch like a save.
    @discardableResult
    private func finish(
        _ work: BatchInsertSender, _ error: TandemError?
    ) async throws -> BatchResult {
        let calls = suspendingCalls
        return try await merging("insert", work.entity, calls) {
            _ = try await calls.session()
            if let error { throw connection.failure(error, of: work) }
            return try connection.result(work)
        }
    }
}
