public import TandemModel

/// The result of looking up an object.
@usableFromInline package enum RowLookup: Sendable {
    /// The object's row.
    case row(Row)
    /// The object does not exist.
    case missing
    /// The reader does not have the object.
    case unknown
}

/// The result of looking up an object, with a borrowed row.
@usableFromInline package enum BorrowedRow {
    /// The object's row, valid during the call.
    case row(RowView)
    /// The object does not exist.
    case missing
    /// The reader does not have the object.
    case unknown
}

/// A source of objects for the evaluator: a view of the store in the daemon, the row cache in a
/// client.
@usableFromInline package protocol GraphReader: ~Copyable {
    /// Returns the row of an object.
    func row(of object: ObjectReference) -> RowLookup
    /// Calls `body` once with the borrowed row of an object; the row must not escape from `body`.
    func withRow(of object: ObjectReference, _ body: (BorrowedRow) -> Void)
    /// Returns the members of a to-many relationship in any order; nil if the reader does not have
    /// them.
    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]?
    /// Returns the UTF-8 of a text stored outside its row; nil if the reader does not have it.
    func content(of text: TextReference) -> [UInt8]?
}

extension GraphReader where Self: ~Copyable {
    /// Calls `body` with the row that ``row(of:)`` returns.
    package func withRow(of object: ObjectReference, _ body: (BorrowedRow) -> Void) {
        switch row(of: object) {
        case .row(let row): row.withView { body(.row($0)) }
        case .missing: body(.missing)
        case .unknown: body(.unknown)
        }
    }

    /// Returns nil, which means that the daemon has to evaluate the predicate.
    @usableFromInline package func content(of text: TextReference) -> [UInt8]? { nil }
}

/// The name of an object's section.
package enum SectionName: Hashable, Sendable {
    /// The name; `""` if the value is nil or there is no section key path.
    case known(String)
    /// The reader does not have a related object.
    case unknown
}
