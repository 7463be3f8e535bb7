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
    /// The objects of the rows, ascending unless there are several entities.
    private var numbers: [ObjectNumber] = []
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

    private func read(_ range: KeyRange, _ left: inout Int) throws(StoreError) -> KeyRange? {
        let tag = UInt16(range.lower[0]) << 8 | UInt16(range.lower[1])
        let entity = store.model?.entity(tagged: tag)
        var budget = left
        var rest: KeyRange?
        try store.current.scan(store.tables.rows, from: range.lower) {
            (key, value) throws(StoreError) -> Bool in
            guard range.isBelowEnd(key) else { return false }
            guard budget > 0 else {
                rest = KeyRange(lower: Array(key), upper: range.upper)
                return false
            }
            budget -= 1
            let number = UnsafeRawBufferPointer(rebasing: key[min(2, key.count)...])
            let object = try store.object(tag, number, in: .rows)
            let row = try store.rowView(object, at: value, of: entity)
            let version = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
            rows.append(object, version: version, row: row.bytes)
            numbers.append(object.number)
            return true
        }
        left = budget
        return rest
    }

    /// The rows in order; nil where there is one that the index lacks, or the other way round.
    private func arrange() -> StoredObjects? {
        let wanted = order.numbers
        guard wanted.count == numbers.count, let places = PlacesOfNumbers(numbers) else {
            return nil
        }
        var order: [Int] = []
        order.reserveCapacity(wanted.count)
        for number in wanted {
            guard let place = places[number] else { return nil }
            order.append(place)
        }
        return rows.arranged(order.count) { order[$0] }
    }
}
