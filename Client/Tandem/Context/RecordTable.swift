import TandemModel

/// The records of a context, by object number.
///
/// One record may be that of a flyweight. While values are made of its row it is found like any
/// other record; afterwards it disappears unless it is kept. Finding it costs one comparison;
/// finding any other record costs a dictionary access.
struct RecordTable {
    private var kept: [ObjectNumber: ObjectRecord] = [:]
    /// Excludes most numbers without a record; at most one in eight of them needs a table look-up.
    private var filter = NumberFilter()
    /// The slot of the flyweight's record.
    let passage = Passage()

    /// The number of records.
    var count: Int { kept.count + (passage.record == nil ? 0 : 1) }

    /// The record of a number; setting it replaces the record of a flyweight.
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

    /// Returns whether there is a record of a number, other than that of the flyweight.
    @inline(__always)
    func keeps(_ number: ObjectNumber) -> Bool { filter.mayHold(number) && kept[number] != nil }

    /// Removes unused records; never that of the flyweight, whose values are being read.
    mutating func removeAll(where isUseless: (ObjectRecord) -> Bool) {
        kept = kept.filter { !isUseless($0.value) }
        filter = NumberFilter(kept.keys)
    }

    /// Adds the record of a former flyweight.
    mutating func keep(_ record: ObjectRecord) { keep(record, as: record.reference.number) }

    private mutating func keep(_ record: ObjectRecord, as number: ObjectNumber) {
        kept[number] = record
        if filter.isFull { filter = NumberFilter(kept.keys) } else { filter.insert(number) }
    }

    /// Makes the record of the flyweight permanent and adds it.
    mutating func keepPassing() {
        guard let record = passage.record else { return }
        passage.end()
        keep(record)
    }
}

extension RecordTable: Sequence {
    /// Iterates over the records in no particular order.
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
