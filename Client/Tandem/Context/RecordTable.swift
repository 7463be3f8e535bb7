import TandemModel

/// The records of a context, by object number.
///
/// The table is a class, so that ``RowsAnswer`` can look up records without the context.
final class RecordTable {
    private var records: [ObjectNumber: ObjectRecord] = [:]
    /// Excludes most numbers without a record; at most one in eight of them needs a table look-up.
    private var filter = NumberFilter()

    /// The number of times that a record was set; while it is unchanged, no record was added.
    private(set) var additions = 0

    /// The number of records.
    var count: Int { records.count }

    /// The record with this number.
    subscript(number: ObjectNumber) -> ObjectRecord? {
        @inline(__always) get { additions > 0 && filter.mayHold(number) ? records[number] : nil }
        set {
            records[number] = newValue
            if newValue == nil { return }
            additions += 1
            if filter.isFull { filter = NumberFilter(records.keys) } else { filter.insert(number) }
        }
    }

    /// Removes the records that satisfy a predicate.
    func removeAll(where matches: (ObjectRecord) -> Bool) {
        records = records.filter { !matches($0.value) }
        filter = NumberFilter(records.keys)
    }
}

extension RecordTable: Sequence {
    var underestimatedCount: Int { count }

    /// Iterates over the records in no particular order; changes made during the iteration are not
    /// visible.
    func makeIterator() -> Dictionary<ObjectNumber, ObjectRecord>.Values.Iterator {
        records.values.makeIterator()
    }
}
