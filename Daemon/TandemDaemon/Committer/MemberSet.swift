import TandemModel

/// Members that a relationship gains or loses with a save, each once.
///
/// They come by number as a rule: then they are a list, in which one is found by bisection, without a table. The first
/// that comes out of order, or one that goes again from among many, makes a table.
struct MemberSet {
    /// By number; not used once there is a table.
    private var list: [ObjectReference] = []
    private var table: Set<ObjectReference>?
    /// From a list of more than so many nothing is removed.
    private static let shortList = 64

    /// Whether there are none.
    var isEmpty: Bool { table?.isEmpty ?? list.isEmpty }

    /// How many there are.
    var count: Int { table?.count ?? list.count }

    /// All of them by number.
    var inOrder: [ObjectReference] { table?.sorted() ?? list }

    /// Whether a member is one of them.
    func contains(_ member: ObjectReference) -> Bool {
        table?.contains(member) ?? (place(of: member) != nil)
    }

    /// Adds a member; without effect for one that is there.
    mutating func insert(_ member: ObjectReference) {
        if table == nil {
            guard let last = list.last, last.number >= member.number else {
                return list.append(member)
            }
            if last == member { return }
            useTable()
        }
        table?.insert(member)
    }

    /// Takes a member out; false for one that is not there.
    mutating func remove(_ member: ObjectReference) -> Bool {
        if table == nil {
            guard let place = place(of: member) else { return false }
            if list.count <= Self.shortList {
                list.remove(at: place)
                return true
            }
            useTable()
        }
        return table?.remove(member) != nil
    }

    private mutating func useTable() {
        table = Set(list)
        list = []
    }

    private func place(of member: ObjectReference) -> Int? {
        guard let last = list.last, member.number <= last.number else { return nil }
        var (low, high) = (0, list.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if list[middle].number < member.number { low = middle + 1 } else { high = middle }
        }
        return list[low] == member ? low : nil
    }
}
