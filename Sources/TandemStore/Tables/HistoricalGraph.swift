package import TandemModel
import TandemQuery

/// The graph at an earlier position: the store's content with all later transactions undone.
///
/// Pass the changes of every transaction after the position to ``undo(_:_:)``, in order, before the
/// transaction is visible in the store. This keeps the graph at its position. The journal does not
/// have the versions of undone rows, so such a row has the graph's position as its version. This
/// version is at least the row's real one, and below that of every later change. Bound to one
/// thread.
package final class HistoricalGraph {
    /// The net change of one object.
    struct NetChange {
        /// The changed object.
        let object: ObjectReference
        /// The row before the transactions; nil if the object did not exist.
        fileprivate(set) var before: Row?
        /// Whether the transactions changed only links and not the row; ``before`` is then not
        /// known.
        fileprivate(set) var isRowUntouched: Bool
        /// The net changes of members by slot: true for added members, false for removed ones.
        fileprivate(set) var links: [Int: [ObjectReference: Bool]] = [:]
        /// The previous ranks of members of ordered relationships whose links changed, by slot; nil
        /// for added members.
        fileprivate(set) var ranks: [Int: [ObjectReference: Rank?]] = [:]
    }

    /// The position of the graph.
    package let position: UInt64
    /// The net change of each object that transactions after the position affected, by number.
    private var changes: [ObjectNumber: NetChange] = [:]
    /// The approximate size of the undone changes in bytes.
    package private(set) var bytes = 0

    /// Creates the graph at a position, before any transaction is undone.
    package init(at position: UInt64) { self.position = position }

    /// Undoes a change of the next transaction.
    package func undo(_ change: Change, _ entity: CompiledEntity) {
        var net =
            changes[change.object.number]
            ?? NetChange(object: change.object, before: nil, isRowUntouched: true)
        bytes +=
            MemoryLayout<NetChange>.stride + change.links.count * MemoryLayout<LinkChange>.stride
        if change.kind != .touch, net.isRowUntouched {
            net.before = change.rowBefore(in: entity)
            net.isRowUntouched = false
            bytes += (net.before?.bytes.count ?? 0) + (change.row?.bytes.count ?? 0)
        }
        for link in change.links {
            net.recordRank(link)
            if net.links[link.slot]?[link.target] == !link.isAdded {
                net.links[link.slot]?[link.target] = nil
            } else {
                net.links[link.slot, default: [:]][link.target] = link.isAdded
            }
        }
        changes[change.object.number] = net
    }

    /// Returns the objects whose rows changed after the position, in ascending order.
    ///
    /// Throws the error of the budget's check.
    func changedObjects(
        _ budget: ReadBudget, _ isIncluded: (EntityTag) -> Bool
    ) throws(StoreError) -> [ObjectReference] {
        var objects = changes.values
            .filter { !$0.isRowUntouched && isIncluded($0.object.tag) }.map(\.object)
        try budget.sort(&objects, by: <)
        return objects
    }

    /// Returns the net change of an object's row; nil if the row did not change.
    func net(_ object: ObjectReference) -> NetChange? {
        guard let net = change(of: object), !net.isRowUntouched else { return nil }
        return net
    }

    /// Returns the net change of an object; nil if there is none, or if the object has a different
    /// entity.
    private func change(of object: ObjectReference) -> NetChange? {
        changes[object.number].flatMap { $0.object == object ? $0 : nil }
    }

    /// Returns the members of a to-many relationship at the position, computed from the current
    /// members.
    ///
    /// Throws the error of the budget's check.
    package func members(
        _ now: [ObjectReference], of object: ObjectReference, slot: Int, _ budget: ReadBudget
    ) throws(StoreError) -> [ObjectReference] {
        guard let links = change(of: object)?.links[slot] else { return now }
        var members = now.filter { links[$0] != true }
        members += links.lazy.filter { !$0.value }.map(\.key)
        try budget.sort(&members, by: <)
        return members
    }

    /// Returns the members of an ordered relationship at the position, in their former order,
    /// computed from the current members and ranks.
    ///
    /// Throws the error of the budget's check.
    package func rankedMembers(
        _ now: [RankPlan.Member], of object: ObjectReference, slot: Int, _ budget: ReadBudget
    ) throws(StoreError) -> [RankPlan.Member] {
        guard let before = change(of: object)?.ranks[slot] else { return now }
        let ranks = Dictionary(now.map { ($0.member, $0.rank) }, uniquingKeysWith: { $1 })
        var ranked = try members(now.map(\.member), of: object, slot: slot, budget)
            .map { (member: $0, rank: before[$0] ?? ranks[$0] ?? nil) }
        try budget.sort(&ranked, by: RankPlan.isBefore)
        return ranked
    }
}

extension HistoricalGraph.NetChange {
    /// Records the rank that a member had before its link first changed.
    fileprivate mutating func recordRank(_ link: LinkChange) {
        guard link.rank != nil, ranks[link.slot]?[link.target] == nil else { return }
        ranks[link.slot, default: [:]]
            .updateValue(link.isAdded ? nil : link.rank, forKey: link.target)
    }
}
