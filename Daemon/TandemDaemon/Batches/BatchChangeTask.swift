import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// A waiting or running batch delete or update: the objects it found, and its progress.
///
/// First a search finds the objects as they are at the position where it ends. Then they are
/// processed in transactions, in the order of their references. Each transaction records the
/// progress (``BatchProgress``), and a retried batch searches after the recorded reference.
///
/// Before an object is processed, it is evaluated again if another client has changed it since the
/// search, and skipped if it no longer matches or was deleted. A change that the batch itself made
/// to a later object, at the other end of a link, does not cause that object to be skipped.
///
/// State:
/// - `search`: the read that searches for the objects.
/// - `found`: the objects, the first one not processed, and the batch's own changes to them.
/// - `part`: the transaction in the batch of saves being built; it takes effect once it is durable.
final class BatchChangeTask: BatchTask {
    let session: Session
    let id: UInt32
    let batch: Batch
    let principal: Principal
    /// The approximate size of its message in bytes.
    let bytes: Int
    /// The progress in memory; progress without an effect may not be durable yet.
    private(set) var progress = BatchProgress()
    /// The position of its last durable transaction.
    private var position: UInt64?
    private var compiled: CompiledRequest?
    /// The position of the model for which the batch was compiled; nil before its first turn.
    private var modelPosition: UInt64?
    private(set) var search: PendingRead?
    private var found = FoundObjects()
    /// The number of objects in the next transaction.
    private var pace = AdaptiveBatchSize()
    private var part: BatchPart?
    /// The number of objects read to evaluate changed objects again for the next transaction.
    private var judged = 0
    /// The error that ended the batch.
    private var failure: TandemError?

    init(_ batch: Batch, _ id: UInt32, _ session: Session, _ principal: Principal) {
        self.batch = batch
        self.id = id
        self.session = session
        self.principal = principal
        var writer = ByteWriter()
        batch.encode(into: &writer)
        bytes = writer.count
    }

    /// Whether its turn has come.
    private var hasBegun: Bool { modelPosition != nil }

    /// Whether its search must be started.
    var seeks: Bool { hasBegun && found.position == nil && search == nil }

    var isSearching: Bool { search != nil }

    var isOver: Bool { failure != nil || (progress.hasEnded && part == nil) }

    // MARK: Search

    func advance(
        _ committer: Committer, _ clock: any Clock, atMost most: Int, isAlone: Bool
    ) throws {
        if !hasBegun { try begin(committer, atMost: most) }
        if found.position != nil { try plan(committer, clock, atMost: most) }
    }

    /// Begins the batch, or resumes it after the progress recorded under its id.
    private func begin(_ committer: Committer, atMost most: Int) throws {
        pace.bound(most)
        modelPosition = committer.store.modelPosition
        if let known = try BatchPlanner(committer).known(batch, by: principal.uid) {
            position = known.position
            progress = known.batch ?? progress
        }
        // The result of a completed batch doesn't depend on the model.
        guard !progress.hasEnded else { return }
        guard let model = committer.store.model else {
            throw TandemError.noModel()
        }
        try model.check(slotsOf: batch.modelVersion, "the batch", "continue it")
        compiled = try CompiledRequest(batch.request, in: model)
    }

    /// Stores the read that searches for the objects.
    func begin(_ search: PendingRead) {
        assert(seeks, "A batch searches for its objects once.")
        self.search = search
    }

    /// Stores the objects found, with the position of the search.
    func accept(_ found: [ObjectReference], at position: UInt64) {
        assert(isSearching, "Only a search finds objects.")
        self.found.accept(found, at: position)
        search = nil
    }

    /// Checks that the model is still the one for which the objects were found and the predicate
    /// compiled.
    private func checkModel(_ committer: Committer) throws(TandemError) {
        guard committer.store.modelPosition == modelPosition else {
            throw TandemError(
                .schemaMismatch, "the model changed during the batch; continue it")
        }
    }

    // MARK: Processing

    /// Plans the next transaction and adds it to the batch of saves being built.
    ///
    /// A transaction that turns out too large is planned again with fewer objects in the next turn,
    /// so that no turn plans more than once.
    private func plan(
        _ committer: Committer, _ clock: any Clock, atMost most: Int
    ) throws {
        try checkModel(committer)
        let began = clock.monotonicNanoseconds
        let (end, meant) = try nextObjects(committer)
        do {
            part = try nextPart(meant, upTo: end, committer)
        } catch let error as TandemError {
            guard error.code == .limitExceeded, end - found.next > 1 else { throw error }
            pace.halve(end - found.next)
            return
        }
        pace.adapt(to: clock.monotonicNanoseconds - began, atMost: most)
    }

    /// Returns the objects of the next transaction that are still selected, and its end index.
    ///
    /// The transaction ends early if evaluating objects again reads too many objects.
    private func nextObjects(
        _ committer: Committer
    ) throws -> (end: Int, meant: [ObjectReference]) {
        judged = 0
        var (end, meant) = (found.next, [ObjectReference]())
        let last = min(found.next + pace.size, found.count)
        while end < last, end == found.next || judged < committer.limits.sliceReads {
            if try matches(found[end], committer) { meant.append(found[end]) }
            end += 1
        }
        return (end, meant)
    }

