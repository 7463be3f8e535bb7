import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// A fetch that is answered when it has been carried out, in steps between which others save.
///
/// It is answered at the position of its last step. What transactions meanwhile may have altered for it, by the rules of
/// verdicts, is judged again before (``FetchCursor``).
final class ReadUnderWay {
    /// The request's number.
    let id: UInt32
    /// The question: the fetch, or verdicts with a fetch beside them.
    let message: ClientMessage
    let fetch: Fetch
    let request: CompiledRequest
    private(set) var cursor: FetchCursor
    /// Up to here transactions were looked through for what they altered.
    private(set) var position: UInt64
    private let modelPosition: UInt64
    private let part: FetchPart
    /// What the request depends on.
    private let tags: Set<EntityTag>
    /// Steps that began with something touched behind the last candidate.
    private var lateSteps = 0
    /// The bytes that are counted for it.
    var countedBytes = 0

    init(
        _ message: ClientMessage, _ fetch: Fetch, id: UInt32, in model: CompiledModel,
        _ committer: Committer
    ) throws {
        self.id = id
        self.message = message
        self.fetch = fetch
        request = try CompiledRequest(fetch.request, in: model)
        part =
            switch fetch.kind {
            case .count: .count
            case .references: .references
            case .rows: .rows
            }
        tags = request.observedTags
        position = committer.position
        modelPosition = committer.store.modelPosition
        cursor = try FetchCursor(request, for: part, in: committer.store)
    }

    /// Goes on until a budget is used up; true when it is done, at the committer's position.
    func step(_ committer: Committer, _ budget: inout Int) throws -> Bool {
        guard committer.store.modelPosition == modelPosition else {
            throw TandemError(
                .schemaMismatch, "the model changed while the fetch was carried out; fetch again")
        }
        try catchUp(committer)
        guard cursor.isScanned, cursor.hasTouched else { return try cursor.step(&budget) }
        // If others alter more than one step judges again, the steps get longer until they do.
        lateSteps += 1
        var longer = budget << min(lateSteps / DaemonLimits.lateSteps, 32)
        let isDone = try cursor.step(&longer)
        budget = min(budget, longer)
        return isDone
    }

    /// Lets what others saved since the last step be judged again; begins anew when that is too much to look at.
    private func catchUp(_ committer: Committer) throws {
        let end = committer.position
        guard position < end else { return }
        defer { position = end }
        guard end - position <= UInt64(committer.limits.verdictTransactions),
            position + 1 >= committer.journal.bounds.first
        else {
            return cursor = try FetchCursor(request, for: part, in: committer.store)
        }
        let window = try TransactionWindow(committer, after: position, request.model, of: tags)
        cursor.touch(try VerdictEvaluator(request, window, committer.store).candidates())
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
