import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// A batch that waits for its turn, or is being worked off: which objects it found, and how far it came.
///
/// Its objects are looked for first, and are those of the position at which that ends; then they are worked off in transactions, in the
/// order of their references, each of which says how far it came (``BatchProgress``). A batch that is repeated looks behind that. An object
/// that others changed since it was found is judged again by its predicate, one that is gone is left out; what the batch itself
/// changed in objects to come, as the other ends of links, is no reason to leave them out.
///
/// State:
/// - `search`: the read that looks for the objects.
/// - `found`, `next`: the objects, and the first that is not done.
/// - `part`: what is in the batch of saves that is being built, and counts once that is durable.
/// - `own`: the positions of its transactions since it looked.
final class BatchRun: BatchWork {
    let session: Session
    let id: UInt32
    let batch: Batch
    let principal: Principal
    /// About the bytes of its message.
    let bytes: Int
    /// How far it came, in memory: what had no effect may not be durable yet.
    private(set) var progress = BatchProgress()
    /// The position of its last durable transaction.
    private var position: UInt64?
    /// Whether its turn has come.
    private var hasBegun = false
    private var compiled: CompiledRequest?
    private var modelPosition: UInt64 = 0
    private(set) var search: PendingRead?
    private var found: [ObjectReference] = []
    private var foundAt: UInt64?
    private var next = 0
    private var own: Set<UInt64> = []
    /// What others changed so that it is no longer meant, before the batch itself changed it.
    private var excluded: Set<ObjectReference> = []
    /// Objects to come that are meant whatever their derived values say, as the batch itself may have changed these.
    private var derived: Set<ObjectReference> = []
    /// How many objects a transaction may have at most, and how many the next one has.
    private var most = WireLimits.batchObjects
    private var pace = BatchPace()
    private var part: BatchPart?
    /// How many objects, and related ones, were looked at to judge again what others changed, for the next part.
    private var judged = 0
    /// Why it can't go on.
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

    /// Whether its objects have to be looked for.
    var seeks: Bool { hasBegun && foundAt == nil && search == nil }

    var isSearching: Bool { search != nil }

    var isOver: Bool { failure != nil || (progress.hasEnded && part == nil) }

    // MARK: Looking

    func advance(
        _ committer: Committer, _ clock: any Clock, atMost most: Int, isAlone: Bool
    ) throws {
        if !hasBegun { try begin(committer, atMost: most) }
        if foundAt != nil { try plan(committer, clock) }
    }

    /// Takes its turn: what is known under its id by now says where it goes on.
    private func begin(_ committer: Committer, atMost most: Int) throws {
        hasBegun = true
        self.most = most
        pace.bound(most)
        modelPosition = committer.store.modelPosition
        if let known = try committer.known(batch, by: principal.uid) {
            position = known.position
            progress = known.batch ?? progress
        }
        // What it came to is the same under any model.
        guard !progress.hasEnded else { return }
        guard let model = committer.store.model else {
            throw TandemError(.schemaMismatch, "the store has no model yet; apply one first")
        }
        try model.check(slotsOf: batch.modelVersion, "the batch", "go on with it")
        compiled = try CompiledRequest(batch.request, in: model)
    }

    /// Notes that a read looks for its objects.
    func begin(_ search: PendingRead) { self.search = search }

    /// Takes the objects that were found at a position.
    func take(_ found: [ObjectReference], at position: UInt64) {
        (self.found, foundAt, search) = (found, position, nil)
    }

    /// Ends it if its search failed.
    func fail(_ error: TandemError, of search: PendingRead) {
        if self.search === search { fail(error) }
    }

    /// What was found, and the predicate, are of the model that there was.
    private func checkModel(_ committer: Committer) throws(TandemError) {
        guard committer.store.modelPosition == modelPosition else {
            throw TandemError(
                .schemaMismatch, "the model changed while the batch was under way; go on with it")
        }
    }

    // MARK: Working

    /// Plans the next transaction into the batch of saves that is being built.
    ///
    /// One that turns out too large is planned with fewer objects in the next turn, so that none plans more than once.
    private func plan(_ committer: Committer, _ clock: any Clock) throws {
        try checkModel(committer)
        let began = clock.monotonicNanoseconds
        let (end, meant) = try nextObjects(committer)
        do {
            part = try nextPart(meant, upTo: end, committer)
        } catch let error as TandemError {
            guard error.code == .limitExceeded, end - next > 1 else { throw error }
            pace.halve(end - next)
            return
        }
        pace.note(clock.monotonicNanoseconds - began, atMost: most)
    }

    /// The objects of the next part that are still meant, and where it ends: earlier where it takes long to judge them again.
    private func nextObjects(
        _ committer: Committer
    ) throws -> (end: Int, meant: [ObjectReference]) {
        judged = 0
        var (end, meant) = (next, [ObjectReference]())
        let last = min(next + pace.size, found.count)
        while end < last, end == next || judged < committer.limits.sliceReads {
            if try isMeant(found[end], committer) { meant.append(found[end]) }
            end += 1
        }
        return (end, meant)
    }

