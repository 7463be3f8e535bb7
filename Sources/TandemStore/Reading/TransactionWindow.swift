public import TandemModel

/// The net effect of consecutive transactions: for each touched object, its state before the first
/// of them.
///
/// Applied to a store at the position of the last transaction, it yields the graph before the first
/// one.
public struct TransactionWindow: Sendable {
    /// The net change of one object.
    public struct NetChange: Sendable {
        /// The changed object.
        public let object: ObjectReference
        /// The row before the transactions; nil if the object did not exist.
        public internal(set) var before: Row?
        /// The row after the transactions; nil if the object was deleted.
        public internal(set) var after: Row?
        /// Whether the transactions changed only links and not the row; the window then lacks the
        /// row before.
        public internal(set) var isRowUntouched: Bool
        /// The net changes of members by slot: true for added members, false for removed ones.
        public internal(set) var links: [Int: [ObjectReference: Bool]] = [:]
        /// The previous ranks of members of ordered relationships whose links changed, by slot; nil
        /// for added members.
        public internal(set) var ranks: [Int: [ObjectReference: Rank?]] = [:]
        /// All properties that any of the transactions changed.
        public internal(set) var mask = PropertyMask()
    }

    /// The net change of each touched object, by number.
    public private(set) var changes: [ObjectNumber: NetChange] = [:]
    /// The approximate size in bytes.
    public private(set) var bytes = 0

    /// Creates a window without transactions.
    public init() {}

    /// Adds a change of the next transaction.
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
            net.recordRank(link)
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
    /// Records the rank that a member had before its link first changed.
    fileprivate mutating func recordRank(_ link: LinkChange) {
        guard link.rank != nil, ranks[link.slot]?[link.target] == nil else { return }
        ranks[link.slot, default: [:]]
            .updateValue(link.isAdded ? nil : link.rank, forKey: link.target)
    }
}
