import TandemModel
import TandemQuery

/// Judges the candidates of a fetch and puts those that match in order.
///
/// What is judged again (``forget(_:)``) is kept apart: only the last judgement of an object counts.
/// Bound to one thread.
final class FetchMatches {
    /// An object that matches; with its row unless that is read when the answer is known.
    struct Match {
        var key: [UInt8]
        var object: ObjectReference
        var stored: Store.Stored?

        static func precedes(_ a: Match, _ b: Match) -> Bool {
            a.key == b.key ? a.object < b.object : a.key.lexicographicallyPrecedes(b.key)
        }

        var bytes: Int {
            MemoryLayout<Match>.stride + key.count + (stored?.row.bytes.count ?? 0)
        }
    }

    private let request: CompiledRequest
    private let store: Store
    private let reader: StoreReader
    private let limit: Int?
    /// Whether every row that matches is in the answer.
    private let keepsRows: Bool
    /// Those judged since ``endRun()``.
    private var found: [Match] = []
    /// Those judged before, in order by run.
    private var runs = RunMerge<Match>(by: Match.precedes)
    /// Where only their number is wanted.
    private var counted: [ObjectReference] = []
    /// What was judged more than once; nil for what does not match, or is not judged yet.
    private var again: [ObjectReference: Match?] = [:]
    /// The candidate's row; given away with a row that is kept, else used again.
    private var buffer: [UInt8] = []
    private(set) var rowsRead = 0
    /// About what the matches take in memory.
    private(set) var bytes = 0

    init(_ request: CompiledRequest, _ part: FetchPart, _ store: Store) {
        self.request = request
        self.store = store
        reader = StoreReader(store)
        limit = part == .count ? 0 : request.request.limit.map { max(0, $0) }
        keepsRows = part == .rows && limit == nil
    }

    // MARK: Judging

    /// Reads and judges an object, if there is one.
    func look(at object: ObjectReference, _ budget: inout Int) throws(StoreError) {
        if let value = try store.current.get(store.tables.rows, SmallKey(row: object)) {
            try judge(object, value, &budget)
        } else {
            budget -= 1
        }
    }

    /// Judges an object by what is stored of it.
    ///
    /// Takes one from the budget, and one for each related object that is read. Throws `damaged` for what is no row of the
    /// object's entity.
    func judge(
        _ object: ObjectReference, _ value: UnsafeRawBufferPointer, _ budget: inout Int
    ) throws(StoreError) {
        guard value.count >= 8 + RowLayout.minimumRowBytes,
            let entity = store.model?.entity(tagged: object.tag)
        else { throw store.damaged(.rows, object.number, "a value of \(value.count) bytes") }
        rowsRead += 1
        budget -= 1
        buffer.removeAll(keepingCapacity: true)
        buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: value[8...]))
        let row = Row(bytes: buffer)
        guard row.hasShape(of: entity) else {
            throw store.damaged(.rows, object.number, "\(value.count) bytes that are no row")
        }
        reader.budget.beginObject()
        defer { budget -= reader.budget.takeSpent() }
        guard let matches = request.matches(object, row, reader) else { throw unsettled }
        guard matches else { return }
        if limit == 0 { return note(Match(key: [], object: object)) }
        guard let key = request.sortKey(object, row, reader) else { throw unsettled }
        guard keepsRows else { return note(Match(key: key, object: object)) }
        let version = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
        let stored = Store.Stored(object: object, version: version, row: row)
        note(Match(key: key, object: object, stored: stored))
        buffer = []
    }

    /// Why something is not known.
    private var unsettled: StoreError {
        if reader.budget.isExhausted { return StoreError(.tooMuch, ReadBudget.message) }
        return reader.budget.failure ?? store.unreadable
    }

    private func note(_ match: Match) {
        if !again.isEmpty, again.index(forKey: match.object) != nil {
            again.updateValue(match, forKey: match.object)
        } else if limit == 0 {
            counted.append(match.object)
            bytes += MemoryLayout<ObjectReference>.stride
            return
        } else {
            found.append(match)
        }
        bytes += match.bytes
    }

    /// What was judged of an object counts no more: it is judged again.
    func forget(_ object: ObjectReference) {
        if let old = again.updateValue(nil, forKey: object) {
            bytes -= old?.bytes ?? 0
        } else {
            bytes += MemoryLayout<Match?>.stride
        }
    }

    // MARK: In order

    /// Puts those judged since the last call in order.
    func endRun() {
        guard !found.isEmpty else { return }
        found.sort(by: Match.precedes)
        runs.add(found)
        found = []
    }

    /// Puts all in one order, as far as `budget` goes; true when that is done.
    func merge(_ budget: inout Int) -> Bool { runs.step(&budget) }

    /// How many match, before offset and limit.
    var count: Int {
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

    /// The last judgement of each object.
    private func settled() -> [Match] {
        var merge = RunMerge<Match>(by: Match.precedes)
        merge.add(runs.whole.filter { again.index(forKey: $0.object) == nil })
        merge.add(again.values.compactMap { $0 }.sorted(by: Match.precedes))
        var budget = Int.max
        _ = merge.step(&budget)
        return merge.whole
    }
}

extension Store {
    var unreadable: StoreError {
        StoreError(.failed, "the store at \(path) could not be read while fetching")
    }
}
