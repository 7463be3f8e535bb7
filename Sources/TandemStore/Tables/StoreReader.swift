package import TandemModel
package import TandemQuery

/// A graph reader for predicates that reads a store, at its own position or at an earlier one.
///
/// A lookup returns `unknown` only if it fails or exceeds the budget. The budget records the reason
/// for the caller.
package struct StoreReader: GraphReader {
    private let store: StoreView
    private let past: HistoricalGraph?
    private let budget: ReadBudget

    /// Creates a reader of a store for one request; without `past`, it reads the current graph.
    package init(
        _ store: StoreView, past: HistoricalGraph? = nil, budget: ReadBudget = ReadBudget()
    ) {
        (self.store, self.past, self.budget) = (store, past, budget)
    }

    /// Returns the row of an object.
    package func row(of object: ObjectReference) -> RowLookup {
        if let net = past?.net(object) { return net.before.map { .row($0) } ?? .missing }
        guard budget.spend(1) else { return .unknown }
        do {
            guard let stored = try store.stored(object) else { return .missing }
            guard budget.spend(stored.row.bytes.count / 64) else { return .unknown }
            return .row(stored.row)
        } catch {
            budget.record(error)
            return .unknown
        }
    }

    /// Calls `body` with the borrowed row of an object.
    package func withRow(of object: ObjectReference, _ body: (BorrowedRow) -> Void) {
        if let net = past?.net(object) {
            guard let before = net.before else { return body(.missing) }
            return before.withView { body(.row($0)) }
        }
        guard budget.spend(1) else { return body(.unknown) }
        do {
            let isThere = try store.withRow(of: object) { row in
                body(budget.spend(row.bytes.count / 64) ? .row(row) : .unknown)
            }
            if !isThere { body(.missing) }
        } catch {
            budget.record(error)
            body(.unknown)
        }
    }

    /// Returns the UTF-8 bytes of a long text, which is immutable.
    package func content(of text: TextReference) -> [UInt8]? {
        guard budget.spend(1 + text.length / 64) else { return nil }
        do {
            return try store.content(of: text.blob)
        } catch {
            budget.record(error)
            return nil
        }
    }

    /// Returns the members of a to-many relationship.
    package func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? {
        do {
            let most = budget.membersLeft
            let members = try store.members(
                of: object.number, relationship, atMost: most == .max ? most : most + 1,
                budget: budget)
            guard budget.spend(members: members.count) else { return nil }
            return try past?.members(members, of: object, slot: slot, budget) ?? members
        } catch {
            budget.record(error)
            return nil
        }
    }
}
