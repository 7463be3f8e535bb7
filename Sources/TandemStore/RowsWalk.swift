import TandemModel
import TandemQuery

/// All rows of a request's entities, read as they lie and put in order by the keys of an index, as long as nothing of them changes meanwhile.
///
/// No sort key is made of a row. Whoever learns that objects were altered lets it go and judges candidates one by one (``FetchMatches``). Bound
/// to one thread.
final class RowsWalk: FetchWalk {
    private let store: Store
    private let order: ListWalk
    private var scan: [KeyRange]
    private var rows = StoredObjects()
    /// Where the objects are to stand, once the order is known; nil too where one of them is to stand twice.
    private var places: PlacesOfNumbers?
    /// By the place where it is to stand, which of the rows it is, or -1 as long as that was not read.
    private var ordinals: [Int] = []
    /// Whether all rows that were read have a place, and each another.
    private var havePlaces = true
    private var arranged: StoredObjects?
    /// Where it began.
    private let position: UInt64
    /// Whether index and rows belong together, once that is known.
    private(set) var isFit = true

    /// A walk by a plan; nil for one that has no such order.
    init?(_ request: CompiledRequest, _ plan: FetchPlan, _ part: FetchPart, _ store: Store) {
        guard part == .rows, plan.decides, request.isWhole,
            case (.scan, .keys(let index, let places)) = (plan.access, plan.order),
            let order = ListWalk(
                request, places, [KeyRange(prefix: StoreKey.tag(index.id))], nil, store)
        else { return nil }
        self.store = store
        self.order = order
        position = store.appliedPosition
        scan = request.tags.map { KeyRange(prefix: StoreKey.tag($0)) }.reversed()
    }

    var isScanned: Bool { order.isScanned && scan.isEmpty }

    var count: Int { order.count }

    var bytes: Int { order.bytes + rows.byteCount + rows.count * 4 * MemoryLayout<Int>.stride }

    var rowsRead: Int { order.rowsRead + rows.count }

    var keysRead: Int { order.keysRead }

    /// Goes on until `budget` is used up; true when the answer is made, or when it turns out that there is none, since objects came or went
    /// meanwhile (``isFit``).
    ///
    /// Throws ``StoreError``, `damaged` where index and rows contradict each other though nothing happened.
    func step(_ budget: inout Int) throws(StoreError) -> Bool {
        guard try order.step(&budget) else { return false }
        if ordinals.isEmpty { beginRows() }
        while budget > 0, let range = scan.popLast() {
            if let left = try read(range, &budget) { scan.append(left) }
        }
        guard scan.isEmpty else { return false }
        if arranged == nil, isFit {
            arranged = arrange()
            isFit = arranged != nil
            guard isFit || store.appliedPosition != position else { throw store.unreadable }
        }
        return true
    }

    func fill(_ result: inout FetchResult) { result.objects = arranged ?? StoredObjects() }

    // MARK: Rows

    private func beginRows() {
        places = PlacesOfNumbers(order.numbers)
        ordinals = [Int](repeating: -1, count: order.count)
        havePlaces = places != nil
    }

    private func read(_ range: KeyRange, _ left: inout Int) throws(StoreError) -> KeyRange? {
        // It may begin where a step ended, with a key as the disk has it.
        guard range.lower.count >= 2 else { throw store.unreadable }
        let tag = UInt16(range.lower[0]) << 8 | UInt16(range.lower[1])
        let shape = store.model?.entity(tagged: tag).map { RowShape(of: $0) }
        let (transaction, table) = (try store.current, store.tables.rows)
        var budget = left
        defer { left = budget }
        return try withUnsafeTemporaryAllocation(
            of: StoredObjects.Lent.self, capacity: Self.takenAtOnce
        ) { room throws(StoreError) in
            var count = 0
            let rest = try transaction.scan(table, in: range) {
                (key, value) throws(StoreError) -> Bool in
                guard budget > 0 else { return false }
                budget -= 1
                let number = UnsafeRawBufferPointer(rebasing: key[min(2, key.count)...])
                let object = try store.object(tag, number, in: .rows)
                let row = try store.rowView(object, at: value, shape)
                let version = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
                room.initializeElement(
                    at: count, to: StoredObjects.Lent(object, version: version, row: row.bytes))
                count += 1
                if count == room.count {
                    take(UnsafeBufferPointer(room))
                    count = 0
                }
                return true
            }
            take(UnsafeBufferPointer(rebasing: room[..<count]))
            return rest
        }
    }

    /// So many rows are copied at once.
    private static var takenAtOnce: Int { 64 }

    /// Copies rows, and notes where they are to stand.
    private func take(_ lent: UnsafeBufferPointer<StoredObjects.Lent>) {
        let first = rows.count
        rows.append(lent)
        if first == 0 { rows.reserveCapacity(order.count) }
        guard havePlaces, let places else { return }
        havePlaces = ordinals.withUnsafeMutableBufferPointer { ordinals in
            for at in lent.indices {
                guard let place = places[lent[at].object.number], ordinals[place] == -1 else {
                    return false
                }
                ordinals[place] = first + at
            }
            return true
        }
    }

    /// The rows in order; nil where there is one that the index lacks, or the other way round.
    private func arrange() -> StoredObjects? {
        guard havePlaces, rows.count == ordinals.count else { return nil }
        return rows.arranged(ordinals.count) { ordinals[$0] }
    }
}
