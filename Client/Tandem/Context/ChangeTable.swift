import TandemModel

/// The net changes of a group, found by number: made once for all who step over it.
///
/// A group's changes stand in the order of a transaction, by entity tag, then number; so each tag's part is searched by
/// halves, and there is no table to fill. Making it costs O(changes) where they are in order, finding one
/// O(tags + log changes).
final class ChangeTable: Sendable {
    /// A table without changes.
    static let empty = ChangeTable([])

    /// The changes by entity tag, then number.
    let all: [Change]
    /// The parts of `all` that are of one tag each.
    let parts: [Range<Int>]
    /// The numbers of `all`, side by side.
    private let numbers: [ObjectNumber]

    /// A table of changes of different objects.
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

    /// The change of an object.
    subscript(number: ObjectNumber) -> Change? { index(of: number).map { all[$0] } }

    /// The tag of the objects of a part.
    func tag(of part: Range<Int>) -> EntityTag { all[part.lowerBound].object.tag }

    /// The place of an object's change in `all`.
    func index(of number: ObjectNumber) -> Int? {
        numbers.withUnsafeBufferPointer { numbers in
            for part in parts {
                var (low, high) = (part.lowerBound, part.upperBound)
                if numbers[high - 1] < number || numbers[low] > number { continue }
                while low < high {
                    let middle = (low + high) / 2
                    if numbers[middle] < number { low = middle + 1 } else { high = middle }
                }
                if low < part.upperBound, numbers[low] == number { return low }
            }
            return nil
        }
    }
}
