import TandemModel
import TandemQuery
import TandemStore

/// The net effect of some transactions: what each object they touched was before the first of them.
///
/// Over a store that stands at the last of them it shows the graph as it was before the first, by undoing.
struct TransactionWindow {
    /// What became of one object.
    struct NetChange {
        let object: ObjectReference
        /// The row before, nil when the object did not exist.
        var before: Row?
        /// The row after, nil when the object is gone.
        var after: Row?
        /// True when the row before is not in the window, since only links changed.
        var isRowUntouched: Bool
        /// Members by slot: true for those that came, false for those that went, against the state before.
        var links: [Int: [ObjectReference: Bool]] = [:]
        /// Every property that any of the transactions changed.
        var mask = PropertyMask()
    }

    private(set) var changes: [ObjectNumber: NetChange] = [:]

    /// No transactions.
    init() {}

    /// What happened after a position, up to the committer's; of some entities, if these are named.
    ///
    /// Cost: decodes these transactions.
    init(
        _ committer: Committer, after start: UInt64, _ model: CompiledModel,
        of tags: Set<EntityTag>? = nil
    ) throws {
        let source = TransactionSource(committer.journal)
        for position in (start..<committer.position).lazy.map({ $0 + 1 }) {
            let whole = try source.transaction(at: position, committer.ring)
            guard let transaction = tags.map({ whole.filtered($0.contains) }) ?? whole else {
                continue
            }
            for change in try transaction.changes() {
                guard let entity = model.entity(tagged: change.object.tag) else { continue }
                add(change, entity)
            }
        }
    }

    /// Folds the next transaction in.
    mutating func add(_ change: Change, _ entity: CompiledEntity) {
        var net =
            changes[change.object.number]
            ?? NetChange(object: change.object, before: nil, after: nil, isRowUntouched: true)
        if change.kind != .touch {
            if net.isRowUntouched { net.before = change.rowBefore(in: entity) }
            net.isRowUntouched = false
            net.after = change.row
        }
        for link in change.links {
            if net.links[link.slot]?[link.target] == !link.isAdded {
                net.links[link.slot]?[link.target] = nil
            } else {
                net.links[link.slot, default: [:]][link.target] = link.isAdded
            }
        }
        net.mask = net.mask.union(change.changed)
        changes[change.object.number] = net
    }
}

/// Reads the graph as it was before a window of transactions.
struct PastReader: GraphReader {
    let store: StoreReader
    let window: TransactionWindow

    func row(of object: ObjectReference) -> RowLookup {
        guard let net = window.changes[object.number], !net.isRowUntouched else {
            return store.row(of: object)
        }
        return net.before.map { .row($0) } ?? .missing
    }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? {
        guard var members = store.members(of: object, relationship, slot: slot) else { return nil }
        guard let links = window.changes[object.number]?.links[slot] else { return members }
        members.removeAll { links[$0] == true }
        return (members + links.filter { !$0.value }.map(\.key)).sorted()
    }
}
