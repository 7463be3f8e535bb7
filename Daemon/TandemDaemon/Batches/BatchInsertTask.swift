import TandemIO
import TandemModel
import TandemWire

/// A running chunk of a batch insert: its rows, and the progress of the batch.
///
/// The record under the batch's id contains the number of rows processed and their hash. These rows
/// are skipped. The others are inserted in transactions, each of which records the progress.
///
/// If a transaction fails, each of its rows is evaluated separately
/// (``BatchPlanner/refusals(of:)``). All rows before the first impossible one are inserted, however
/// the chunk was split. If no single row causes the error, such as too many members of another
/// object, transactions of fewer rows are tried, down to one row. If existing objects may replace
/// new ones, a transaction ends before a row with the unique values of an earlier new object.
///
/// State:
/// - `progress`, `hash`: the durable progress of the batch.
/// - `next`: the index of the first row not yet inserted.
/// - `refused`: rows from `next` on that are known to be impossible to insert.
/// - `refusedEnd`: the end of a range of rows from `next` on that can't be inserted together; nil
///   if there is none.
/// - `cuts`: the ascending indexes of rows before which a transaction must end, all greater than
///   `next`.
/// - `pending`: the transaction in the batch of saves being built, or the last of several. It takes
///   effect once it is durable.
final class BatchInsertTask: BatchTask {
    let session: Session
    let id: UInt32
    private let insert: BatchInsert
    private let principal: Principal
    private var hasBegun = false
    private var progress = BatchProgress()
    private var hash: StableHash
    /// The position of the batch's last durable transaction.
    private var position: UInt64?
    private var next = 0
    private var refused: [BatchRefusal] = []
    private var refusedEnd: Int?
    private var cuts: [Int] = []
    private var pending: PlannedInsertTransaction?
    private var failure: TandemError?
    private var hasRefused = false

    init(_ insert: BatchInsert, _ id: UInt32, _ session: Session) {
        self.insert = insert
        self.id = id
        self.session = session
        do {
            principal = try session.client.principal(author: insert.author, context: insert.context)
        } catch {
            // The batch is over; only the error remains to be sent.
            principal = Principal(author: "", context: "", uid: session.peer.uid)
            failure = error
        }
        hash = insert.before
    }

    var isSearching: Bool { false }

    var isOver: Bool {
        failure != nil || (hasBegun && pending == nil && next == insert.rows.count && !owesEnd)
    }

    /// Whether only the end of the batch remains to be recorded.
    private var owesEnd: Bool { insert.isLast && !progress.hasEnded && progress.done > 0 }

    // MARK: Beginning

    func advance(
        _ committer: Committer, _ clock: any Clock, atMost most: Int, isAlone: Bool
    ) throws {
        if !hasBegun { try begin(committer) }
        guard !isOver else { return }
        session.batchSize.bound(most)
        let began = clock.monotonicNanoseconds
        repeat {
            guard try plan(committer, clock, atMost: most) else { return }
            // The transactions share one flush, so other clients wait only once.
        } while isAlone && session.batchSize.isFull && plannedNext < insert.rows.count
            && clock.monotonicNanoseconds - began < DaemonLimits.batchNanoseconds / 2
    }

    /// Begins the chunk, and skips the rows already inserted according to the batch's record.
    private func begin(_ committer: Committer) throws {
        try insert.batchID.checkAsBatchID()
        let (end, overflow) = insert.first.addingReportingOverflow(UInt64(insert.rows.count))
        guard !overflow, end <= UInt64(Int64.max) else {
            throw TandemError(.usage, "a batch cannot have \(insert.first) rows")
        }
        if let known = try BatchPlanner(committer).known(insert, by: principal.uid) {
            try resume(after: known.progress, known.hash, end)
            position = known.position
        } else {
            progress.done = insert.first
        }
        hasBegun = true
    }

