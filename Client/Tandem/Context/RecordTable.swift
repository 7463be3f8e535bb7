import TandemModel

/// The records of a context, by the numbers of their objects.
///
/// One of them may pass by: it stands for a row as long as a value is made of that, is found like the others meanwhile, and leaves no
/// trace unless it is kept. That costs nothing but a look at it; all else costs what a dictionary does.
struct RecordTable {
    private var kept: [ObjectNumber: ObjectRecord] = [:]
    /// Where a record passes by.
    let passage = Passage()

    /// How many records there are.
    var count: Int { kept.count + (passage.record == nil ? 0 : 1) }

    /// The record of a number; what is set takes the place of one that passes by.
    subscript(number: ObjectNumber) -> ObjectRecord? {
        get {
            if let passing = passage.record, passing.reference.number == number { return passing }
            return kept.isEmpty ? nil : kept[number]
        }
        set {
            if passage.record?.reference.number == number { passage.end() }
            kept[number] = newValue
        }
    }

    /// Whether there is a record of a number, apart from one that passes by.
    func keeps(_ number: ObjectNumber) -> Bool { !kept.isEmpty && kept[number] != nil }

    /// Drops those that nobody needs; never the one that passes by, of which a value is being made.
    mutating func removeAll(where isUseless: (ObjectRecord) -> Bool) {
        kept = kept.filter { !isUseless($0.value) }
    }

    /// Keeps a record that passed by like the others.
    mutating func keep(_ record: ObjectRecord) { kept[record.reference.number] = record }

    /// Keeps the record that passes by like the others.
    mutating func keepPassing() {
        guard let record = passage.record else { return }
        passage.end()
        keep(record)
    }
}

/// Where a record passes by: a place of its own, so that for each row nothing but it is touched.
///
/// State: the record, of which row and object are lent as long as it is here.
final class Passage {
    // It is assigned, and what is let go of runs nobody's code: the object that has the record is held by who lends it.
    @exclusivity(unchecked) private(set) var record: ObjectRecord?

    /// Lets a record of a number that is not in the table pass by.
    @inline(__always)
    func pass(_ record: ObjectRecord) { self.record = record }

    /// Lets go of the record that passes by; says whether it still was there.
    @inline(__always)
    func leave() -> Bool {
        let isThere = record != nil
        record = nil
        return isThere
    }

    /// Makes the record that passes by one like the others, which has its row for itself.
    fileprivate func end() {
        record?.settle()
        record = nil
    }
}

extension RecordTable: Sequence {
    /// Gives the records in no order.
    struct Iterator: IteratorProtocol {
        fileprivate var kept: Dictionary<ObjectNumber, ObjectRecord>.Values.Iterator
        fileprivate var passing: ObjectRecord?

        mutating func next() -> ObjectRecord? {
            if let record = kept.next() { return record }
            defer { passing = nil }
            return passing
        }
    }

    var underestimatedCount: Int { count }

    func makeIterator() -> Iterator {
        Iterator(kept: kept.values.makeIterator(), passing: passage.record)
    }
}
