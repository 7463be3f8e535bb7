import Algorithms
import TandemModel

/// A set of members that a save adds to or removes from a relationship.
///
/// Members usually arrive in the order of their numbers. They are kept in a sorted list, and found
/// by binary search, until a member arrives out of order or is removed from a long list. From then
/// on, they are kept in a hash table.
struct MemberSet {
    /// The members, sorted by number; unused once there is a table.
    private var list: [ObjectReference] = []
    private var table: Set<ObjectReference>?
    /// The maximum length of a list from which members are removed in place.
    private static let shortList = 64

    /// Whether the set is empty.
    var isEmpty: Bool { table?.isEmpty ?? list.isEmpty }

    /// The number of members.
    var count: Int { table?.count ?? list.count }

    /// The members, sorted by number.
    var inOrder: [ObjectReference] { table?.sorted() ?? list }

    /// Whether the set contains a member.
    func contains(_ member: ObjectReference) -> Bool {
        table?.contains(member) ?? (index(of: member) != nil)
    }

    /// Inserts a member; does nothing if the set already contains it.
    mutating func insert(_ member: ObjectReference) {
        if table == nil {
            guard let last = list.last, last.number >= member.number else {
                return list.append(member)
            }
            if last == member { return }
            useTable()
        }
        table?.insert(member)
        assert(list.isEmpty, "The list is unused once there is a table.")
    }

    /// Removes a member; returns false if the set does not contain it.
    mutating func remove(_ member: ObjectReference) -> Bool {
        if table == nil {
            guard let index = index(of: member) else { return false }
            if list.count <= Self.shortList {
                list.remove(at: index)
                return true
            }
            useTable()
        }
        return table?.remove(member) != nil
    }

    private mutating func useTable() {
        assert(table == nil, "The list is moved to the table once.")
        table = Set(list)
        list = []
    }

    private func index(of member: ObjectReference) -> Int? {
        guard let last = list.last, member.number <= last.number else { return nil }
        let at = list.partitioningIndex { $0.number >= member.number }
        return list[at] == member ? at : nil
    }
}