    /// Skips the rows that the batch has processed, after checking that they are the same.
    private func resume(
        after known: BatchProgress, _ knownHash: StableHash, _ end: UInt64
    ) throws(TandemError) {
        guard known.done >= insert.first else {
            throw TandemError(
                .usage,
                "the rows begin at \(insert.first), but the batch has only \(known.done) rows; "
                    + "send the rows in between")
        }
        if known.done <= end {
            next = Int(known.done - insert.first)
            guard (next == 0 ? insert.before : insert.rows[next - 1].hash) == knownHash else {
                throw Self.isOther
            }
        } else {
            guard !insert.isLast else { throw Self.isOther }
            next = insert.rows.count
        }
        progress = known
        hash = knownHash
    }

    private static let isOther = TandemError(
        .usage, "this id was used for other rows; choose a new id")

    // MARK: Processing

    /// The index of the first row not yet planned.
    private var plannedNext: Int { pending?.next ?? next }

    /// Plans the next transaction.
    ///
    /// Returns false if the transaction must be planned differently, or in the next turn.
    private func plan(
        _ committer: Committer, _ clock: any Clock, atMost most: Int
    ) throws -> Bool {
        let began = clock.monotonicNanoseconds
        let (start, end) = (plannedNext, sliceEnd)
        if let first = refused.first, index(of: first) == start {
            // The rows planned before it must be durable first.
            if pending == nil { try refuse(refused) }
            return false
        }
        do {
            let (planned, changes) = try plan(start, upTo: end, committer)
            pending = planned
            session.batchSize.adapt(
                to: clock.monotonicNanoseconds - began, end - start, changing: changes, atMost: most
            )
            return true
        } catch let error as TandemError {
            // If transactions were planned in this turn, the error recurs in the next turn.
            guard pending == nil else { return false }
            try tryFewer(than: end - next, because: error, committer)
            if !refused.isEmpty || !cuts.isEmpty {
                let took = clock.monotonicNanoseconds - began
                session.batchSize.adapt(to: took, end - start, changing: end - start, atMost: most)
            }
            return false
        }
    }

    /// Finds the rows that can't be inserted, or reduces the rows of the next transaction.
    ///
    /// Throws the error if there is only one row, or if no row can be at fault.
    private func tryFewer(
        than count: Int, because error: TandemError, _ committer: Committer
    ) throws {
        guard error.isOfRows, count > 0 else { throw error }
        guard count > 1 else {
            try refuse([BatchRefusal(row: insert.first + UInt64(next), error: error)])
            return
        }
        if error.code == .limitExceeded, refusedEnd == nil, refused.isEmpty {
            return session.batchSize.halve(count)
        }
        if error.code == .uniqueness, insert.policy != .error, refusedEnd == nil {
            let rows = insert.rows[next..<(next + count)]
            cuts = try BatchPlanner(committer).cuts(of: request(rows, hash)).map { next + $0 }
            if !cuts.isEmpty { return }
        }
        if refusedEnd == nil, refused.isEmpty {
            refused = try refusals(next..<(next + count), committer)
        } else {
            // The remaining rows also conflict, but only in combination, so the results for single
            // rows no longer hold.
            refused = []
        }
        if refused.isEmpty { refusedEnd = next + count }
    }

    /// Returns the rows of a range that can't be inserted.
    ///
    /// Each row is evaluated as if it followed only those before it that can be inserted.
    private func refusals(
        _ range: Range<Int>, _ committer: Committer
    ) throws -> [BatchRefusal] {
        let rows = insert.rows[range]
        let found = try BatchPlanner(committer).refusals(of: request(rows, hash))
        return zip(range, rows).compactMap { index, row in
            found[row.number].map { BatchRefusal(row: insert.first + UInt64(index), error: $0) }
        }
    }

    private func index(of refusal: BatchRefusal) -> Int { Int(refusal.row - insert.first) }

    /// Ends the chunk at the first of these rows by throwing the row's error; does nothing if there
    /// is none.
    private func refuse(_ rows: [BatchRefusal]) throws(TandemError) {
        refused = rows
        hasRefused = true
        if let first = rows.first { throw first.error }
    }

