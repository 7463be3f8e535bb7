/// An index, for one hop of a key path, from a related object to the rows that refer to it.
///
/// The index finds the rows of a list that are affected by a related object's change, without a
/// scan. Inserting, removing and testing a row cost O(1); listing rows costs O(rows).
///
///     var buckets = ReverseIndex()
///     buckets.insert(row: 33, for: 7)
///     buckets.rows(for: 7)            // [33]
package struct ReverseIndex: Sendable {
    private var members: [UInt64: Members] = [:]

    /// Creates an empty index.
    package init() {}

    /// The number of related objects with at least one row.
    package var count: Int { members.count }

    /// Whether the index has no rows.
    package var isEmpty: Bool { members.isEmpty }

    /// Records that a row refers to a related object; returns false if it was recorded before.
    @discardableResult
    package mutating func insert(row: UInt64, for related: UInt64) -> Bool {
        members[related]?.insert(row) ?? (members.updateValue(Members(row), forKey: related) == nil)
    }

    /// Removes the record that a row refers to a related object; returns false if there was none.
    @discardableResult
    package mutating func remove(row: UInt64, for related: UInt64) -> Bool {
        guard let outcome = members[related]?.remove(row) else { return false }
        if outcome == .emptied { members[related] = nil }
        return outcome != .absent
    }

    /// Returns whether a row refers to a related object.
    package func contains(row: UInt64, for related: UInt64) -> Bool {
        members[related]?.contains(row) ?? false
    }

    /// Returns the distinct rows that refer to a related object, in no particular order.
    package func rows(for related: UInt64) -> [UInt64] {
        members[related].map { [$0.first] + $0.few + $0.many } ?? []
    }

    /// Removes a related object; returns the rows that referred to it.
    @discardableResult
    package mutating func removeAll(for related: UInt64) -> [UInt64] {
        let rows = rows(for: related)
        members[related] = nil
        return rows
    }
}

/// A set of rows that is never empty: one row without a buffer, a few in an array, many in a set.
private struct Members: Sendable {
    /// The number of rows, not counting the first, up to which searching an array is faster than
    /// hashing.
    static let few = 7

    enum Removal {
        case absent, removed, emptied
    }

    var first: UInt64
    var few: [UInt64] = []
    var many: Set<UInt64> = []

    init(_ row: UInt64) {
        first = row
    }

    func contains(_ row: UInt64) -> Bool {
        row == first || few.contains(row) || many.contains(row)
    }

    mutating func insert(_ row: UInt64) -> Bool {
        if contains(row) { return false }
        if many.isEmpty && few.count < Members.few {
            few.append(row)
            return true
        }
        many.formUnion(few)
        few = []
        many.insert(row)
        return true
    }

    mutating func remove(_ row: UInt64) -> Removal {
        if row == first {
            guard let other = few.popLast() ?? many.popFirst() else { return .emptied }
            first = other
            assert(!few.contains(first) && !many.contains(first), "Each row is stored once.")
            return .removed
        }
        assert(few.isEmpty || many.isEmpty, "The other rows are in the array or in the set.")
        if let at = few.firstIndex(of: row) {
            few.swapAt(at, few.count - 1)
            few.removeLast()
            return .removed
        }
        return many.remove(row) == nil ? .absent : .removed
    }
}
