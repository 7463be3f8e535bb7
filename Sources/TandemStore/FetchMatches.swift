import TandemModel
import TandemQuery

/// Judges the candidates of a fetch and puts those that match in order.
///
/// What is judged again (``forget(_:)``) is kept apart: only the last judgement of an object counts.
/// Bound to one thread.
final class FetchMatches {
    /// An object that matches; its tail is the place of its row in `rows`, or negative when that is read once the answer is known.
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
    /// Of such a list so many rows are kept, until there are more.
    private let rowsUpTo: Int
    private let keys = SortKeyArena()
    /// The rows of those that matched, where they are kept, in the order of judging.
    private var rows: [Store.Stored] = []
    /// Those judged since ``endRun()``, and where their keys begin.
    private var (found, runStart): ([Match], Int) = ([], 0)
    /// Those judged before, in order by run.
    private var runs: RunMerge<Match>
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
        if case .list(let hops) = part {
            notes = ListNotes(request, hops)
            rowsUpTo = hops.rowsUpTo
        } else {
            rowsUpTo = 0
        }
        runs = RunMerge(by: keys.precedes)
    }

    /// The store may have changed since the last step.
    func beginStep() { notes?.beginStep() }

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
        note(keys.add(object, key: key, tail: -1))
    }

    /// Reads and judges an object, if there is one.
    func look(at object: ObjectReference, _ left: inout Int) throws(StoreError) {
        if let net = past?.net(object) {
            guard let row = net.before else { return left -= 1 }
            let stored = Store.Stored(object: object, version: past?.position ?? 0, row: row)
            try row.withView { judge(object, $0, &left) { stored } }?.raise()
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
        try store.current.lend { () throws(StoreError) in
            try judge(object, row, &left) { Store.stored(object, value) }?.raise()
        }
    }

    /// Judges an object by its row, which is copied only if it is kept; returns why it can't be.
    private func judge(
        _ object: ObjectReference, _ row: RowView, _ left: inout Int,
        _ stored: () -> Store.Stored?
    ) -> StoreError? {
        rowsRead += 1
        left -= 1
        budget.beginObject()
        defer { left -= budget.takeSpent() }
        guard let matches = request.matches(object, row, reader) else { return unsettled }
        guard matches else { return nil }
        guard limit != 0 else {
            note(keys.add(object, key: [], tail: -1))
            return nil
        }
        guard let key = key(object, row) else { return unsettled }
        note(keys.add(object, key: key, tail: keep(stored)))
        return nil
    }

    /// The sort key of a match, of which is noted what a list needs; nil when that is not known.
    private func key(_ object: ObjectReference, _ row: RowView) -> [UInt8]? {
        guard notes != nil else { return request.sortKey(object, row, reader) }
        let before = notes?.bytes ?? 0
        defer { bytes += (notes?.bytes ?? 0) - before }
        return notes?.note(object, row, request, reader)
    }

    /// Keeps a row if rows are kept; the place of what is kept for it, or -1.
    private func keep(_ stored: () -> Store.Stored?) -> Int32 {
        if let notes { return keep(at: notes.count - 1, stored) }
        guard keepsRows, rows.count < Int32.max, let stored = stored() else { return -1 }
        add(stored)
        return Int32(rows.count - 1)
    }

    /// Keeps the row of what was noted last, unless there are too many for the answer to have rows.
    private func keep(at ordinal: Int, _ stored: () -> Store.Stored?) -> Int32 {
        if ordinal >= rowsUpTo {
            letRowsGo()
        } else if ordinal == rows.count, let stored = stored() {
            add(stored)
        }
        return Int32(clamping: ordinal)
    }

    private func add(_ stored: Store.Stored) {
        rows.append(stored)
        bytes += size(of: stored)
    }

    private func letRowsGo() {
        guard !rows.isEmpty else { return }
        bytes -= rows.reduce(0) { $0 + size(of: $1) }
        rows = []
    }

    private func size(of stored: Store.Stored) -> Int {
        MemoryLayout<Store.Stored>.stride + stored.row.bytes.count
    }

    /// Why something is not known.
    private var unsettled: StoreError {
        budget.refusal ?? budget.failure ?? store.unreadable
    }

    private func note(_ match: Match) {
        if !again.isEmpty, again.index(forKey: match.object) != nil {
            again.updateValue(match, forKey: match.object)
            bytes += MemoryLayout<Match>.stride + match.keyBytes
            return
        }
        if enough != nil { sure.insert(match.object) }
        if limit == 0 {
            counted.append(match.object)
            bytes += MemoryLayout<ObjectReference>.stride
            return
        } else {
            found.append(match)
        }
        bytes += MemoryLayout<Match>.stride + match.keyBytes
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

    /// Puts those judged since the last call in order.
    func endRun() {
        defer { runStart = keys.count }
        guard !found.isEmpty else { return }
        found.sort(by: keys.precedes)
        keys.lay(&found, behind: runStart)
        runs.add(found)
        found = []
    }

    /// Puts all in one order, as far as `budget` goes; true when that is done.
    func merge(_ budget: inout Int) -> Bool { runs.step(&budget) }

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
    var references: FoundReferences { FoundReferences(runs.whole, again, keys, bytes: bytes) }

    /// Where matches stand, if they are those of a list and too many for their rows.
    func places(of matches: ArraySlice<Match>) -> ListPlaces? {
        matches.count > rowsUpTo ? notes?.places(of: matches, keys) : nil
    }

    /// The row of a match, if it is still there.
    func stored(_ match: Match) throws(StoreError) -> Store.Stored? {
        if rows.indices.contains(Int(match.tail)) { return rows[Int(match.tail)] }
        guard let past else { return try store.stored(match.object) }
        return try past.stored(match.object, in: store)
    }

    /// The last judgement of each object.
    private func settled() -> [Match] {
        var merge = RunMerge<Match>(by: keys.precedes)
        merge.add(runs.whole.filter { again.index(forKey: $0.object) == nil })
        merge.add(again.values.compactMap { $0 }.sorted(by: keys.precedes))
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