    /// The end of the next transaction.
    ///
    /// It lies before the first impossible row, or in the middle of rows that can't be inserted
    /// together.
    private var sliceEnd: Int {
        let start = plannedNext
        if let refusedEnd { return start + max(1, (refusedEnd - start) / 2) }
        let end = refused.first.map(index) ?? insert.rows.count
        let cut = cuts.first { $0 > start } ?? end
        return min(start + session.batchSize.size, end, cut)
    }

    /// Plans the rows up to an index as a transaction.
    ///
    /// A transaction is planned even if the rows change nothing, because the journal must record
    /// the progress.
    private func plan(
        _ start: Int, upTo end: Int, _ committer: Committer
    ) throws -> (PlannedInsertTransaction, changes: Int) {
        var pending = PlannedInsertTransaction(
            next: end, progress: pending?.progress ?? progress,
            hash: end > start ? insert.rows[end - 1].hash : pending?.hash ?? hash)
        pending.progress.reached = BatchProgress().reached
        pending.progress.done = insert.first + UInt64(end)
        pending.progress.hasEnded = insert.isLast && end == insert.rows.count
        let request = request(insert.rows[start..<end], pending.hash)
        let plan = try plan(request, end - start, committer)
        pending.position = try BatchPlanner(committer).append(
            plan, request, pending.progress, by: principal)
        return (pending, plan.changes.count)
    }

    /// Plans a transaction; a transaction of one row may be as large as its links require.
    private func plan(
        _ request: SaveRequest, _ count: Int, _ committer: Committer
    ) throws -> SavePlanner.Plan {
        if count == 0 { return SavePlanner.Plan(changes: [], inserted: [], blobs: []) }
        let plan = try BatchPlanner(committer).plan(request, atMost: .max)
        guard count == 1 || plan.changes.count <= WireLimits.batchObjects else {
            throw TandemError(
                .limitExceeded, "the rows change more than \(WireLimits.batchObjects) objects")
        }
        return plan
    }

    private func request(_ rows: ArraySlice<BatchInsert.Row>, _ hash: StableHash) -> SaveRequest {
        let operations = rows.map { row -> SaveOperation in
            .insert(
                object: ObjectReference(tag: insert.entity, number: row.number),
                values: row.values, links: row.links)
        }
        return SaveRequest(
            saveID: insert.batchID, contentHash: hash, policy: insert.policy,
            modelVersion: insert.modelVersion, operations: operations)
    }

    // MARK: Durability

    func didCommit(unless checkpointError: TandemError?) {
        guard let pending else { return }
        self.pending = nil
        next = pending.next
        if next >= refusedEnd ?? .max { refusedEnd = nil }
        cuts.removeAll { $0 <= next }
        progress = pending.progress
        hash = pending.hash
        position = pending.position
    }

    func fail(_ error: TandemError) {
        pending = nil
        failure = error
    }

    func answer(at last: UInt64) -> DaemonMessage? {
        guard isOver else { return nil }
        if !hasBegun, let failure { return .failure(failure) }
        return .inserted(
            BatchInsertAnswer(
                position: position ?? last, rows: progress.done, hash: hash,
                hasEnded: progress.hasEnded, failure: failure,
                failedRow: hasRefused ? refused.first?.row : nil,
                refused: hasRefused && insert.namesRefused ? refused : []))
    }
}

/// Rows of a chunk that are planned as a transaction.
private struct PlannedInsertTransaction {
    /// The index of the first row after the transaction.
    var next: Int
    /// The batch's progress after the transaction.
    var progress: BatchProgress
    /// The hash of all rows processed up to the end of the transaction.
    var hash: StableHash
    var position: UInt64 = 0
}

extension TandemError {
    /// Whether single rows may have caused the error, so that others can be inserted.
    fileprivate var isOfRows: Bool {
        switch code {
        case .usage, .unknownEntity, .unknownProperty, .validation, .conflict, .uniqueness,
            .deleteDenied, .unknownObject, .limitExceeded:
            true
        default: false
        }
    }
}