    /// Plans and applies the next transaction.
    ///
    /// Throws `limitExceeded`, with nothing applied, if it is too large.
    private func nextPart(
        _ meant: [ObjectReference], upTo end: Int, _ committer: Committer
    ) throws -> BatchPart {
        let isAlone = end - found.next == 1
        var part = BatchPart(next: end, progress: progress)
        if end > found.next { part.progress.reached = found[end - 1] }
        part.progress.done += UInt64(meant.count)
        part.progress.hasEnded = end == found.count
        let plan = try plan(meant, isAlone, committer)
        try evaluateRest(plan.changes, in: &part, isAlone, committer)
        let isEnd = part.progress.hasEnded
        if !plan.changes.isEmpty || (isEnd && position != nil) {
            part.position = try BatchPlanner(committer).append(
                plan, request([]), part.progress, by: principal)
        } else if isEnd {
            part.position = try committer.recordUnchanged(batch, part.progress, by: principal.uid)
            part.needsKeeping = true
        }
        return part
    }

    /// Plans a transaction; a transaction of one object may be as large as its delete rules
    /// require.
    private func plan(
        _ meant: [ObjectReference], _ isAlone: Bool, _ committer: Committer
    ) throws -> SavePlanner.Plan {
        if meant.isEmpty { return SavePlanner.Plan(changes: [], inserted: [], blobs: []) }
        let most = isAlone ? Int.max : WireLimits.batchObjects
        let plan = try BatchPlanner(committer).plan(request(meant), atMost: most)
        guard plan.changes.count <= most else {
            throw TandemError(.limitExceeded, "the chunk changes more than \(most) objects")
        }
        return plan
    }

    private func request(_ objects: [ObjectReference]) -> SaveRequest {
        let operations = objects.map { object -> SaveOperation in
            switch batch.work {
            case .delete: return .delete(object: object, baseVersion: 0)
            case .update(let values):
                let values = values.map { SaveValue(slot: $0.slot, value: $0.value) }
                return .update(object: object, baseVersion: 0, values: values, links: [])
            }
        }
        return SaveRequest(
            saveID: batch.batchID, contentHash: batch.contentHash,
            modelVersion: batch.modelVersion, operations: operations)
    }

    // MARK: Changes by other clients

    /// Whether an object that was found still exists and is still selected.
    private func matches(_ object: ObjectReference, _ committer: Committer) throws -> Bool {
        let store = committer.store
        let row = try StoreError.reportingDamage { () throws(StoreError) in
            try store.stored(object)
        }
        guard let stored = row else { return false }
        switch found.selection(of: object, version: stored.version) {
        case .excluded: return false
        case .changed: return try matches(stored, committer)
        // A derived value can change without a new version of the row.
        case .found: return try !readsDerived || matches(stored, committer)
        case .derived: return true
        }
    }

    /// Whether the predicate reads derived values of the batch's own objects.
    private var readsDerived: Bool {
        guard let compiled, !compiled.entity.derivations.isEmpty else { return false }
        return compiled.paths.contains { path in
            path.hops.isEmpty
                && compiled.entity.derivations.contains { $0.slot == path.final?.slot }
        }
    }

    private func matches(_ stored: Store.Stored, _ committer: Committer) throws -> Bool {
        guard let compiled else { return false }
        let budget = committer.store.readBudget()
        defer { judged += 1 + budget.spent }
        budget.beginObject()
        let reader = StoreReader(committer.store, budget: budget)
        if let matches = compiled.matches(stored.object, stored.row, reader) { return matches }
        if let refusal = budget.refusal {
            try StoreError.mappingReadErrors(committer) { throw refusal }
        }
        throw TandemError(
            .storage,
            "the store could not be read while an object was evaluated; run `tandem check`")
    }

    /// Evaluates the later objects that this transaction is about to change.
    ///
    /// Afterwards, changes by other clients can't be distinguished from the batch's own. Selected
    /// objects that a cascade deletes are counted now.
    private func evaluateRest(
        _ changes: [Change], in part: inout BatchPart, _ isAlone: Bool, _ committer: Committer
    ) throws {
        let most = 2 * committer.limits.sliceReads
        for change in changes {
            let object = change.object
            guard change.kind != .insert, found.contains(object, from: part.next) else { continue }
            let matches = try matches(object, committer)
            guard isAlone || judged < most else {
                throw TandemError(
                    .limitExceeded, "evaluating objects again reads more than \(most)")
            }
            if change.kind == .delete {
                if matches { part.progress.done += 1 }
            } else if !matches {
                part.excluded.append(object)
            } else if readsDerived {
                part.derived.append(object)
            }
        }
    }

    // MARK: Durability

    func didCommit(unless unkept: TandemError?) {
        guard let part else { return }
        self.part = nil
        if part.needsKeeping, let unkept { return fail(unkept) }
        found.didCommit(part)
        progress = part.progress
        position = part.position ?? position
    }

    func fail(_ error: TandemError) {
        part = nil
        search = nil
        found.removeAll()
        failure = error
    }

    func answer(at last: UInt64) -> DaemonMessage? {
        guard isOver else { return nil }
        if progress.done == 0, let failure { return .failure(failure) }
        return .batched(
            BatchAnswer(position: position ?? last, count: progress.done, failure: failure))
    }
}

/// A planned transaction of a batch.
struct BatchPart {
    /// The index of the first object after it.
    var next: Int
    /// The batch's progress after it.
    var progress: BatchProgress
    /// The position of its transaction, or the position for the answer; nil if it has no effect.
    var position: UInt64?
    /// Whether its result is recorded only by the next checkpoint.
    var needsKeeping = false
    /// Later objects that are no longer selected.
    var excluded: [ObjectReference] = []
    /// Later selected objects whose derived values this transaction may change.
    var derived: [ObjectReference] = []
}
