import TandemModel
import TandemStore

/// An object that transactions changed, and every property that they changed in it.
struct ChangedObject {
    let object: ObjectReference
    var mask: PropertyMask
}

/// What happened between the positions that a question names and the view that it is answered from.
///
/// State: all transactions up to ``position`` are taken in. `start` and `end` are the graph at the position that verdicts are asked from, and
/// at the one that the answer is of, if that is not the view's; `changes` is what happened between the two.
final class ReadWindow {
    let start: PastGraph?
    let end: PastGraph?
    private(set) var position: UInt64
    private var changes: [ObjectNumber: ChangedObject] = [:]
    /// What is of no other entity counts; nil for all.
    private let tags: Set<EntityTag>?
    /// Behind this position nothing changes between `start` and `end`.
    private let lastChange: UInt64

    /// The window of a question; nil for one that is about the view alone.
    init?(_ question: ReadQuestion) {
        tags = question.observedTags
        let at = question.position
        end = at == 0 ? nil : PastGraph(at: at)
        if case .verdicts(let request) = question {
            start = PastGraph(at: request.from)
            position = at == 0 ? request.from : min(request.from, at)
            lastChange = at == 0 ? .max : max(request.from, at)
        } else {
            guard at != 0 else { return nil }
            start = nil
            position = at
            lastChange = at
        }
    }

    /// About the bytes that it holds.
    var bytes: Int {
        (start?.window.bytes ?? 0) + (end?.window.bytes ?? 0)
            + changes.count * MemoryLayout<ChangedObject>.stride
    }

    /// What changed between the two positions, by object.
    var changedObjects: [ChangedObject] { changes.values.sorted { $0.object < $1.object } }

    /// Takes in the next transaction.
    func add(_ transaction: EncodedTransaction, _ model: CompiledModel) throws(CodingError) {
        precondition(transaction.position == position + 1, "Transactions come in their order.")
        position += 1
        for change in try transaction.changes(of: tags) {
            guard let entity = model.entity(tagged: change.object.tag) else { continue }
            if position <= lastChange { note(change) }
            for graph in [start, end] {
                if let graph, position > graph.position { graph.undo(change, entity) }
            }
        }
    }

    /// Throws where it has become too much.
    func check(_ limits: DaemonLimits, _ counts: LimitCounts) throws(TandemError) {
        if start != nil, bytes > DaemonLimits.windowBytes {
            throw TandemError(
                .historyExpired,
                "what changed has more than \(DaemonLimits.windowBytes) bytes, too many to decide on at "
                    + "once; fetch again")
        }
        guard bytes <= limits.readBytes else {
            throw counts.refusal(
                .readBytes, limits,
                "what happened since position \(end?.position ?? 0) has \(bytes) bytes; read at a newer "
                    + "position")
        }
    }

    private func note(_ change: Change) {
        let mask = changes[change.object.number]?.mask ?? PropertyMask()
        changes[change.object.number] = ChangedObject(
            object: change.object, mask: mask.union(change.changed))
    }
}

extension EncodedTransaction {
    /// What happened to objects of some entities; nil for all.
    fileprivate func changes(of tags: Set<EntityTag>?) throws(CodingError) -> [Change] {
        guard let tags else { return try changes() }
        return try filtered(tags.contains)?.changes() ?? []
    }
}
