import TandemModel
import TandemQuery

/// Judges the candidates of a fetch and puts those that match in order.
///
/// What is judged again (``forget(_:)``) is kept apart: only the last judgement of an object counts.
/// Bound to one thread.
final class FetchMatches {
    /// An object that matches; its ordinal is that of its row and of what is noted of it, where these are kept.
    typealias Match = SortKeyArena.Entry

    private let request: CompiledRequest
    private let part: FetchPart
    private let store: Store
    private let budget: ReadBudget
    private let reader: PastReader
    /// When it is fetched; nil for now.
    private let past: PastGraph?
    private let limit: Int?
    /// Whether every row that matches is in the answer.
    private let keepsRows: Bool
    /// What is noted for a list that is opened.
    private var notes: ListNotes?
    /// Of such a list with no more objects than this the rows are wanted.
    private let rowsUpTo: Int
    /// So many rows are kept, until there are more.
    private let keptUpTo: Int
    private let keys: GroupedKeys
    /// The position whose related objects `keys` knows.
    private var knownAt: UInt64
    private let arena: SortKeyArena
    /// The rows of those that matched, where they are kept, in the order of judging.
    private var rows = StoredObjects()
    /// Those judged since ``endRun()``; where keys are grouped, all.
    private var found: [Match] = []
    /// Those judged before, in order by run; where keys are grouped, all once they are in order.
    private var runs: RunMerge<Match>
    /// Puts those of groups in order.
    private var sort: GroupedSort?
    /// Where only their number is wanted.
    private var counted: [ObjectReference] = []
    /// What was judged more than once; nil for what does not match, or is not judged yet.
    private var again: [ObjectReference: Match?] = [:]
    /// Those of them that were found on the way through the candidates and not judged again, where a number of them is enough.
    private var sure: Set<ObjectReference> = []
    /// So many of the first make up the answer, where candidates come in its order.
    private let enough: Int?
    private(set) var rowsRead = 0
    /// How many keys were read that lead to candidates.
    private(set) var keysRead = 0
    /// About what the matches take in memory.
    private(set) var bytes = 0

    init(
        _ request: CompiledRequest, _ plan: FetchPlan, _ part: FetchPart, _ store: Store,
        _ past: PastGraph?
    ) {
        self.request = request
        self.part = part
        enough = plan.isOrdered && part != .count ? request.wanted : nil
        self.store = store
        self.past = past
        budget = store.readBudget()
        reader = PastReader(store: StoreReader(store, budget: budget), past: past)
        limit = part == .count ? 0 : request.request.limit.map { max(0, $0) }
        keepsRows = part == .rows && limit == nil
        knownAt = store.appliedPosition
        if case .list(let hops) = part {
            keys = GroupedKeys(of: request, sections: true)
            notes = ListNotes(hops, keys)
            rowsUpTo = hops.rowsUpTo
        } else {
            keys = GroupedKeys(of: request)
            rowsUpTo = 0
        }
        // Rows that are not looked at can't be kept.
        keptUpTo = plan.needsNoRows(for: part) ? 0 : rowsUpTo
        arena = SortKeyArena(keys)
        runs = RunMerge(by: arena.precedes)
    }

    /// The store may have changed since the last step.
    func beginStep() {
        guard knownAt != store.appliedPosition else { return }
        knownAt = store.appliedPosition
        keys.forgetRelated()
        notes?.forgetRelated()
    }

    /// Whether the first ones, which make up the answer, were found, if no candidates that were passed are judged again.
    var hasEnough: Bool { enough.map { sure.count >= $0 } ?? false }

    /// Notes that keys were read which lead to candidates.
    func noteKeys(_ count: Int) { keysRead += count }

    /// Whether the object was another at the position that is read, so that what leads to it now says nothing.
    func isPast(_ object: ObjectReference) -> Bool { past?.net(object) != nil }

    // MARK: Judging

    /// Takes an object that matches, as its place in an index says, with its sort key.
    func take(_ object: ObjectReference, key: [UInt8]) {
        guard !isPast(object) else { return }
        note(arena.add(object, key))
    }

