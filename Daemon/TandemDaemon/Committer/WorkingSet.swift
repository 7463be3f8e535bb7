import TandemModel

/// The objects of a save while it is planned, by number.
///
/// Savers send their changes by number as a rule: then those form a run, in which an object is found by bisection. What comes out of
/// order, as the objects at the other ends of links do, has a table.
struct WorkingSet {
    /// Those whose numbers ascended as they came.
    private var run: [WorkingObject] = []
    /// The others.
    private var others: [ObjectNumber: WorkingObject] = [:]

    /// An empty set with room for `capacity` objects.
    init(capacity: Int) { run.reserveCapacity(capacity) }

    /// How many objects there are.
    var count: Int { run.count + others.count }

    /// The object of a number.
    subscript(number: ObjectNumber) -> WorkingObject? {
        if let first = run.first, let last = run.last,
            (first.object.number...last.object.number).contains(number)
        {
            let found = run[place(of: number)]
            if found.object.number == number { return found }
        }
        return others.isEmpty ? nil : others[number]
    }

    /// Adds an object whose number is not there.
    mutating func append(_ working: WorkingObject) {
        let number = working.object.number
        if let last = run.last, last.object.number > number {
            others[number] = working
        } else {
            run.append(working)
        }
    }

    /// The objects by number.
    var inOrder: [WorkingObject] {
        if others.isEmpty { return run }
        var all: [WorkingObject] = []
        all.reserveCapacity(count)
        var next = 0
        for number in others.keys.sorted() {
            while next < run.count, run[next].object.number < number {
                all.append(run[next])
                next += 1
            }
            if let working = others[number] { all.append(working) }
        }
        return all + run[next...]
    }

    /// The first place with this number or a higher one, of which there is one.
    private func place(of number: ObjectNumber) -> Int {
        var (low, high) = (0, run.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if run[middle].object.number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
