import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// A batch that is being worked off: which objects it found, how far it came, and what is not durable yet.
///
/// Its objects are looked for first, and are those of the position at which that ends; then they are worked off in transactions, in order. One
/// that others changed since is judged again by its predicate, one that is gone is left out; what the batch itself
/// changed in objects to come, as the other ends of links, is no reason to leave them out.
///
/// State:
/// - `search`: what looks for the objects, in steps between the saves of others.
/// - `found`, `next`: the objects, and the first that is not done.
/// - `part`: what is in the batch of saves that is being built, and counts once that is durable.
/// - `own`: the positions of its transactions, those before a repetition included.
final class BatchRun {
    let session: Session
    let id: UInt32
    let batch: Batch
    let principal: Principal
    private let compiled: CompiledRequest
    /// The position of its last durable transaction.
    private(set) var position: UInt64?
    /// How many objects are done and durable.
    private(set) var done: UInt64
    private var own: Set<UInt64>
    /// Where a repetition goes on; nil for one that begins.
    private let resumedAt: UInt64?
    private var search: ReadUnderWay?
    private var found: [ObjectReference] = []
    private var foundAt: UInt64?
    private var next = 0
    /// How many objects the next transaction may have.
    private var size = DaemonLimits.firstBatchObjects
    private var part: (count: Int, next: Int, position: UInt64?)?
    /// The position that its answer names, once its end is in the batch of saves that is being built.
    private(set) var end: UInt64?
    /// Why it can't go on.
    var failure: TandemError?

    init(
        _ batch: Batch, _ id: UInt32, _ session: Session, _ principal: Principal,
        _ compiled: CompiledRequest, _ known: Committer.Known
    ) {
        self.batch = batch
        self.id = id
        self.session = session
        self.principal = principal
        self.compiled = compiled
        position = known.position
        done = known.done
        own = known.positions
        resumedAt = known.position
    }

    /// Whether its objects have been looked for.
    var isFound: Bool { foundAt != nil }

    // MARK: Looking

    /// Goes on looking for the objects, in the store as it is durable, as far as one step goes.
    ///
    /// Throws ``TandemError`` for more than a batch may have and for what can't be read.
    func search(_ committer: Committer) throws {
        let limits = committer.limits
        let search = try self.search ?? read(committer)
        self.search = search
        var budget = limits.sliceReads
        let isDone = try Answerer.telling { try search.step(committer, &budget) }
        guard search.cursor.bytes <= limits.readBytes else {
            throw committer.limitCounts.refusal(
                .readBytes, limits, "the batch's search holds \(search.cursor.bytes) bytes")
        }
        guard isDone else { return }
        found = try Answerer.telling { try search.cursor.result().references }
        foundAt = committer.position
        self.search = nil
        guard found.count <= limits.batchObjects else {
            throw committer.limitCounts.refusal(
                .batchObjects, limits,
                "the batch is about \(found.count) objects; do it in parts, by a narrower "
                    + "predicate or a limit")
        }
    }

    private func read(_ committer: Committer) throws -> ReadUnderWay {
        let fetch = Fetch(request: batch.request, kind: .references)
        return try Answerer.telling {
            try ReadUnderWay(.batch(batch), fetch, id: id, in: compiled.model, committer)
        }
    }

    // MARK: Working

    /// Plans the next transaction into the batch of saves that is being built, or the end when nothing is left.
    func plan(_ committer: Committer, _ clock: any Clock) throws {
        guard next < found.count else {
            end = try committer.end(batch, at: position, done: done, by: principal.uid)
            return
        }
        let began = clock.monotonicNanoseconds
        while part == nil {
            let objects = found[next..<min(next + size, found.count)]
            let meant = try objects.filter { try isMeant($0, committer) }
            let outcome = try begin(meant, isLast: objects.count == 1, committer)
            switch outcome {
            case .tooLarge: size = max(1, objects.count / 2)
            case .unchanged: part = (meant.count, objects.endIndex, nil)
            case .planned(let position): part = (meant.count, objects.endIndex, position)
            }
        }
        pace(clock.monotonicNanoseconds - began)
    }

    /// Plans a transaction; one that is too large is planned anew with fewer objects, unless it has but one.
    private func begin(
        _ meant: [ObjectReference], isLast: Bool, _ committer: Committer
    ) throws -> Committer.Part {
        if meant.isEmpty { return .unchanged }
        do {
            return try committer.begin(
                request(meant), by: principal, atMost: isLast ? .max : WireLimits.batchObjects)
        } catch let error as TandemError {
            guard error.code == .limitExceeded, !isLast else { throw error }
            return .tooLarge
        }
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
            saveID: Batch.saveID(of: batch.batchID, done: done + UInt64(objects.count)),
            contentHash: batch.contentHash, modelVersion: batch.modelVersion,
            operations: operations)
    }

    /// Lets the next transaction have as many objects as it takes to keep to the time.
    private func pace(_ nanoseconds: UInt64) {
        if nanoseconds > DaemonLimits.batchNanoseconds {
            size = max(1, size / 2)
        } else if nanoseconds < DaemonLimits.batchNanoseconds / 2 {
            size = min(size * 2, WireLimits.batchObjects)
        }
    }

    /// Whether an object that was found is still there and still meant.
    private func isMeant(_ object: ObjectReference, _ committer: Committer) throws -> Bool {
        let store = committer.store
        let row = try committer.readable { () throws(StoreError) in try store.stored(object) }
        guard let stored = row else { return false }
        if stored.version > foundAt ?? 0, !own.contains(stored.version) {
            guard try matches(stored, store) else { return false }
        }
        guard let resumedAt, stored.version <= resumedAt else { return true }
        return !isDone(stored)
    }

    private func matches(_ stored: Store.Stored, _ store: Store) throws -> Bool {
        let budget = ReadBudget()
        budget.beginObject()
        let reader = StoreReader(store, budget: budget)
        if let matches = compiled.matches(stored.object, stored.row, reader) { return matches }
        if budget.isExhausted { throw TandemError(.limitExceeded, ReadBudget.message) }
        throw TandemError(
            .storage,
            "the store could not be read while judging "
                + "\(compiled.model.id(of: stored.object)); run `tandem check`")
    }

    /// Whether a batch that is repeated had come to an object before, by all that can be seen: it has the values.
    private func isDone(_ stored: Store.Stored) -> Bool {
        guard case .update(let values) = batch.work,
            let entity = compiled.model.entity(tagged: stored.object.tag)
        else { return false }
        return values.allSatisfy {
            $0.slot < entity.properties.count
                && stored.row.value($0.slot, in: entity) == $0.value.inRow
        }
    }

    // MARK: Durability

    /// Notes that what was planned is durable.
    func settle() {
        guard let part else { return }
        done += UInt64(part.count)
        next = part.next
        if let position = part.position {
            self.position = position
            own.insert(position)
        }
        self.part = nil
    }

    /// Notes that nothing of what was planned happened.
    func fail(_ error: TandemError) {
        part = nil
        end = nil
        failure = error
    }

    /// What its client is told; nil while it goes on.
    func answer(at last: UInt64) -> DaemonMessage? {
        if let failure {
            guard done > 0 else { return .failure(failure) }
            return .batched(Batched(position: position ?? last, count: done, failure: failure))
        }
        return end.map { .batched(Batched(position: $0, count: done)) }
    }
}
