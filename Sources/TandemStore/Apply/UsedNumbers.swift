import TandemModel

/// The table of used object numbers, and the high-water mark above used and leased numbers.
final class UsedNumbers {
    private let table: LMDBTable
    /// The lowest object number above all numbers that are used or leased.
    private(set) var next: ObjectNumber = 1

    init(_ table: LMDBTable) { self.table = table }

    /// Restores the mark of the last checkpoint.
    func restore(_ next: ObjectNumber) { self.next = next }

    /// Raises the mark to a number, unless it is higher already.
    func raise(to number: ObjectNumber) {
        let before = next
        next = max(next, number)
        assert(next >= before && next >= number, "The mark is never lowered.")
    }

    /// Records the number of a new object as used; returns false if no number follows it.
    func use(_ object: ObjectReference, _ open: LMDBTransaction) throws(StoreError) -> Bool {
        guard let following = object.number.successor else { return false }
        try open.put(table, SmallKey(number: object.number), tag: object.tag)
        raise(to: following)
        return true
    }
}
