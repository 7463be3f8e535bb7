import TandemIO
import TandemModel
import TandemQuery

/// The matches of a fetch: the candidates that satisfy the predicate, with their sort keys.
///
/// Bound to one thread at a time.
final class FetchMatches {
    private let run: FetchRun
    private let reader: StoreReader
    private let demand: Demand
    /// The details of each match, if the request opens a list.
    private var details: ListDetailCollector?
    private let keys: GroupedKeys
    private let arena = SortKeyArena()
    /// The rows of the matches in the order of evaluation, if they are kept.
    private var rows = StoredObjects()
    /// The matches; the ordinal is the index of the object's row and of its list details, if these
    /// are kept.
    private var found: [SortEntry] = []
    /// The number of matches, if only that is requested.
    private var counted = 0
    private(set) var rowsRead = 0
    /// The number of keys that were read to find candidates.
    private(set) var keysRead = 0
    /// The approximate size of the matches in bytes.
    private(set) var bytes = 0

    init(_ run: FetchRun) {
        self.run = run
        reader = run.reader
        demand = Demand(run)
        if case .list(let hops) = run.kind {
            keys = GroupedKeys(of: run.request, sections: true)
            details = ListDetailCollector(hops, keys)
        } else {
            keys = GroupedKeys(of: run.request)
        }
    }

    /// Whether all matches of the answer have been found.
    var hasEnough: Bool { demand.enough.map { matchCount >= $0 } ?? false }

    /// Accounts for `count` keys read to find candidates; `collected` is the number of candidates
    /// collected so far.
    ///
    /// Throws if the read must end.
    func chargeKeys(_ count: Int, collected: Int = 0) throws(StoreError) {
        keysRead += count
        try run.budget.charge(
            count, heldBytes: bytes + collected * MemoryLayout<ObjectReference>.stride)
    }

    /// Returns whether the object's row changed after the position, so that its current keys don't
    /// apply.
    func isPast(_ object: ObjectReference) -> Bool { run.past?.net(object) != nil }

    // MARK: Evaluation

    /// Adds an object that matches according to its key, with its related object and the rest of
    /// its sort key.
    ///
    /// Returns false if the object's row has to be read, because the related object is not known
    /// yet.
    @inline(__always)
    func accept(
        _ object: ObjectReference, related: ObjectNumber? = nil,
        rest: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) -> Bool {
        guard !isPast(object) else { return true }
        guard demand.limit != 0 else {
            counted += 1
            return true
        }
        let before = details?.bytes ?? 0
        guard let place = keys.placement(knowing: related), details?.collect(at: place) ?? true
        else {
            return false
        }
        if let after = details?.bytes {
            bytes += after - before + keys.prefixBytes(place.group) + rest.count
        }
        append(arena.add(object, rest, group: place.group))
        return true
    }

    /// Reads and evaluates an object, unless it does not exist or its row changed after the
    /// position.
    func evaluate(_ object: ObjectReference) throws(StoreError) {
        try run.budget.charge(1, heldBytes: bytes)
        guard !isPast(object),
            let value = try run.view.current.get(run.view.tables.rows, SmallKey(row: object))
        else { return }
        try evaluate(object, value)
    }

    /// Evaluates the objects whose rows changed after the position, using their former rows.
    func evaluateChanged() throws(StoreError) {
        guard let past = run.past else { return }
        let changed = try past.changedObjects(run.budget) { run.request.includes(tag: $0) }
        for object in changed {
            try run.budget.charge(1, heldBytes: bytes)
            guard let row = past.net(object)?.before else { continue }
            try row.withView { evaluate(object, past.position, $0) }?.raise()
        }
    }

    /// Evaluates the predicate on an object's row in place, unless the row changed after the
    /// position.
    ///
    /// Throws `damaged` if the bytes are not a row of the object's entity, and any error that ends
    /// the read.
    func evaluate(
        _ object: ObjectReference, _ value: UnsafeRawBufferPointer
    ) throws(StoreError) {
        guard !isPast(object) else { return }
        let row = try run.view.rowView(object, at: value)
        try run.budget.charge(1 + row.bytes.count / 64, heldBytes: bytes)
        let version = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
        try run.view.current.withBorrowedPages { () throws(StoreError) in
            try evaluate(object, version, row)?.raise()
        }
    }

    /// Evaluates the predicate on an object's row, which is copied only if it is kept.
    ///
    /// Returns the error if the object can't be evaluated.
    private func evaluate(
        _ object: ObjectReference, _ version: UInt64, _ row: RowView
    ) -> StoreError? {
        rowsRead += 1
        run.budget.beginObject()
        guard let matches = run.request.matches(object, row, reader) else { return run.unread }
        guard matches else { return nil }
        guard demand.limit != 0 else {
            counted += 1
            return nil
        }
        guard let match = match(object, row) else { return run.unread }
        keep(row, of: object, match, version)
        append(match)
        return nil
    }

    /// Adds the sort key and the list details of a match; returns nil if the reader lacks an
    /// object.
    private func match(_ object: ObjectReference, _ row: RowView) -> SortEntry? {
        let before = keys.bytes + (details?.bytes ?? 0)
        defer { bytes += keys.bytes + (details?.bytes ?? 0) - before }
        guard let placement = keys.placement(of: object, row, reader),
            details?.collect(row, at: placement, run.request, reader) ?? true
        else { return nil }
        // The answer to a list request contains complete keys, even if many share a prefix.
        if details != nil { bytes += keys.prefixBytes(placement.group) + keys.rest.bytes.count }
        return keys.rest.bytes.withUnsafeBytes { arena.add(object, $0, group: placement.group) }
    }

