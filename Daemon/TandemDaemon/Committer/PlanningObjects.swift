import Algorithms
import TandemIO
import TandemModel

/// The objects of a save while it is planned, by number.
///
/// Clients usually send changes in the order of object numbers. Such objects are kept in a sorted
/// array, and found by binary search. Objects that arrive out of order, such as those at the other
/// ends of links, are kept in a hash table.
struct PlanningObjects {
    /// The objects whose numbers arrived in ascending order.
    private var run: [PlanningObject] = []
    /// The other objects.
    private var others: [ObjectNumber: PlanningObject] = [:]

    /// Creates an empty set with capacity for `capacity` objects.
    init(capacity: Int) { run.reserveCapacity(capacity) }

    /// The number of objects.
    var count: Int { run.count + others.count }

    /// Returns the object with a number.
    subscript(number: ObjectNumber) -> PlanningObject? {
        if let first = run.first, let last = run.last,
            (first.object.number...last.object.number).contains(number)
        {
            let found = run[index(of: number)]
            if found.object.number == number { return found }
        }
        return others.isEmpty ? nil : others[number]
    }

    /// Adds an object whose number is not in the set.
    mutating func append(_ working: PlanningObject) {
        let number = working.object.number
        assert(self[number] == nil, "The set contains each number at most once.")
        if let last = run.last, last.object.number > number {
            others[number] = working
        } else {
            run.append(working)
        }
    }

    /// The objects, sorted by number.
    var inOrder: [PlanningObject] {
        if others.isEmpty { return run }
        var all: [PlanningObject] = []
        all.reserveCapacity(count)
        var next = 0
        for number in others.keys.sorted() {
            while next < run.count, run[next].object.number < number {
                all.append(run[next])
                next += 1
            }
            if let working = others[number] { all.append(working) }
        }
        all += run[next...]
        assert(all.count == count, "Each object is in the sorted array or in the table.")
        assert(
            !Invariants.walk(count)
                || zip(all, all.dropFirst()).allSatisfy { $0.object.number < $1.object.number },
            "The objects are sorted by number.")
        return all
    }

    /// Returns the first index whose number is `number` or higher; there must be one.
    private func index(of number: ObjectNumber) -> Int {
        run.partitioningIndex { $0.object.number >= number }
    }
}
