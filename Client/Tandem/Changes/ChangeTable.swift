import Algorithms
import TandemModel

/// The net changes of a group, indexed by object number; built once for all participants.
///
/// The changes are sorted as in a transaction: by entity tag, then number. Each tag's slice is
/// found by binary search, so no hash table has to be filled. Building costs O(changes) if they are
/// sorted; a look-up costs O(tags + log changes).
final class ChangeTable: Sendable {
    /// A table without changes.
    static let empty = ChangeTable([])

    /// The changes by entity tag, then number.
    let all: [Change]
    /// The slices of `all`, one for each tag.
    let parts: [Range<Int>]
    /// The object numbers of `all`, in the same order.
    private let numbers: [ObjectNumber]

    /// Creates a table of changes, each to a different object.
    init(_ changes: [Change]) {
        let all =
            ChangeTable.isSorted(changes)
            ? changes
            : changes.sorted {
                ($0.object.tag, $0.object.number) < ($1.object.tag, $1.object.number)
            }
        var parts: [Range<Int>] = []
        var start = 0
        for at in all.indices where at > 0 && all[at].object.tag != all[at - 1].object.tag {
            parts.append(start..<at)
            start = at
        }
        if start < all.count { parts.append(start..<all.count) }
        self.all = all
        self.parts = parts
        var numbers: [ObjectNumber] = []
        numbers.reserveCapacity(all.count)
        for at in all.indices { numbers.append(all[at].object.number) }
        self.numbers = numbers
    }

    private static func isSorted(_ changes: [Change]) -> Bool {
        var at = 1
        while at < changes.count {
            let (before, object) = (changes[at - 1].object, changes[at].object)
            if (before.tag, before.number) >= (object.tag, object.number) { return false }
            at += 1
        }
        return true
    }

    /// Returns the change to an object, or nil if the object did not change.
    subscript(number: ObjectNumber) -> Change? { index(of: number).map { all[$0] } }

    /// Returns the entity tag shared by the objects in a slice.
    func tag(of part: Range<Int>) -> EntityTag { all[part.lowerBound].object.tag }

    /// Returns the index of an object's change in `all`, or nil if the object did not change.
    func index(of number: ObjectNumber) -> Int? {
        numbers.withUnsafeBufferPointer { numbers in
            for part in parts {
                let slice = numbers[part]
                guard let first = slice.first, let last = slice.last, first <= number,
                    number <= last
                else { continue }
                let at = slice.partitioningIndex { $0 >= number }
                if slice[at] == number { return at }
            }
            return nil
        }
    }
}