    /// Keeps the row of the latest match, if rows are kept.
    ///
    /// For a request for rows, all rows are kept. For a list, rows are kept until it has too many
    /// objects to be answered with rows.
    private func keep(
        _ row: RowView, of object: ObjectReference, _ match: SortEntry, _ version: UInt64
    ) {
        guard demand.keepsRows || match.ordinal < demand.keptUpTo else { return releaseRows() }
        assert(rows.count == Int(match.ordinal), "A kept row has the ordinal of its match.")
        let before = rows.byteCount
        rows.append(object, version: version, row: row.bytes)
        bytes += rows.byteCount - before + MemoryLayout<Int>.stride
    }

    private func releaseRows() {
        guard !rows.isEmpty else { return }
        bytes -= rows.byteCount + rows.count * MemoryLayout<Int>.stride
        assert(bytes >= 0, "The size includes that of the kept rows.")
        rows = StoredObjects()
    }

    private func append(_ match: SortEntry) {
        found.append(match)
        assert(found.count == arena.count, "Each match has a sort key.")
        assert(details.map { $0.count == found.count } ?? true, "Each match of a list has details.")
        bytes += MemoryLayout<SortEntry>.stride + arena.records.next(match.at) - match.at
    }

    // MARK: Sorting

    /// Sorts the matches; call it after the last candidate.
    func sort() throws(StoreError) {
        try run.budget.runCheck(bytes)
        let records = arena.records
        try GroupedSort.sort(&found, keys, records) { [run, bytes] () throws(StoreError) in
            try run.budget.runCheck(bytes)
        }
        assert(
            !Invariants.walk(found.count)
                || !zip(found, found.dropFirst()).contains {
                    $0.group == $1.group
                        ? records.precedes($1, $0) : keys.precedes($1.group, $0.group)
                },
            "The matches are in the request's order.")
        try run.budget.runCheck(bytes)
    }

    private var matchCount: Int { counted + found.count }

    /// The number of matches.
    ///
    /// The number is exact if only a count is requested or there is no limit; otherwise it is at
    /// most offset plus limit.
    var count: Int {
        guard !demand.isCount, let wanted = run.request.wanted else { return matchCount }
        return min(wanted, matchCount)
    }

    /// Returns the matches that remain after offset and limit, in the request's order.
    func answer() -> ArraySlice<SortEntry> {
        guard demand.limit != 0 else { return [] }
        let start = min(max(0, run.request.request.offset), found.count)
        // A client may send any numbers, so nothing that could overflow is added here.
        let wanted = demand.limit.map { min($0, found.count - start) }
        return found[start..<(start + (wanted ?? found.count - start))]
    }

    /// Returns references to the objects of matches.
    func references(to matches: ArraySlice<SortEntry>) -> [ObjectReference] {
        let records = arena.records
        return matches.map { records.object($0.at) }
    }

    /// Returns the placements of matches if they form a list that is too long to be answered with
    /// rows.
    func places(of matches: ArraySlice<SortEntry>) throws(StoreError) -> ListPlacements? {
        matches.count > demand.rowsUpTo
            ? try details?.places(of: matches, arena.records, keys) : nil
    }

    /// Returns the rows of matches, and reads those that were not kept.
    ///
    /// Throws if one does not exist.
    func objects(of matches: ArraySlice<SortEntry>) throws(StoreError) -> StoredObjects {
        if matches.allSatisfy({ $0.ordinal < rows.count }) {
            return matches.withUnsafeBufferPointer { matches in
                rows.arranged(matches.count) { Int(matches[$0].ordinal) }
            }
        }
        var objects = StoredObjects()
        for match in matches {
            guard let stored = try stored(match) else { throw run.view.unreadable }
            objects.append(stored)
            try run.budget.charge(1, heldBytes: bytes + objects.byteCount)
        }
        return objects
    }

    private func stored(_ match: SortEntry) throws(StoreError) -> StoredObject? {
        if match.ordinal < rows.count { return rows[Int(match.ordinal)] }
        return try run.view.stored(arena.records.object(match.at), run.past)
    }
}

extension StoreError {
    fileprivate func raise() throws(StoreError) { throw self }
}

/// The part of the matches that the answer contains.
private struct Demand {
    /// Whether only the number of matches is requested.
    let isCount: Bool
    /// The maximum number of objects in the answer; 0 for a count, nil for all.
    let limit: Int?
    /// Whether the row of every match is in the answer.
    let keepsRows: Bool
    /// The maximum number of objects of a list that is answered with rows.
    let rowsUpTo: Int
    /// The number of matches above which no rows are kept.
    let keptUpTo: Int
    /// The number of matches after which the search can end; nil unless candidates are found in the
    /// request's order.
    let enough: Int?

    init(_ run: FetchRun) {
        let (request, kind) = (run.request, run.kind)
        isCount = kind == .count
        enough = run.plan.isOrdered && !isCount ? request.wanted : nil
        limit = isCount ? 0 : request.request.limit.map { max(0, $0) }
        keepsRows = kind == .rows && limit == nil
        rowsUpTo = if case .list(let hops) = kind { hops.rowsUpTo } else { 0 }
        // Rows that are not read can't be kept.
        keptUpTo = run.needsNoRows ? 0 : rowsUpTo
    }
}
