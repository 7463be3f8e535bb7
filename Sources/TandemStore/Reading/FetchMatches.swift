import TandemModel
import TandemQuery

/// Evaluates the predicate for the candidates of a fetch, and puts those that match in order.
///
/// Bound to one thread at a time.
final class FetchMatches {
    /// An object that matches; its ordinal is that of its row and of what is noted of it, where these are kept.
    typealias Match = SortKeyArena.Entry

    private let request: CompiledRequest
    private let part: FetchPart
    private let view: StoreView
    private let budget: ReadBudget
    private let reader: PastReader
    /// When it is fetched; nil for the view's position.
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
    private let arena: SortKeyArena
    /// The rows of those that matched, where they are kept, in the order of evaluation.
    private var rows = StoredObjects()
    private var found: [Match] = []
    /// How many match, where only their number is wanted.
    private var counted = 0
    /// So many of the first make up the answer, where candidates come in its order.
    private let enough: Int?
    private(set) var rowsRead = 0
    /// How many keys were read that lead to candidates.
    private(set) var keysRead = 0
    /// About what the matches take in memory.
    private(set) var bytes = 0

    init(
        _ request: CompiledRequest, _ plan: FetchPlan, _ part: FetchPart, _ view: StoreView,
        _ past: PastGraph?, _ budget: ReadBudget
    ) {
        self.request = request
        self.part = part
        enough = plan.isOrdered && part != .count ? request.wanted : nil
        self.view = view
        self.past = past
        self.budget = budget
        reader = PastReader(store: StoreReader(view, budget: budget), past: past)
        limit = part == .count ? 0 : request.request.limit.map { max(0, $0) }
        keepsRows = part == .rows && limit == nil
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
    }

    /// Whether the first ones, which make up the answer, were found.
    var hasEnough: Bool { enough.map { matchCount >= $0 } ?? false }

    /// Notes that keys were read which lead to candidates, so many of which are collected by now; throws what ends the read.
    func takeKeys(_ count: Int, collected: Int = 0) throws(StoreError) {
        keysRead += count
        try budget.take(
            count, heldBytes: bytes + collected * MemoryLayout<ObjectReference>.stride)
    }

    /// Whether the object was another at the position that is read, so that what leads to it now says nothing.
    func isPast(_ object: ObjectReference) -> Bool { past?.net(object) != nil }

    // MARK: Evaluation

    /// Takes an object that matches, as its place in an index says, with its sort key.
    func take(_ object: ObjectReference, key: [UInt8]) {
        guard !isPast(object) else { return }
        note(object, key)
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

    /// Reads and evaluates an object, if there is one and its row is the same at the position that is read.
    func look(at object: ObjectReference) throws(StoreError) {
        try budget.take(1, heldBytes: bytes)
        guard !isPast(object),
            let value = try view.current.get(view.tables.rows, SmallKey(row: object))
        else { return }
        try evaluate(object, value)
    }

    /// Evaluates the objects whose rows changed since the position that is read, by the rows that they had there.
    func lookAtChanged() throws(StoreError) {
        guard let past else { return }
        for object in past.changedObjects({ request.includes(tag: $0) }) {
            try budget.take(1, heldBytes: bytes)
            guard let row = past.net(object)?.before else { continue }
            try row.withView { evaluate(object, past.position, $0) }?.raise()
        }
    }

    /// Evaluates an object where its row lies, unless that was undone.
    ///
    /// Throws `damaged` for what is no row of the object's entity, and what ends the read.
    func evaluate(
        _ object: ObjectReference, _ value: UnsafeRawBufferPointer
    ) throws(StoreError) {
        guard !isPast(object) else { return }
        let row = try view.rowView(object, at: value)
        try budget.take(1 + row.bytes.count / 64, heldBytes: bytes)
        let version = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
        try view.current.lend { () throws(StoreError) in
            try evaluate(object, version, row)?.raise()
        }
    }

    /// Evaluates an object by its row, which is copied only if it is kept; returns why it can't be.
    private func evaluate(
        _ object: ObjectReference, _ version: UInt64, _ row: RowView
    ) -> StoreError? {
        rowsRead += 1
        budget.beginObject()
        guard let matches = request.matches(object, row, reader) else { return unsettled }
        guard matches else { return nil }
        guard limit != 0 else {
            counted += 1
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
    private var unsettled: StoreError { budget.refusal ?? budget.failure ?? view.unreadable }

    private func note(_ object: ObjectReference, _ key: [UInt8]) {
        if limit == 0 { counted += 1 } else { note(arena.add(object, key)) }
    }

    private func note(_ match: Match) {
        found.append(match)
        bytes +=
            MemoryLayout<Match>.stride + MemoryLayout<Int>.stride + arena.bytes(of: match).count
    }

    // MARK: In order

    /// Puts all in order; after the last candidate.
    func sort() throws(StoreError) {
        try budget.runCheck(bytes)
        let (budget, bytes) = (budget, bytes)
        let check = { () throws(StoreError) in try budget.runCheck(bytes) }
        if keys.isGrouped {
            found = try GroupedSort.sorted(
                found, groups: keys.prefixes.count, keys, arena, check)
        } else {
            try found.withUnsafeMutableBufferPointer { found throws(StoreError) in
                try arena.sort(found, check)
            }
        }
        try budget.runCheck(bytes)
    }

    private var matchCount: Int { counted + found.count }

    /// How many match: all for a count and without a limit, else up to the last one that is wanted.
    var count: Int {
        guard part != .count, let wanted = request.wanted else { return matchCount }
        return min(wanted, matchCount)
    }

    /// The matches from offset to limit, in the request's order.
    func answer() -> ArraySlice<Match> {
        guard limit != 0 else { return [] }
        let start = min(max(0, request.request.offset), found.count)
        // A client may ask for any numbers: nothing is added up that could overflow.
        let wanted = limit.map { min($0, found.count - start) }
        return found[start..<(start + (wanted ?? found.count - start))]
    }

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
            guard let stored = try stored(match) else { throw view.unreadable }
            objects.append(stored)
            try budget.take(1, heldBytes: bytes + objects.byteCount)
        }
        return objects
    }

    private func stored(_ match: Match) throws(StoreError) -> StoredObject? {
        if match.ordinal < rows.count { return rows[Int(match.ordinal)] }
        return try view.stored(match.object, past)
    }
}

extension StoreError {
    fileprivate func raise() throws(StoreError) { throw self }
}
