import TandemModel
import TandemStore

/// A changed object, and the mask of its changed properties.
struct ChangedObject {
    let object: ObjectReference
    var mask: PropertyMask
}

/// The transactions between a request's positions and the position of the view that answers it.
///
/// State: all transactions up to ``position`` were added. `start` is the graph at the position from
/// which verdicts are requested, and `end` the graph at the answer's position, if that is not the
/// view's. `changes` holds the changes between these two positions.
final class ReadWindow {
    let start: HistoricalGraph?
    let end: HistoricalGraph?
    private(set) var position: UInt64
    private var changes: [ObjectNumber: ChangedObject] = [:]
    /// The entities whose changes count; nil for all.
    private let tags: Set<EntityTag>?
    /// The last position whose changes lie between `start` and `end`.
    private let lastChange: UInt64

    /// Creates the window of a request; nil if the request concerns only the view's position.
    init?(_ read: CompiledRead) {
        tags = read.observedTags
        let at = read.position
        end = at == 0 ? nil : HistoricalGraph(at: at)
        if case .verdicts(let request) = read {
            start = HistoricalGraph(at: request.from)
            position = at == 0 ? request.from : min(request.from, at)
            lastChange = at == 0 ? .max : max(request.from, at)
        } else {
            guard at != 0 else { return nil }
            start = nil
            position = at
            lastChange = at
        }
    }

    /// The approximate size in bytes.
    var bytes: Int {
        (start?.bytes ?? 0) + (end?.bytes ?? 0)
            + changes.count * MemoryLayout<ChangedObject>.stride
    }

    /// The changes between the two positions, sorted by object.
    var changedObjects: [ChangedObject] { changes.values.sorted { $0.object < $1.object } }

    /// Adds the next transaction.
    func add(_ transaction: EncodedTransaction, _ model: CompiledModel) throws(CodingError) {
        precondition(transaction.position == position + 1, "Transactions are added in order.")
        position += 1
        for change in try transaction.changes(of: tags) {
            guard let entity = model.entity(tagged: change.object.tag) else { continue }
            if position <= lastChange { add(change) }
            for graph in [start, end] {
                if let graph, position > graph.position { graph.undo(change, entity) }
            }
        }
    }

    /// Throws if the window is too large: `historyExpired` for verdicts, `limitExceeded` beyond the
    /// bytes that a read may hold.
    func check(_ limits: DaemonLimits, _ counts: LimitCounters) throws(TandemError) {
        if start != nil, bytes > DaemonLimits.windowBytes {
            throw TandemError(
                .historyExpired,
                "the changes are larger than \(DaemonLimits.windowBytes) bytes, too large for one "
                    + "request; fetch again")
        }
        guard bytes <= limits.readBytes else {
            throw counts.refusal(
                .readBytes, limits,
                "the transactions after position \(end?.position ?? 0) have \(bytes) bytes; read at a newer "
                    + "position")
        }
    }

    private func add(_ change: Change) {
        let mask = changes[change.object.number]?.mask ?? PropertyMask()
        changes[change.object.number] = ChangedObject(
            object: change.object, mask: mask.union(change.changed))
    }
}

extension EncodedTransaction {
    /// Returns the changes of objects of some entities; nil for all entities.
    fileprivate func changes(of tags: Set<EntityTag>?) throws(CodingError) -> [Change] {
        guard let tags else { return try changes() }
        return try filtered(tags.contains)?.changes() ?? []
    }
}
