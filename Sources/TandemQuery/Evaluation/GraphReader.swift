public import TandemModel

/// The result of looking up an object.
@usableFromInline package enum RowLookup: Sendable {
    /// The object's row.
    case row(Row)
    /// The object does not exist.
    case missing
    /// The reader does not hold the object.
    case unknown
}

/// The result of looking up an object, with a borrowed row.
@usableFromInline package enum BorrowedRow {
    /// The object's row, valid during the call.
    case row(RowView)
    /// The object does not exist.
    case missing
    /// The reader does not hold the object.
    case unknown
}

/// The source of objects for an evaluator: the store's snapshot in the daemon, the row cache in a
/// client.
@usableFromInline package protocol GraphReader: ~Copyable {
    /// Returns the row of an object.
    func row(of object: ObjectReference) -> RowLookup
    /// Calls `body` once with the borrowed row of an object, which must not escape from `body`.
    func withRow(of object: ObjectReference, _ body: (BorrowedRow) -> Void)
    /// Returns the members of a to-many relationship in any order; nil if the reader does not hold
    /// them.
    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]?
    /// Returns the UTF-8 of a text outside its row; nil if the reader does not hold it.
    func content(of text: TextReference) -> [UInt8]?
}

extension GraphReader where Self: ~Copyable {
    /// Lends the row that ``row(of:)`` returns.
    package func withRow(of object: ObjectReference, _ body: (BorrowedRow) -> Void) {
        switch row(of: object) {
        case .row(let row): row.withView { body(.row($0)) }
        case .missing: body(.missing)
        case .unknown: body(.unknown)
        }
    }

    /// Returns nil: a reader without contents leaves the decision to the daemon.
    @usableFromInline package func content(of text: TextReference) -> [UInt8]? { nil }
}

/// The name of an object's section.
package enum SectionName: Hashable, Sendable {
    /// The name; `""` for nil and without a section key path.
    case known(String)
    /// The reader does not hold a related object.
    case unknown
}
