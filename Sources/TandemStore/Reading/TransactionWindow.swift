public import TandemModel

/// The net effect of some transactions: what each object they touched was before the first of them.
///
/// Over a store that stands at the last of them it shows the graph as it was before the first, by undoing.
public struct TransactionWindow: Sendable {
    /// What became of one object.
    public struct NetChange: Sendable {
        /// The object.
        public let object: ObjectReference
        /// The row before, nil when the object did not exist.
        public internal(set) var before: Row?
        /// The row after, nil when the object is gone.
        public internal(set) var after: Row?
        /// True when the row before is not in the window, since only links changed.
        public internal(set) var isRowUntouched: Bool
        /// Members by slot: true for those that came, false for those that went, against the state before.
        public internal(set) var links: [Int: [ObjectReference: Bool]] = [:]
        /// The ranks before of members of ordered relationships whose links changed, by slot; nil for those that came.
        public internal(set) var ranks: [Int: [ObjectReference: Rank?]] = [:]
        /// Every property that any of the transactions changed.
        public internal(set) var mask = PropertyMask()
    }

    /// What became of each object that they touched, by number.
    public private(set) var changes: [ObjectNumber: NetChange] = [:]
    /// About the bytes that it holds.
    public private(set) var bytes = 0

    /// No transactions.
    public init() {}

    /// Folds the next transaction in.
    public mutating func add(_ change: Change, _ entity: CompiledEntity) {
        var net =
            changes[change.object.number]
            ?? NetChange(object: change.object, before: nil, after: nil, isRowUntouched: true)
        bytes +=
            MemoryLayout<NetChange>.stride + change.links.count * MemoryLayout<LinkChange>.stride
        if change.kind != .touch {
            if net.isRowUntouched {
                net.before = change.rowBefore(in: entity)
                bytes += (net.before?.bytes.count ?? 0) + (change.row?.bytes.count ?? 0)
            }
            net.isRowUntouched = false
            net.after = change.row
        }
        for link in change.links {
            net.noteRank(link)
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

extension TransactionWindow.NetChange {
    /// Keeps the rank that a member had before the first of its links that changed.
    fileprivate mutating func noteRank(_ link: LinkChange) {
        guard link.rank != nil, ranks[link.slot]?[link.target] == nil else { return }
        ranks[link.slot, default: [:]]
            .updateValue(link.isAdded ? nil : link.rank, forKey: link.target)
    }
}
