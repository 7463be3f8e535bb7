import TandemModel
import TandemQuery

/// The objects that a fetch has to look at, some at a time.
///
/// Between two steps it remembers keys, never a cursor of LMDB, so that the store may change and be checkpointed meanwhile.
/// What changes may then be missed, or found twice: ``FetchCursor/touch(_:)`` settles it.
struct FetchCandidates {
    private let request: CompiledRequest
    /// Where keys are read; nil when the objects are known.
    private let table: StoreTable?
    /// The bytes before the number in a key of `table`, or before the tuple in an index.
    private let stem: Int
    /// What of `table` is yet to be read, the next range last.
    private var ranges: [AccessPath.KeyRange]
    /// Objects that an index or a relationship led to; looked at in order when `ranges` is empty.
    private var objects = RunMerge<ObjectReference>(by: <)
    private var isMerged = false
    /// How many of them were looked at.
    private var seen = 0
    private var last: ObjectReference?

    init(_ path: AccessPath, _ request: CompiledRequest, _ store: Store) throws(StoreError) {
        self.request = request
        switch path {
        case .scan:
            let tags =
                request.request.includesSubentities
                ? request.entity.descendants : [request.entity.tag]
            (table, stem) = (.rows, 2)
            ranges = tags.map { AccessPath.KeyRange(lower: StoreKey.tag($0), upper: nil) }
        case .members(let owner, let link, _):
            let prefix = StoreKey.links(link, of: owner.number)
            (table, stem) = (.links, prefix.count)
            ranges = [AccessPath.KeyRange(lower: prefix, upper: AccessPath.successor(prefix))]
        case .unique(let index, let value):
            (table, stem, ranges) = (nil, 0, [])
            objects.add(try store.holder(index, value))
        case .index(_, let found):
            (table, stem, ranges) = (.indexes, 2, found)
        }
        ranges.reverse()
    }

    /// Whether there are no more.
    var isDone: Bool { isMerged && seen == objects.whole.count }

    /// About the bytes that it holds.
    var bytes: Int { objects.bytes }

    /// Looks at the next ones, each in `judge`, until they or `budget` are used up.
    mutating func step(
        _ store: Store, _ budget: inout Int, _ judge: FetchMatches
    ) throws(StoreError) {
        while budget > 0, let range = ranges.popLast() {
            if let rest = try read(range, store, &budget, judge) { ranges.append(rest) }
        }
        guard ranges.isEmpty, objects.step(&budget) else { return }
        isMerged = true
        let objects = objects.whole
        while budget > 0, seen < objects.count {
            let object = objects[seen]
            seen += 1
            // Ranges of one condition may meet, and a key may have moved from one to another meanwhile.
            if object != last, request.includes(tag: object.tag) {
                try judge.look(at: object, &budget)
            }
            last = object
        }
    }

    /// Reads keys of a range; returns what is left of it.
    private mutating func read(
        _ range: AccessPath.KeyRange, _ store: Store, _ budget: inout Int, _ judge: FetchMatches
    ) throws(StoreError) -> AccessPath.KeyRange? {
        guard let table else { return nil }
        let tag = UInt16(range.lower[0]) << 8 | UInt16(range.lower[1])
        let (stem, isScan) = (stem, table == .rows)
        var left = budget
        var rest: AccessPath.KeyRange?
        var found: [ObjectReference] = []
        try store.current.scan(isScan ? store.tables.rows : store.table(table), from: range.lower) {
            (key, value) throws(StoreError) -> Bool in
            guard key.count >= 2, key.bigEndian(0, as: UInt16.self) == tag else { return false }
            if let upper = range.upper, !key.lexicographicallyPrecedes(upper) { return false }
            if left <= 0 {
                rest = AccessPath.KeyRange(lower: Array(key), upper: range.upper)
                return false
            }
            let end = UnsafeRawBufferPointer(rebasing: key[min(stem, key.count)...])
            if isScan {
                try judge.judge(try store.object(tag, end, in: table), value, &left)
            } else {
                found.append(try store.object(endOf: end, value, in: table))
                left -= 1
            }
            return true
        }
        objects.add(found.sorted())
        budget = left
        return rest
    }
}

extension Store {
    fileprivate func table(_ table: StoreTable) -> LMDBTable {
        table == .links ? tables.links : tables.indexes
    }

    /// Who holds a unique value, if somebody does.
    fileprivate func holder(
        _ index: CompiledIndex, _ value: Value
    ) throws(StoreError) -> [ObjectReference] {
        var tuple = KeyEncoder()
        tuple.append(value)
        let hash = StableHash(tuple.bytes)
        let key =
            StoreKey.tag(index.id) + StoreKey.number(hash.first) + StoreKey.number(hash.second)
        return try current.get(tables.unique, key).map { bytes throws(StoreError) in
            [try holder(bytes)]
        } ?? []
    }
}
