public import TandemModel
public import TandemQuery

/// The graph at an earlier position: what the store holds, less what happened since.
///
/// Every transaction behind the position is told to ``undo(_:_:)``, in order, before it is read; then it shows the same, whatever else
/// happens. Versions of what was undone are not in the journal: such a row has the position as its version, which is not
/// below its own, and below that of every later change. Bound to one thread.
public final class PastGraph {
    /// The position.
    public let position: UInt64
    /// What happened since.
    public private(set) var window: TransactionWindow

    /// The graph at a position, less what happened in a window that begins there.
    public init(at position: UInt64, _ window: TransactionWindow = TransactionWindow()) {
        self.position = position
        self.window = window
    }

    /// Undoes a change of the next transaction.
    public func undo(_ change: Change, _ entity: CompiledEntity) { window.add(change, entity) }

    /// The objects whose rows changed since, in order.
    func changedObjects(_ isIncluded: (EntityTag) -> Bool) -> [ObjectReference] {
        window.changes.values.filter { !$0.isRowUntouched && isIncluded($0.object.tag) }
            .map(\.object).sorted()
    }

    /// What became of an object's row; nil when nothing did.
    func net(_ object: ObjectReference) -> TransactionWindow.NetChange? {
        guard let net = change(of: object), !net.isRowUntouched else { return nil }
        return net
    }

    /// What became of an object; nothing of one that has another's number.
    private func change(of object: ObjectReference) -> TransactionWindow.NetChange? {
        window.changes[object.number].flatMap { $0.object == object ? $0 : nil }
    }

    /// The members of a to-many relationship as they were, from those that there are now.
    public func members(
        _ now: [ObjectReference], of object: ObjectReference, slot: Int
    ) -> [ObjectReference] {
        guard let links = change(of: object)?.links[slot] else { return now }
        let left = now.filter { links[$0] != true }
        return (left + links.filter { !$0.value }.map(\.key)).sorted()
    }

    /// The members of an ordered relationship as they were and as they stood, from how they stand now.
    public func places(
        _ now: [RankPlan.Place], of object: ObjectReference, slot: Int
    ) -> [RankPlan.Place] {
        guard let before = change(of: object)?.ranks[slot] else { return now }
        let ranks = Dictionary(now.map { ($0.member, $0.rank) }, uniquingKeysWith: { $1 })
        return members(now.map(\.member), of: object, slot: slot)
            .map { (member: $0, rank: before[$0] ?? ranks[$0] ?? nil) }
            .sorted(by: RankPlan.isBefore)
    }
}

extension StoreView {
    /// The row of an object as it was at an earlier position, or as it is.
    public func stored(_ object: ObjectReference, _ past: PastGraph?) throws(StoreError)
        -> StoredObject?
    {
        guard let past, let net = past.net(object) else { return try stored(object) }
        return net.before.map {
            StoredObject(object: object, version: past.position, row: $0)
        }
    }
}

/// Reads the graph as it was at an earlier position, or as it is.
public struct PastReader: GraphReader {
    private let store: StoreReader
    private let past: PastGraph?

    /// Reads what the store holds; without a past, as it is.
    public init(store: StoreReader, past: PastGraph?) {
        self.store = store
        self.past = past
    }

    /// The row of an object.
    public func row(of object: ObjectReference) -> RowLookup {
        guard let net = past?.net(object) else { return store.row(of: object) }
        return net.before.map { .row($0) } ?? .missing
    }

    /// Lends the row of an object where it lies.
    public func withRow(of object: ObjectReference, _ body: (LentRow) -> Void) {
        guard let net = past?.net(object) else { return store.withRow(of: object, body) }
        guard let before = net.before else { return body(.missing) }
        before.withView { body(.row($0)) }
    }

    /// The UTF-8 of a long text, which never changes.
    public func content(of text: TextReference) -> [UInt8]? { store.content(of: text) }

    /// The members of a to-many relationship.
    public func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? {
        let now = store.members(of: object, relationship, slot: slot)
        return now.map { past?.members($0, of: object, slot: slot) ?? $0 }
    }
}
