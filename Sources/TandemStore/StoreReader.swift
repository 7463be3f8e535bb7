public import TandemModel
public import TandemQuery

/// Reads the graph for predicates from the store as it stands.
///
/// A read that fails answers `unknown`, so that whoever evaluates notices; in a store that works nothing is unknown.
public struct StoreReader: GraphReader {
    let store: Store

    /// A reader of a store.
    public init(_ store: Store) { self.store = store }

    /// The row of an object.
    public func row(of object: ObjectReference) -> RowLookup {
        do {
            guard let stored = try store.stored(object) else { return .missing }
            return .row(stored.row)
        } catch {
            return .unknown
        }
    }

    /// The UTF-8 of a long text.
    public func content(of text: TextReference) -> [UInt8]? { try? store.content(of: text.blob) }

    /// The members of a to-many relationship.
    public func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? {
        try? store.members(of: object.number, relationship)
    }
}