    /// Takes an object that matches, as its place in an index says, with its related object and the rest of its key; false when it has to be
    /// looked at, as nothing is known of the related one yet.
    @inline(__always)
    func take(
        _ object: ObjectReference, related: ObjectNumber?, rest: UnsafeRawBufferPointer
    ) -> Bool {
        guard !isPast(object) else { return true }
        let before = notes?.bytes ?? 0
        guard let place = keys.place(knowing: related), notes?.note(at: place) ?? true else {
            return false
        }
        if let after = notes?.bytes {
            bytes += after - before + keys.prefixBytes(place.group) + rest.count
        }
        note(arena.add(object, rest, group: place.group))
        return true
    }

    /// Reads and judges an object, if there is one.
    func look(at object: ObjectReference, _ left: inout Int) throws(StoreError) {
        if let net = past?.net(object) {
            guard let row = net.before else { return left -= 1 }
            let version = past?.position ?? 0
            try row.withView { judge(object, version, $0, &left) }?.raise()
        } else if let value = try store.current.get(store.tables.rows, SmallKey(row: object)) {
            try judge(object, value, &left)
        } else {
            left -= 1
        }
    }

    /// Judges an object where its row lies, unless that was undone.
    ///
    /// Takes one from the budget, and one for each related object that is read. Throws `damaged` for what is no row of the
    /// object's entity.
    func judge(
        _ object: ObjectReference, _ value: UnsafeRawBufferPointer, _ left: inout Int
    ) throws(StoreError) {
        guard past?.net(object) == nil else { return left -= 1 }
        let row = try store.rowView(object, at: value)
        let version = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
        try store.current.lend { () throws(StoreError) in
            try judge(object, version, row, &left)?.raise()
        }
    }

    /// Judges an object by its row, which is copied only if it is kept; returns why it can't be.
    private func judge(
        _ object: ObjectReference, _ version: UInt64, _ row: RowView, _ left: inout Int
    ) -> StoreError? {
        rowsRead += 1
        left -= 1
        budget.beginObject()
        defer { left -= budget.takeSpent() }
        guard let matches = request.matches(object, row, reader) else { return unsettled }
        guard matches else { return nil }
        guard limit != 0 else {
            note(arena.add(object, []))
            return nil
        }
        guard let match = match(object, row) else { return unsettled }
        keep(row, of: match, version)
        note(match)
        return nil
    }

    /// A match with its sort key, of which is noted what a list needs; nil when that is not known.
    private func match(_ object: ObjectReference, _ row: RowView) -> Match? {
        let before = keys.bytes + (notes?.bytes ?? 0)
        defer { bytes += keys.bytes + (notes?.bytes ?? 0) - before }
        guard let place = keys.place(of: object, row, reader),
            notes?.note(row, at: place, request, reader) ?? true
        else { return nil }
        // The answer to who opens a list has whole keys, however many begin alike.
        if notes != nil { bytes += keys.prefixBytes(place.group) + keys.rest.bytes.count }
        return arena.add(object, keys.rest.bytes, group: place.group)
    }

    /// Keeps the row of what matched last if rows are kept: all, or those of a list until there are too many for the answer to have rows.
    private func keep(_ row: RowView, of match: Match, _ version: UInt64) {
        guard keepsRows || match.ordinal < keptUpTo else { return letRowsGo() }
        let before = rows.byteCount
        rows.append(match.object, version: version, row: row.bytes)
        bytes += rows.byteCount - before + MemoryLayout<Int>.stride
    }

    private func letRowsGo() {
        guard !rows.isEmpty else { return }
        bytes -= rows.byteCount + rows.count * MemoryLayout<Int>.stride
        rows = StoredObjects()
    }

    /// Why something is not known.
    private var unsettled: StoreError {
        budget.refusal ?? budget.failure ?? store.unreadable
    }

    private func note(_ match: Match) {
        let size = MemoryLayout<Match>.stride + MemoryLayout<Int>.stride
        if !again.isEmpty, again.index(forKey: match.object) != nil {
            again.updateValue(match, forKey: match.object)
            bytes += size + arena.bytes(of: match).count
            return
        }
        if enough != nil { sure.insert(match.object) }
        if limit == 0 {
            counted.append(match.object)
            bytes += MemoryLayout<ObjectReference>.stride
            return
        }
        found.append(match)
        bytes += size + arena.bytes(of: match).count
    }

