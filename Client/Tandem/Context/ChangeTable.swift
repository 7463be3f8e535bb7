import TandemModel

/// The net changes of a group, found by number: made once for all who step over it.
///
/// A group's changes stand in the order of a transaction, by entity tag, then number; so each tag's part is searched by
/// halves, and there is no table to fill. Making it costs O(changes) where they are in order, finding one
/// O(tags · log changes).
struct ChangeTable: Sendable {
    /// The changes by entity tag, then number.
    let all: [Change]
    /// The numbers of `all`, side by side.
    private let numbers: [ObjectNumber]
    /// The parts of `all` that are of one tag each.
    private let parts: [Range<Int>]

    /// A table of changes of different objects.
    init(_ changes: [Change]) {
        let isSorted = zip(changes, changes.dropFirst()).allSatisfy {
            ($0.object.tag, $0.object.number) < ($1.object.tag, $1.object.number)
        }
        let all =
            isSorted
            ? changes
            : changes.sorted {
                ($0.object.tag, $0.object.number) < ($1.object.tag, $1.object.number)
            }
        var parts: [Range<Int>] = []
        for at in all.indices {
            if at > 0, all[at].object.tag == all[at - 1].object.tag {
                parts[parts.count - 1] = parts[parts.count - 1].lowerBound..<(at + 1)
            } else {
                parts.append(at..<(at + 1))
            }
        }
        self.all = all
        self.parts = parts
        numbers = all.map(\.object.number)
    }

    /// The change of an object.
    subscript(number: ObjectNumber) -> Change? { index(of: number).map { all[$0] } }

    /// The place of an object's change in `all`.
    func index(of number: ObjectNumber) -> Int? {
        for part in parts {
            var (low, high) = (part.lowerBound, part.upperBound)
            while low < high {
                let middle = (low + high) / 2
                if numbers[middle] < number { low = middle + 1 } else { high = middle }
            }
            if low < part.upperBound, numbers[low] == number { return low }
        }
        return nil
    }
}
