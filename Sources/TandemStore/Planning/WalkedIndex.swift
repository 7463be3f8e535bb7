/// Properties of related objects by which these move within an index that a plan walks.
///
/// One that moves behind the walk is not met, though no condition of the request may name the property. Whoever carries the plan out in steps
/// follows such changes back, as if the request observed them (``FetchCursor/walked``).
public struct WalkedIndex: Hashable, Sendable {
    /// The relationships from the request's objects on, by slot.
    public var hops: [Int]
    /// The properties, by slot.
    public var slots: [Int]
}

extension FetchPlan {
    /// The indexes over related objects that are walked.
    func walked(behind hops: [Int] = []) -> [WalkedIndex] {
        guard case .related(let condition, _, let plan) = access else { return [] }
        let hops = hops + [condition.slot]
        let own = plan.access.parts.compactMap { part -> WalkedIndex? in
            guard case .index(let index, _) = part else { return nil }
            return WalkedIndex(hops: hops, slots: index.slots)
        }
        return own + plan.walked(behind: hops)
    }
}