    /// What was judged of an object counts no more: it is judged again.
    ///
    /// What was kept for it stays until the end.
    func forget(_ object: ObjectReference) {
        sure.remove(object)
        guard again.updateValue(nil, forKey: object) == nil else { return }
        bytes += MemoryLayout<Match?>.stride
    }

    // MARK: In order

    /// Puts those judged since the last call in order, unless all are put in order by groups.
    func endRun() {
        guard !found.isEmpty, !keys.isGrouped else { return }
        found.sort(by: arena.precedesInGroup)
        runs.add(found)
        found = []
    }

    /// Puts all in one order, as far as `budget` goes; true when that is done.
    func merge(_ budget: inout Int) -> Bool {
        if !found.isEmpty {
            sort = GroupedSort(found, groups: keys.prefixes.count, keys, arena)
            bytes += found.count * MemoryLayout<Match>.stride
            found = []
        }
        if sort != nil {
            guard sort?.step(&budget) ?? true else { return false }
            runs.add(sort?.whole ?? [])
            sort = nil
        }
        return runs.step(&budget)
    }

    /// How many match: all for a count and without a limit, else up to the last one that is wanted.
    var count: Int {
        guard part != .count, let wanted = request.wanted else { return all }
        return min(wanted, all)
    }

    /// How many are known to match.
    private var all: Int {
        let late = again.values.count { $0 != nil }
        if again.isEmpty { return counted.count + runs.whole.count }
        return late + counted.count { again.index(forKey: $0) == nil }
            + runs.whole.count { again.index(forKey: $0.object) == nil }
    }

    /// The matches from offset to limit, in the request's order; after ``merge(_:)`` returned true.
    func answer() -> ArraySlice<Match> {
        guard limit != 0 else { return [] }
        let found = again.isEmpty ? runs.whole : settled()
        let start = min(max(0, request.request.offset), found.count)
        // A client may ask for any numbers: nothing is added up that could overflow.
        let wanted = limit.map { min($0, found.count - start) }
        return found[start..<(start + (wanted ?? found.count - start))]
    }

    /// The matches, where others than their number are wanted, to be gone through in steps; after ``merge(_:)`` returned true.
    var references: FoundReferences { FoundReferences(runs.whole, again, arena, bytes: bytes) }

    /// Where matches stand, if they are those of a list and too many for their rows.
    func places(of matches: ArraySlice<Match>) throws(StoreError) -> ListPlaces? {
        matches.count > rowsUpTo ? try notes?.places(of: matches, arena, keys) : nil
    }

    /// The rows of matches, read now where they were not kept; throws where one is not there.
    func objects(of matches: ArraySlice<Match>) throws(StoreError) -> StoredObjects {
        if matches.allSatisfy({ $0.ordinal < rows.count }) {
            return matches.withUnsafeBufferPointer { matches in
                rows.arranged(matches.count) { Int(matches[$0].ordinal) }
            }
        }
        var objects = StoredObjects()
        for match in matches {
            guard let stored = try stored(match) else { throw store.unreadable }
            objects.append(stored)
        }
        return objects
    }

    private func stored(_ match: Match) throws(StoreError) -> Store.Stored? {
        if match.ordinal < rows.count { return rows[Int(match.ordinal)] }
        guard let past else { return try store.stored(match.object) }
        return try past.stored(match.object, in: store)
    }

    /// The last judgement of each object.
    private func settled() -> [Match] {
        var merge = RunMerge<Match>(by: arena.precedes)
        merge.add(runs.whole.filter { again.index(forKey: $0.object) == nil })
        merge.add(again.values.compactMap { $0 }.sorted(by: arena.precedes))
        var budget = Int.max
        _ = merge.step(&budget)
        return merge.whole
    }
}

extension Store {
    var unreadable: StoreError {
        StoreError(
            .damaged, "the store at \(path) lacks something that a row or the request refers to")
    }
}

extension StoreError {
    fileprivate func raise() throws(StoreError) { throw self }
}
