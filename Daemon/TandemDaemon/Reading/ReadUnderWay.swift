import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// A read that is answered when it has been carried out, in steps between which others save.
///
/// A fetch of what there is, is answered at the position of its last step. What transactions meanwhile may have altered for it, by the
/// rules of verdicts, is judged again before (``FetchCursor``). What is read at an earlier position is answered there: all that happened
/// since is undone (``PastGraph``), and what happens meanwhile as well.
final class ReadUnderWay {
    /// The request's number.
    let id: UInt32
    /// The question: a fetch, verdicts with a fetch beside them, or a read at an earlier position.
    let message: ClientMessage
    /// The fetch; nil where objects are known.
    let fetch: Fetch?
    private let request: CompiledRequest?
    private(set) var cursor: FetchCursor?
    /// The graph at the position that is read; nil for what there is.
    let past: PastGraph?
    /// Up to here transactions were looked through for what they altered.
    private(set) var position: UInt64
    private let model: CompiledModel
    private let modelPosition: UInt64
    private let source: TransactionSource
    /// What the fetch depends on; nil for everything.
    private let tags: Set<EntityTag>?
    /// Whether all that happened before the first step is undone.
    private var hasCaughtUp = false
    /// Whether it forgot what it found and looks at everything anew.
    private var beginsAnew = false
    /// Steps that began with something touched behind the last candidate.
    private var lateSteps = 0
    /// The bytes that are counted for it.
    var countedBytes = 0

    /// Begins, at a position or, if that is 0, with what there is.
    init(
        _ message: ClientMessage, _ fetch: Fetch?, at position: UInt64, id: UInt32,
        in model: CompiledModel, _ committer: Committer
    ) throws {
        self.id = id
        self.message = message
        self.fetch = fetch
        self.model = model
        past = position == 0 ? nil : PastGraph(at: position)
        self.position = position == 0 ? committer.position : position
        modelPosition = committer.store.modelPosition
        source = TransactionSource(committer.journal)
        let request = try fetch.map { try CompiledRequest($0.request, in: model) }
        self.request = request
        // What lies on paths to related objects may be of any entity.
        tags = fetch.flatMap { $0.related.isEmpty || position == 0 ? request?.observedTags : nil }
        cursor = try beginning(committer.store)
    }

    private func beginning(_ store: Store) throws -> FetchCursor? {
        guard let request, let fetch else { return nil }
        return try FetchCursor(request, for: FetchPart(fetch.kind), in: store, past: past)
    }

    /// About the bytes that it holds.
    var bytes: Int { (cursor?.bytes ?? 0) + (past?.window.bytes ?? 0) }

    /// Forgets what was found, so that it holds nothing until its next step begins anew; false if it can't.
    func forget(_ committer: Committer) -> Bool {
        // To look back needs transactions that may be gone by then.
        guard past == nil else { return false }
        cursor = nil
        beginsAnew = true
        lateSteps = 0
        position = committer.position
        return true
    }

    /// Goes on until a budget is used up; true when it is done, at the committer's position.
    ///
    /// What a longer step takes beyond the budget leaves it below nothing.
    func step(_ committer: Committer, _ budget: inout Int) throws -> Bool {
        guard committer.store.modelPosition == modelPosition else {
            throw TandemError(
                .schemaMismatch, "the model changed while the read was carried out; read again")
        }
        if beginsAnew {
            cursor = try beginning(committer.store)
            position = committer.position
            beginsAnew = false
        }
        if past == nil { try judgeAgain(committer) } else { try undo(committer, &budget) }
        guard position == committer.position else { return false }
        guard let cursor else { return true }
        guard cursor.isScanned, cursor.hasTouched else { return try cursor.step(&budget) }
        // If others alter more than one step judges again, the steps get longer until they do.
        lateSteps += 1
        let given = budget << min(lateSteps / DaemonLimits.lateSteps, 32)
        var left = given
        let isDone = try cursor.step(&left)
        budget -= given - left
        return isDone
    }

    /// Lets what others saved since the last step be judged again; begins anew when that is too much to look at.
    private func judgeAgain(_ committer: Committer) throws {
        let end = committer.position
        guard position < end, let request else { return }
        defer { position = end }
        guard end - position <= UInt64(committer.limits.verdictTransactions),
            position + 1 >= committer.journal.bounds.first
        else { return cursor = try beginning(committer.store) }
        let window = try TransactionWindow(committer, after: position, model, of: tags)
        cursor?.touch(try VerdictEvaluator(request, window, committer.store).candidates())
    }

    /// Undoes what happened since the position that is read, in steps until it has caught up with the savers.
    private func undo(_ committer: Committer, _ budget: inout Int) throws {
        while position < committer.position, budget > 0 || hasCaughtUp {
            let transaction = try source.transaction(at: position + 1, committer.ring)
            for change in try transaction.changes(of: tags) {
                guard let entity = model.entity(tagged: change.object.tag) else { continue }
                past?.undo(change, entity)
                guard request?.includes(tag: change.object.tag) ?? false else { continue }
                cursor?.touch(CollectionOfOne(change.object))
            }
            position += 1
            // To read a kilobyte takes about as long as to judge an object.
            budget -= 1 + transaction.bytes.count / 1_024
        }
        guard position == committer.position else { return }
        hasCaughtUp = true
        source.rest()
    }
}

extension FetchPart {
    init(_ kind: Fetch.Kind) {
        self =
            switch kind {
            case .count: .count
            case .references: .references
            case .rows: .rows
            }
    }
}

extension CompiledRequest {
    /// The entities of everything that it reads.
    fileprivate var observedTags: Set<EntityTag> {
        var tags = Set(entity.descendants)
        for hop in paths.flatMap(\.hops) {
            for tag in [hop.owner, hop.destination] {
                tags.formUnion(model.entity(tagged: tag)?.descendants ?? [])
            }
        }
        return tags
    }
}
