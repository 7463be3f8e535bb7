/// The placement of one row in a sectioned list.
///
/// A list is ordered by `sortKey`, compared byte by byte, then by `number`, ascending. Rows with
/// equal keys are in ascending order even if the sort order is descending, because only the
/// encoding of the key depends on the direction.
@usableFromInline package struct ResultRow: Hashable, Sendable {
    /// The object's number, unique in the store across all entities.
    package var number: UInt64
    /// The tag of the object's own (most derived) entity.
    package var entityTag: UInt16
    /// The order-preserving encoding of all sort values: smaller bytes sort first.
    package var sortKey: [UInt8]
    /// The name of the section the row belongs to; ignored by a list without sections.
    package var section: String

    /// Creates a row.
    @usableFromInline
    package init(number: UInt64, entityTag: UInt16 = 0, sortKey: [UInt8], section: String = "") {
        self.number = number
        self.entityTag = entityTag
        self.sortKey = sortKey
        self.section = section
    }

    /// Returns whether this row sorts before another one.
    package func precedes(_ other: ResultRow) -> Bool {
        let order = sortKey.withUnsafeBytes { mine in
            other.sortKey.withUnsafeBytes { compareKeys(mine, $0) }
        }
        return order == 0 ? number < other.number : order < 0
    }
}

/// The path of a row: the index of its section, and its index in that section.
public struct ResultsIndexPath: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The index of the section.
    public var section: Int
    /// The index of the row in its section.
    public var item: Int

    /// Creates a path.
    public init(section: Int, item: Int) {
        self.section = section
        self.item = item
    }

    /// Compares by section, then by item.
    public static func < (left: ResultsIndexPath, right: ResultsIndexPath) -> Bool {
        (left.section, left.item) < (right.section, right.item)
    }

    /// The path as `(section, item)`.
    public var description: String { "(\(section), \(item))" }
}

/// The reasons for which a row counts as changed.
@usableFromInline package struct ChangeReason: OptionSet, Hashable, Sendable {
    /// One bit per reason.
    @usableFromInline package var rawValue: UInt8

    /// Creates a set of reasons from its bits.
    @usableFromInline package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The object's own attributes or relationships changed.
    package static let ownValues = ChangeReason(rawValue: 1)
    /// The values of a key path of the predicate changed.
    package static let predicatePath = ChangeReason(rawValue: 2)
    /// The value of a key path of the sort order changed.
    package static let sortPath = ChangeReason(rawValue: 4)
    /// The value of the section key path changed.
    package static let sectionPath = ChangeReason(rawValue: 8)
    /// The values of a refresh key path changed.
    package static let refreshPath = ChangeReason(rawValue: 16)
}
