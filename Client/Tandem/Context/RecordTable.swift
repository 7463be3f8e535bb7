import TandemModel

/// The records of a context, by the numbers of their objects.
///
/// One of them may pass by: it stands for a row as long as a value is made of that, is found like the others meanwhile, and leaves no
/// trace unless it is kept. That costs nothing but a look at it; all else costs what a dictionary does.
struct RecordTable {
    private var kept: [ObjectNumber: ObjectRecord] = [:]
    /// The record that passes by.
    private(set) var passing: ObjectRecord?

    /// How many records there are.
    var count: Int { kept.count + (passing == nil ? 0 : 1) }

    /// The record of a number; what is set takes the place of one that passes by.
    subscript(number: ObjectNumber) -> ObjectRecord? {
        get {
            if let passing, passing.reference.number == number { return passing }
            return kept.isEmpty ? nil : kept[number]
        }
        set {
            if passing?.reference.number == number { passing = nil }
            kept[number] = newValue
        }
    }

    /// Drops those that nobody needs; never the one that passes by, of which a value is being made.
    mutating func removeAll(where isUseless: (ObjectRecord) -> Bool) {
        kept = kept.filter { !isUseless($0.value) }
    }

    // MARK: Passing by

    /// Lets a record of a number that is not in the table pass by.
    mutating func pass(_ record: ObjectRecord) { passing = record }

    /// Lets go of the record that passes by; says whether it still was there.
    mutating func leave() -> Bool {
        defer { passing = nil }
        return passing != nil
    }

    /// Keeps a record that passed by like the others.
    mutating func keep(_ record: ObjectRecord) { kept[record.reference.number] = record }

    /// Keeps the record that passes by like the others.
    mutating func keepPassing() {
        guard let record = passing else { return }
        passing = nil
        keep(record)
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

    func makeIterator() -> Iterator { Iterator(kept: kept.values.makeIterator(), passing: passing) }
}
