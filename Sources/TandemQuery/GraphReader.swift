public import TandemModel

/// What is known of an object.
public enum RowLookup: Sendable {
    /// Its row.
    case row(Row)
    /// It does not exist.
    case missing
    /// It isn't held here.
    case unknown
}

/// What is known of an object whose row is lent.
public enum LentRow {
    /// Its row, where it lies.
    case row(RowView)
    /// It does not exist.
    case missing
    /// It isn't held here.
    case unknown
}

/// What an evaluator reads: the store's snapshot in the daemon, the row cache in a client.
public protocol GraphReader: ~Copyable {
    /// The row of an object.
    func row(of object: ObjectReference) -> RowLookup
    /// Calls `body` once with the row of an object where it lies; nothing of the view may leave `body`.
    func withRow(of object: ObjectReference, _ body: (LentRow) -> Void)
    /// The members of a to-many relationship in any order; nil when they aren't held here.
    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]?
    /// The UTF-8 of a text that is too long for its row; nil when it isn't held here.
    func content(of text: TextReference) -> [UInt8]?
}

extension GraphReader where Self: ~Copyable {
    /// Lends the row that ``row(of:)`` hands out.
    public func withRow(of object: ObjectReference, _ body: (LentRow) -> Void) {
        switch row(of: object) {
        case .row(let row): row.withView { body(.row($0)) }
        case .missing: body(.missing)
        case .unknown: body(.unknown)
        }
    }

    /// Nothing: whoever holds no contents lets the daemon decide.
    public func content(of text: TextReference) -> [UInt8]? { nil }
}

/// The name of the section that an object belongs to.
public enum SectionName: Hashable, Sendable {
    /// The name; `""` for nil and without section key path.
    case known(String)
    /// A related object isn't held here.
    case unknown
}
