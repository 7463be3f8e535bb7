import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// A waiting or running batch delete or update: the objects it found, and its progress.
///
/// First, a search finds the objects in a snapshot of the store. Then they are processed in
/// transactions, in the order of their references. Each transaction records the progress
/// (``BatchProgress``), and a retried batch searches after the recorded reference.
///
/// Before an object is processed, it is evaluated again if another client has changed it since the
/// search, and skipped if it no longer matches or was deleted. If the evaluation takes too long, a
/// reader does it. A change that the batch itself made to a later object, at the other end of a
/// link, does not cause that object to be skipped.
///
/// State:
/// - `search`: the read that searches for the objects, or evaluates some of them again.
/// - `found`: the objects found, the index of the first one not yet processed, and the batch's own
///   changes to them.
/// - `reevaluation`: objects that a reader must evaluate before the next transaction is planned.
/// - `pending`: the transaction in the batch of saves being built; it takes effect once it is
///   durable.
final class BatchChangeTask: BatchTask {
    let session: Session
    let id: UInt32
    let batch: Batch
    let principal: Principal
    /// The approximate size of the request's message in bytes.
    let bytes: Int
    /// The progress in memory; progress without an effect may not be durable yet.
    private(set) var progress = BatchProgress()
    /// The position of the batch's last durable transaction.
    private var position: UInt64?
    private var predicate: BatchPredicate?
    /// The position of the model for which the batch was compiled; nil before its first turn.
    private var modelPosition: UInt64?
    private(set) var search: PendingRead?
    private var found = FoundObjects()
    /// The number of objects in the next transaction.
    private var batchSize = AdaptiveBatchSize()
    private var pending: PlannedBatchTransaction?
    private var reevaluation = Reevaluation()
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

    /// Whether the batch has had its first turn.
    private var hasBegun: Bool { modelPosition != nil }

    /// Whether a search, or an evaluation by a reader, must be started.
    var needsSearch: Bool {
        hasBegun && search == nil && (found.position == nil || reevaluation.isNeeded)
    }

    var isSearching: Bool { search != nil }

    var isOver: Bool { failure != nil || (progress.hasEnded && pending == nil) }

    // MARK: Search

    func advance(
        _ committer: Committer, _ clock: any Clock, atMost most: Int, isAlone: Bool
    ) throws {
        if !hasBegun { try begin(committer, atMost: most) }
        if found.position != nil, !reevaluation.isNeeded {
            try plan(committer, clock, atMost: most)
        }
    }

    /// Begins the batch, or resumes it after the progress recorded under its id.
    private func begin(_ committer: Committer, atMost most: Int) throws {
        batchSize.bound(most)
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
        predicate = try BatchPredicate(batch.request, in: model)
    }

    /// Returns the search to be started.
    func nextSearch(in model: CompiledModel) throws(TandemError) -> BatchSearch {
        try BatchSearch(
            batch, progress, evaluating: reevaluation.isNeeded ? reevaluation.objects : nil,
            in: model)
    }

    /// Stores the read that searches for the objects.
    func begin(_ search: PendingRead) {
        assert(needsSearch, "A batch has one search at a time.")
        self.search = search
    }

