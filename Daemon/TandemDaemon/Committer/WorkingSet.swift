import TandemModel

/// The objects of a save while it is planned, by number.
///
/// Savers send their changes by number as a rule: then the list is in order as it comes, and an object is found in it, or known
/// not to be there, without a table. The first that comes out of order makes one.
struct WorkingSet {
    /// In the order in which they came.
    private var list: [WorkingObject] = []
    /// Made when numbers no longer ascend.
    private var table: [ObjectNumber: WorkingObject]?

    /// An empty set with room for `capacity` objects.
    init(capacity: Int) { list.reserveCapacity(capacity) }

    /// How many objects there are.
    var count: Int { list.count }

    /// The object of a number.
    subscript(number: ObjectNumber) -> WorkingObject? {
        if let table { return table[number] }
        guard let last = list.last, number <= last.object.number else { return nil }
        if number == last.object.number { return last }
        let index = place(of: number)
        return list[index].object.number == number ? list[index] : nil
    }

    /// Adds an object whose number is not there.
    mutating func append(_ working: WorkingObject) {
        let number = working.object.number
        if table != nil {
            table?[number] = working
        } else if let last = list.last, last.object.number > number {
            table = Dictionary(uniqueKeysWithValues: list.map { ($0.object.number, $0) })
            table?[number] = working
        }
        list.append(working)
    }

    /// The objects by number.
    var inOrder: [WorkingObject] {
        table == nil ? list : list.sorted { $0.object < $1.object }
    }

    /// The first place with this number or a higher one, of which there is one.
    private func place(of number: ObjectNumber) -> Int {
        var (low, high) = (0, list.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if list[middle].object.number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
