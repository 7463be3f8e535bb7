/// For one hop of a key path: which rows reach a related object through it.
///
/// It answers which rows of a list are affected when a related object changed, without a scan.
/// Inserting, removing and asking whether a row is among them cost O(1), listing them O(rows).
///
///     var buckets = ReverseIndex()
///     buckets.insert(row: 33, for: 7)
///     buckets.rows(for: 7)            // [33]
public struct ReverseIndex: Sendable {
    private var members: [UInt64: Members] = [:]

    /// Makes an empty index.
    public init() {}

    /// How many related objects are reached by at least one row.
    public var count: Int { members.count }

    /// Whether no row reaches anything.
    public var isEmpty: Bool { members.isEmpty }

    /// Notes that a row reaches a related object; false if that was known.
    @discardableResult
    public mutating func insert(row: UInt64, for related: UInt64) -> Bool {
        members[related]?.insert(row) ?? (members.updateValue(Members(row), forKey: related) == nil)
    }

    /// Forgets that a row reaches a related object; false if it did not.
    @discardableResult
    public mutating func remove(row: UInt64, for related: UInt64) -> Bool {
        guard let outcome = members[related]?.remove(row) else { return false }
        if outcome == .emptied { members[related] = nil }
        return outcome != .absent
    }

    /// Whether a row reaches a related object.
    public func contains(row: UInt64, for related: UInt64) -> Bool {
        members[related]?.contains(row) ?? false
    }

    /// The rows that reach a related object, each once, in no particular order.
    public func rows(for related: UInt64) -> [UInt64] {
        members[related].map { [$0.first] + $0.few + $0.many } ?? []
    }

    /// Forgets a related object; gives the rows that reached it.
    @discardableResult
    public mutating func removeAll(for related: UInt64) -> [UInt64] {
        let rows = rows(for: related)
        members[related] = nil
        return rows
    }
}

/// A set of rows that is never empty: mostly one row, without a buffer; a few in an array; many in
/// a set.
private struct Members: Sendable {
    /// Rows beside the first up to which looking through an array beats hashing.
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
            return .removed
        }
        if let at = few.firstIndex(of: row) {
            few.swapAt(at, few.count - 1)
            few.removeLast()
            return .removed
        }
        return many.remove(row) == nil ? .absent : .removed
    }
}