    /// Stores the objects found, with the position of the search.
    func accept(_ result: BatchSearch.Result, at position: UInt64) {
        assert(isSearching, "Objects are accepted only from a running search.")
        if reevaluation.isNeeded {
            found.accept(result, of: reevaluation.objects, at: position)
        } else {
            let readsDerived = predicate?.readsDerived ?? false
            found.accept(result.objects, at: position, readsDerived: readsDerived)
        }
        search = nil
        reevaluation.didEnd()
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
    /// A transaction that turns out to be too large is planned again with fewer objects in the next
    /// turn, so that no turn plans more than once.
    private func plan(
        _ committer: Committer, _ clock: any Clock, atMost most: Int
    ) throws {
        try checkModel(committer)
        let began = clock.monotonicNanoseconds
        let (end, selected) = try nextObjects(committer)
        guard !reevaluation.isNeeded else { return }
        do {
            pending = try planNext(selected, upTo: end, committer)
        } catch let error as TandemError {
            guard error.code == .limitExceeded, end - found.next > 1 else { throw error }
            batchSize.halve(end - found.next)
            return
        }
        batchSize.adapt(to: clock.monotonicNanoseconds - began, atMost: most)
    }

    /// Returns the objects of the next transaction that are still selected, and the index of the
    /// first object after the transaction.
    ///
    /// The transaction ends early if evaluating objects again takes too long. If even the first
    /// object takes too long, it is left to a reader.
    private func nextObjects(
        _ committer: Committer
    ) throws -> (end: Int, selected: [ObjectReference]) {
        let evaluator = evaluator(committer)
        var (end, selected) = (found.next, [ObjectReference]())
        let last = min(found.next + batchSize.size, found.count)
        while end < last, let matches = try matches(found[end], evaluator, committer) {
            if matches { selected.append(found[end]) }
            end += 1
        }
        if end == found.next, end < last {
            try leaveToReader(found.objects[end..<last], committer)
        }
        return (end, selected)
    }

    /// Plans and applies the next transaction; returns nil if a reader must evaluate objects first.
    ///
    /// Throws `limitExceeded`, with nothing applied, if the transaction is too large.
    private func planNext(
        _ selected: [ObjectReference], upTo end: Int, _ committer: Committer
    ) throws -> PlannedBatchTransaction? {
        let isAlone = end - found.next == 1
        var pending = PlannedBatchTransaction(next: end, progress: progress)
        if end > found.next { pending.progress.reached = found[end - 1] }
        pending.progress.done += UInt64(selected.count)
        pending.progress.hasEnded = end == found.count
        let plan = try plan(selected, isAlone, committer)
        try evaluateRest(plan.changes, in: &pending, isAlone, committer)
        guard !reevaluation.isNeeded else { return nil }
        let isEnd = pending.progress.hasEnded
        if !plan.changes.isEmpty || (isEnd && position != nil) {
            pending.position = try BatchPlanner(committer).append(
                plan, request([]), pending.progress, by: principal)
        } else if isEnd {
            pending.position = try committer.recordUnchanged(
                batch, pending.progress, by: principal.uid)
            pending.needsCheckpoint = true
        }
        return pending
    }

    /// Plans a transaction; a transaction of one object may be as large as its delete rules
    /// require.
    private func plan(
        _ selected: [ObjectReference], _ isAlone: Bool, _ committer: Committer
    ) throws -> SavePlanner.Plan {
        if selected.isEmpty { return SavePlanner.Plan(changes: [], inserted: [], blobs: []) }
        let most = isAlone ? Int.max : WireLimits.batchObjects
        let plan = try BatchPlanner(committer).plan(request(selected), atMost: most)
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

    private func evaluator(_ committer: Committer) -> ObjectEvaluator? {
        predicate.map { ObjectEvaluator($0, committer) }
    }

    /// Returns whether an object that was found still exists and is still selected; nil if a reader
    /// has to evaluate it.
    private func matches(
        _ object: ObjectReference, _ evaluator: ObjectEvaluator?, _ committer: Committer
    ) throws -> Bool? {
        guard let stored = try stored(object, committer) else { return false }
        switch selection(of: stored, committer) {
        case .excluded: return false
        case .selected: return true
        case .unknown: return try evaluator?.matches(stored) ?? nil
        }
    }

    private func stored(
        _ object: ObjectReference, _ committer: Committer
    ) throws -> Store.Stored? {
        try StoreError.reportingDamage { () throws(StoreError) in
            try committer.store.stored(object)
        }
    }

    private func selection(
        of stored: Store.Stored, _ committer: Committer
    ) -> FoundObjects.Selection {
        found.selection(of: stored, upTo: committer.plannedPosition)
    }

    /// Leaves the objects that must be evaluated again to a reader, up to the limits of one
    /// evaluation.
    ///
    /// Throws `timeout` if too many evaluations had no effect.
    private func leaveToReader(
        _ objects: some Sequence<ObjectReference>, _ committer: Committer
    ) throws {
        try reevaluation.begin()
        for object in objects where reevaluation.hasRoom {
            guard let stored = try stored(object, committer),
                selection(of: stored, committer) == .unknown
            else { continue }
            reevaluation.add(stored)
        }
        assert(reevaluation.isNeeded, "At least one object has to be evaluated.")
    }

    /// Evaluates the later objects that this transaction is about to change.
    ///
    /// After the transaction, changes by other clients can't be distinguished from the batch's own.
    /// Selected objects that a cascade deletes are counted now. If the evaluation takes too long,
    /// throws `limitExceeded`; for a transaction of one object, leaves the objects to a reader
    /// instead.
    private func evaluateRest(
        _ changes: [Change], in pending: inout PlannedBatchTransaction, _ isAlone: Bool,
        _ committer: Committer
    ) throws {
        let evaluator = evaluator(committer)
        let rest = changes.filter {
            $0.kind != .insert && found.contains($0.object, from: pending.next)
        }
        for change in rest {
            let object = change.object
            guard let matches = try matches(object, evaluator, committer) else {
                if isAlone { return try leaveToReader(rest.map(\.object), committer) }
                throw TandemError(
                    .limitExceeded, "evaluating the transaction's objects again takes too long")
            }
            if change.kind == .delete {
                if matches { pending.progress.done += 1 }
            } else if !matches {
                pending.excluded.append(object)
            } else if predicate?.readsDerived ?? false {
                pending.derived.append(object)
            }
        }
    }

    // MARK: Durability

    func didCommit(unless checkpointError: TandemError?) {
        guard let pending else { return }
        self.pending = nil
        reevaluation.didCommit()
        if pending.needsCheckpoint, let checkpointError { return fail(checkpointError) }
        found.didCommit(pending)
        progress = pending.progress
        position = pending.position ?? position
    }

    func fail(_ error: TandemError) {
        (pending, search) = (nil, nil)
        reevaluation.didEnd()
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
struct PlannedBatchTransaction {
    /// The index of the first object after the transaction.
    var next: Int
    /// The batch's progress after the transaction.
    var progress: BatchProgress
    /// The position of the transaction, or that of the answer; nil if there is no effect.
    var position: UInt64?
    /// Whether the result is recorded only by the next checkpoint.
    var needsCheckpoint = false
    /// Later objects that are no longer selected.
    var excluded: [ObjectReference] = []
    /// Later selected objects whose derived values this transaction may change.
    var derived: [ObjectReference] = []
}