    /// The next part, which is planned.
    ///
    /// Throws `limitExceeded`, with nothing applied, for one that is too large.
    private func nextPart(
        _ meant: [ObjectReference], upTo end: Int, _ committer: Committer
    ) throws -> BatchPart {
        let isAlone = end - next == 1
        var part = BatchPart(next: end, progress: progress)
        if end > next { part.progress.reached = found[end - 1] }
        part.progress.done += UInt64(meant.count)
        part.progress.hasEnded = end == found.count
        let plan = try plan(meant, isAlone, committer)
        try note(plan.changes, in: &part, isAlone, committer)
        let isEnd = part.progress.hasEnded
        if !plan.changes.isEmpty || (isEnd && position != nil) {
            part.position = try committer.append(plan, request([]), part.progress, by: principal)
        } else if isEnd {
            part.position = try committer.end(batch, part.progress, by: principal.uid)
            part.needsKeeping = true
        }
        return part
    }

    /// Plans a transaction; one of one object is as large as its delete rules say.
    private func plan(
        _ meant: [ObjectReference], _ isAlone: Bool, _ committer: Committer
    ) throws -> SavePlanner.Plan {
        if meant.isEmpty { return SavePlanner.Plan(changes: [], inserted: [], blobs: []) }
        let most = isAlone ? Int.max : WireLimits.batchObjects
        let plan = try committer.plan(request(meant), atMost: most)
        guard plan.changes.count <= most else {
            throw TandemError(.limitExceeded, "the part changes more than \(most) objects")
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

    // MARK: What others changed

    /// Whether an object that was found is still there and still meant.
    private func isMeant(_ object: ObjectReference, _ committer: Committer) throws -> Bool {
        let store = committer.store
        let row = try committer.readable { () throws(StoreError) in try store.stored(object) }
        guard let stored = row, !excluded.contains(object) else { return false }
        // What only the batch changed is still what was found.
        if stored.version > foundAt ?? 0, !own.contains(stored.version) {
            return try matches(stored, committer)
        }
        // A derived value changes without the row's version.
        guard readsDerived, !derived.contains(object) else { return true }
        return try matches(stored, committer)
    }

    /// Whether the predicate reads derived values of the objects themselves.
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
        if let refusal = budget.refusal { try committer.telling { throw refusal } }
        throw TandemError(
            .storage,
            "the store could not be read while judging an object; run `tandem check`")
    }

    /// Judges objects to come that the batch itself is about to change: afterwards it can't be told what others did.
    ///
    /// Those that are deleted along count now, as far as they were meant.
    private func note(
        _ changes: [Change], in part: inout BatchPart, _ isAlone: Bool, _ committer: Committer
    ) throws {
        let most = 2 * committer.limits.sliceReads
        for change in changes {
            let object = change.object
            guard change.kind != .insert, isToCome(object, from: part.next) else { continue }
            let isMeant = try isMeant(object, committer)
            guard isAlone || judged < most else {
                throw TandemError(.limitExceeded, "judging again looks at more than \(most)")
            }
            if change.kind == .delete {
                if isMeant { part.progress.done += 1 }
            } else if !isMeant {
                part.excluded.append(object)
            } else if readsDerived {
                part.derived.append(object)
            }
        }
    }

    private func isToCome(_ object: ObjectReference, from start: Int) -> Bool {
        var range = start..<found.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if found[middle] == object { return true }
            range =
                found[middle] < object
                ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
        }
        return false
    }

    // MARK: Durability

    func settle(unless unkept: TandemError?) {
        guard let part else { return }
        self.part = nil
        if part.needsKeeping, let unkept { return fail(unkept) }
        next = part.next
        progress = part.progress
        excluded.formUnion(part.excluded)
        derived.formUnion(part.derived)
        guard let position = part.position else { return }
        self.position = position
        own.insert(position)
    }

    func fail(_ error: TandemError) {
        part = nil
        search = nil
        found = []
        failure = error
    }

    func answer(at last: UInt64) -> DaemonMessage? {
        guard isOver else { return nil }
        if progress.done == 0, let failure { return .failure(failure) }
        return .batched(
            Batched(position: position ?? last, count: progress.done, failure: failure))
    }
}

/// A part of a batch that is planned.
struct BatchPart {
    /// The first of what was found that comes behind it.
    var next: Int
    /// How far the batch has come with it.
    var progress: BatchProgress
    /// The position of its transaction, or which the answer names; nil for a part without effect.
    var position: UInt64?
    /// Whether it is remembered by the next checkpoint alone.
    var needsKeeping = false
    /// Objects to come that are no longer meant.
    var excluded: [ObjectReference] = []
    /// Objects to come that are meant, and whose derived values may be the batch's from now on.
    var derived: [ObjectReference] = []
}
