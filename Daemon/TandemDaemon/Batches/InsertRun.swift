import TandemIO
import TandemModel
import TandemWire

/// A part of a batch insert whose turn it is: its rows, and how far the batch came.
///
/// What is known of the batch, by its id, is how many rows it has come to and what stands for them. Rows up to there are passed over; the
/// others are inserted in transactions, each of which says how far it came. Where rows can't be inserted, fewer of them are tried, until
/// it is one that can't: so all before it are inserted, however the part was cut.
///
/// State:
/// - `progress`, `hash`: how far the batch came, with what is durable.
/// - `next`: the first row of the part that is not inserted.
/// - `refusedEnd`: rows from `next` up to here can't be inserted together.
/// - `part`: what is in the batch of saves that is being built, and counts once that is durable.
final class InsertRun: BatchWork {
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
    private var refusedEnd: Int?
    private var part: InsertPart?
    private var failure: TandemError?
    private var failedRow: UInt64?

    init(_ insert: BatchInsert, _ id: UInt32, _ session: Session) {
        self.insert = insert
        self.id = id
        self.session = session
        principal = session.principal(author: insert.author, context: insert.context)
        hash = insert.before
    }

    /// Its message, which its connection is bounded by, is all that it holds.
    var heldBytes: Int { 0 }
    var seeks: Bool { false }
    var isSearching: Bool { false }
    func search(_ committer: Committer) {}

    var isOver: Bool {
        failure != nil || (hasBegun && part == nil && next == insert.rows.count && !owesEnd)
    }

    /// Whether only the end is missing of what the batch came to.
    private var owesEnd: Bool { insert.isLast && !progress.hasEnded && progress.done > 0 }

    // MARK: Beginning

    func advance(_ committer: Committer, _ clock: any Clock, atMost most: Int) throws {
        if !hasBegun { try begin(committer) }
        guard !isOver else { return }
        session.pace.bound(most)
        try plan(committer, clock, atMost: most)
    }

    /// Takes its turn: what is known under its id by now says which rows are inserted already.
    private func begin(_ committer: Committer) throws {
        try insert.batchID.checkAsBatchID()
        let (end, overflow) = insert.first.addingReportingOverflow(UInt64(insert.rows.count))
        guard !overflow, end <= UInt64(Int64.max) else {
            throw TandemError(.usage, "a batch has no \(insert.first) rows")
        }
        if let known = try committer.known(insert, by: principal.uid) {
            try goOn(behind: known.progress, known.hash, end)
            position = known.position
        } else {
            progress.done = insert.first
        }
        hasBegun = true
    }

    /// Passes over the rows that the batch has come to, if they are the same.
    private func goOn(
        behind known: BatchProgress, _ knownHash: StableHash, _ end: UInt64
    ) throws(TandemError) {
        guard known.done >= insert.first else {
            throw TandemError(
                .usage,
                "the part begins at row \(insert.first), but the batch has come to \(known.done); "
                    + "send what is missing")
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

    // MARK: Working

    private func plan(_ committer: Committer, _ clock: any Clock, atMost most: Int) throws {
        let began = clock.monotonicNanoseconds
        let end = sliceEnd
        do {
            part = try planned(upTo: end, committer)
        } catch let error as TandemError {
            try tryFewer(than: end - next, because: error)
            return
        }
        session.pace.note(clock.monotonicNanoseconds - began, atMost: most)
    }

    /// Has fewer rows planned in the next turn, unless it was one that can't be inserted, or it is no row's fault.
    private func tryFewer(than count: Int, because error: TandemError) throws(TandemError) {
        guard error.isOfRows, count > 0 else { throw error }
        guard count > 1 else {
            failedRow = insert.first + UInt64(next)
            throw error
        }
        if error.code == .limitExceeded, refusedEnd == nil {
            session.pace.halve(count)
        } else {
            refusedEnd = next + count
        }
    }

    /// Where the next transaction ends; in the middle of what can't be inserted together.
    private var sliceEnd: Int {
        if let refusedEnd { return next + max(1, (refusedEnd - next) / 2) }
        return min(next + session.pace.size, insert.rows.count)
    }

    /// The rows up to an index as a transaction, also where they change nothing: that the batch came there has to stand in the journal.
    private func planned(upTo end: Int, _ committer: Committer) throws -> InsertPart {
        var part = InsertPart(
            next: end, progress: progress, hash: end > next ? insert.rows[end - 1].hash : hash)
        part.progress.reached = BatchProgress().reached
        part.progress.done = insert.first + UInt64(end)
        part.progress.hasEnded = insert.isLast && end == insert.rows.count
        let request = request(insert.rows[next..<end], part.hash)
        let plan = try plan(request, end - next, committer)
        part.position = try committer.append(plan, request, part.progress, by: principal)
        return part
    }

    /// Plans a transaction; one of a single row is as large as its links make it.
    private func plan(
        _ request: SaveRequest, _ count: Int, _ committer: Committer
    ) throws -> SavePlanner.Plan {
        if count == 0 { return SavePlanner.Plan(changes: [], inserted: [], blobs: []) }
        let plan = try committer.plan(request, atMost: .max)
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

    func settle(unless unkept: TandemError?) {
        guard let part else { return }
        self.part = nil
        next = part.next
        if next >= refusedEnd ?? .max { refusedEnd = nil }
        progress = part.progress
        hash = part.hash
        position = part.position
    }

    func fail(_ error: TandemError) {
        part = nil
        failure = error
    }

    func answer(at last: UInt64) -> DaemonMessage? {
        guard isOver else { return nil }
        if !hasBegun, let failure { return .failure(failure) }
        return .inserted(
            BatchInserted(
                position: position ?? last, rows: progress.done, hash: hash,
                hasEnded: progress.hasEnded, failure: failure, failedRow: failedRow))
    }
}

/// Some rows of a part that are planned as a transaction.
private struct InsertPart {
    /// The first row that comes behind them.
    var next: Int
    /// How far the batch has come with them.
    var progress: BatchProgress
    /// What stands for all rows up to there.
    var hash: StableHash
    var position: UInt64 = 0
}

extension TandemError {
    /// Whether it may be the fault of single rows, so that others can be inserted.
    fileprivate var isOfRows: Bool {
        switch code {
        case .usage, .unknownEntity, .unknownProperty, .validation, .conflict, .uniqueness,
            .deleteDenied, .unknownObject, .limitExceeded:
            true
        default: false
        }
    }
}
