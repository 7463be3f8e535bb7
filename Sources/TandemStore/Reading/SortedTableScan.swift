import TandemIO
import TandemModel
import TandemQuery

/// A scan of all rows of a request's entities whose answer is ordered by the keys of an index.
///
/// No sort keys are made from rows. Bound to one thread at a time.
struct SortedTableScan {
    private let run: FetchRun
    private let order: ListIndexScan
    private(set) var rowsRead = 0

    /// Creates the scan of a plan; nil if the plan is not a scan ordered by an index.
    init?(_ run: FetchRun) {
        guard run.kind == .rows, run.plan.findsOnlyMatches, run.request.isWhole,
            case (.scan, .keys(let index, let places)) = (run.plan.access, run.plan.order),
            let order = ListIndexScan(
                run, places, [KeyRange(prefix: StoreKey.tag(index.id))], hops: nil)
        else { return nil }
        (self.run, self.order) = (run, order)
    }

    var keysRead: Int { order.keysRead }

    /// Returns the rows in order.
    ///
    /// Throws ``StoreError``: `damaged` if index and rows contradict each other, and the errors of
    /// the budget's check.
    mutating func read() throws(StoreError) -> StoredObjects {
        let numbers = try order.read()?.allPlaces(run.budget).numbers ?? []
        guard let places = NumberIndexMap(numbers) else { throw run.view.unreadable }
        var (rows, ordinals) = (StoredObjects(), [Int](repeating: -1, count: numbers.count))
        for tag in run.request.tags { try read(tag, places, &ordinals, into: &rows) }
        rowsRead = order.rowsRead + rows.count
        guard rows.count == ordinals.count else { throw run.view.unreadable }
        assert(
            !Invariants.walk(ordinals.count) || !ordinals.contains(-1),
            "There is a row at each index of the order.")
        return rows.arranged(ordinals.count) { ordinals[$0] }
    }

    /// The number of rows that are copied at a time.
    private static var copiedAtOnce: Int { 64 }

    private func read(
        _ tag: EntityTag, _ places: NumberIndexMap, _ ordinals: inout [Int],
        into rows: inout StoredObjects
    ) throws(StoreError) {
        let shape = run.view.model?.entity(tagged: tag).map { RowShape(of: $0) }
        let (transaction, table) = (try run.view.current, run.view.tables.rows)
        let decoder = run.view.decoder
        try withUnsafeTemporaryAllocation(
            of: StoredObjects.BorrowedObject.self, capacity: Self.copiedAtOnce
        ) { room throws(StoreError) in
            var filled = 0
            try transaction.scan(table, in: KeyRange(prefix: StoreKey.tag(tag))) {
                (key, value) throws(StoreError) in
                let number = UnsafeRawBufferPointer(rebasing: key[min(2, key.count)...])
                let object = try decoder.object(tag, number, in: .rows)
                let row = try decoder.rowView(object, at: value, shape)
                let version = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
                room.initializeElement(
                    at: filled,
                    to: StoredObjects.BorrowedObject(object, version: version, row: row.bytes))
                filled += 1
                guard filled == room.count else { return }
                try copy(UnsafeBufferPointer(room), places, &ordinals, into: &rows)
                filled = 0
            }
            try copy(
                UnsafeBufferPointer(rebasing: room[..<filled]), places, &ordinals, into: &rows)
        }
    }

    /// Copies rows, and records the ordinal of each row at its index in the sorted result.
    ///
    /// Throws if the index lacks a row.
    private func copy(
        _ lent: UnsafeBufferPointer<StoredObjects.BorrowedObject>, _ places: NumberIndexMap,
        _ ordinals: inout [Int], into rows: inout StoredObjects
    ) throws(StoreError) {
        let first = rows.count
        rows.append(lent)
        if first == 0 { rows.reserveCapacity(ordinals.count) }
        let areKnown = ordinals.withUnsafeMutableBufferPointer { ordinals in
            for at in lent.indices {
                guard let place = places[lent[at].object.number], ordinals[place] == -1 else {
                    return false
                }
                ordinals[place] = first + at
            }
            return true
        }
        guard areKnown else { throw run.view.unreadable }
        try run.budget.charge(lent.count, heldBytes: rows.byteCount + ordinals.count * 32)
    }
}
