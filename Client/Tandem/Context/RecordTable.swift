import TandemModel

/// The records of a context, by the numbers of their objects.
///
/// One of them may pass by: it stands for a row as long as a value is made of that, is found like the others meanwhile, and leaves no
/// trace unless it is kept. That costs nothing but a look at it; all else costs what a dictionary does.
struct RecordTable {
    private var kept: [ObjectNumber: ObjectRecord] = [:]
    /// What most numbers that are not kept are told by: no more than one in eight goes on to the table.
    private var filter = NumberFilter()
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
            if let newValue { keep(newValue, as: number) } else { kept[number] = nil }
        }
    }

    /// Whether there is a record of a number, apart from one that passes by.
    @inline(__always)
    func keeps(_ number: ObjectNumber) -> Bool { filter.mayHold(number) && kept[number] != nil }

    /// Drops those that nobody needs; never the one that passes by, of which a value is being made.
    mutating func removeAll(where isUseless: (ObjectRecord) -> Bool) {
        kept = kept.filter { !isUseless($0.value) }
        filter = NumberFilter(kept.keys)
    }

    /// Keeps a record that passed by like the others.
    mutating func keep(_ record: ObjectRecord) { keep(record, as: record.reference.number) }

    private mutating func keep(_ record: ObjectRecord, as number: ObjectNumber) {
        kept[number] = record
        if filter.isFull { filter = NumberFilter(kept.keys) } else { filter.insert(number) }
    }

    /// Keeps the record that passes by like the others.
    mutating func keepPassing() {
        guard let record = passage.record else { return }
        passage.end()
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

    func makeIterator() -> Iterator {
        Iterator(kept: kept.values.makeIterator(), passing: passage.record)
    }
}
