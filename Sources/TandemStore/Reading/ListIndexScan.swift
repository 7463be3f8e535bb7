import TandemModel
import TandemQuery

/// A reader that opens a list from an index whose first property is the relationship by which the
/// list is ordered.
///
/// All objects with the same related object have consecutive keys, so only the data needed for the
/// answer is kept for each object. Each group is sorted while the answer is made, when its data is
/// in the processor's caches (``ChunkedList``). Bound to one thread at a time.
final class ListIndexScan {
    private let run: FetchRun
    private let source: (index: IndexPlacementReader, ranges: [KeyRange])
    /// The requested hops; nil if only the order is needed.
    private let hops: ListHops?
    private let keys: GroupedKeys
    private let reader: StoreReader
    private let arena = SortKeyArena()
    /// The objects read, by related object.
    private var segments: [ListSegment] = []
    private var last: LastObject
    private var reached = ReachedObjects()
    /// The number of objects before the last segment.
    private var countBefore = 0
    /// The total size of the prefixes of all sort keys in bytes.
    private var prefixBytes = 0
    private(set) var rowsRead = 0
    private(set) var keysRead = 0

    /// The last added object.
    private struct LastObject {
        /// The object's entity, which is one of the request's entities.
        var tag: EntityTag
        /// The related object; nil if no further object may be added to the last segment.
        var related: ObjectNumber??
    }

    /// Creates a reader for a plan; nil if the plan's index does not yield the list group by group.
    convenience init?(_ run: FetchRun) {
        guard case .list(let hops) = run.kind, run.needsNoRows,
            let index = run.plan.placementReader,
            run.request.isWhole, case .index(_, let ranges) = run.plan.access
        else { return nil }
        self.init(run, index, ranges, hops: hops)
    }

    /// Creates a reader of index ranges; nil if the index does not yield the list group by group.
    init?(_ run: FetchRun, _ index: IndexPlacementReader, _ ranges: [KeyRange], hops: ListHops?) {
        keys = GroupedKeys(of: run.request, sections: hops != nil)
        guard index.isGrouped, keys.isGrouped else { return nil }
        (self.run, self.hops) = (run, hops)
        source = (index, ranges)
        reader = run.reader
        last = LastObject(tag: run.request.entity.tag)
    }

    /// Reads the list; returns nil if it is short enough to be answered with rows.
    ///
    /// Throws ``StoreError``: `tooMuch` for keys of 4 GiB or more, and the errors of the budget's
    /// check.
    func read() throws(StoreError) -> ChunkedList? {
        for range in source.ranges { try read(range) }
        if let hops, arena.count <= hops.rowsUpTo { return nil }
        let keyBytes = arena.records.keyBytes + prefixBytes
        try ListPlacements.checkKeyBytes(keyBytes)
        try run.budget.runCheck(bytes + keyBytes)
        let head = ListPlacements(
            sections: keys.sections, reached: reached.objects, hopCount: hops?.count ?? 0)
        try run.budget.sort(&segments, heldBytes: bytes + keyBytes) {
            keys.precedes($0.group, $1.group)
        }
        return ChunkedList(
            arena, segments, keys, head, includesKeys: hops != nil, keyBytes: keyBytes,
            linksUpTo: hops?.rowsUpTo ?? 0)
    }

    /// The approximate size of the data held, in bytes.
    private var bytes: Int {
        arena.records.bytes + segments.count * MemoryLayout<ListSegment>.stride + keys.bytes
            + reached.bytes
    }

    // MARK: Reading

    private func read(_ range: KeyRange) throws(StoreError) {
        var (records, count) = (arena.records, 0)
        defer { endRead(records, count) }
        let transaction = try run.view.current
        let (longest, table) = (source.index.longestRest, run.view.tables.indexes)
        let decoder = run.view.decoder
        var (tag, known) = (last.tag, last.related)
        try source.index.withReader { reader throws(StoreError) in
            try transaction.scan(table, in: range) { (key, value) throws(StoreError) in
                count += 1
                try run.budget.charge(1, heldBytes: bytes + records.bytes)
                let object = try decoder.object(endOf: key, value, in: .indexes)
                if object.tag != tag {
                    guard run.request.includes(tag: object.tag) else { return }
                    (tag, last.tag) = (object.tag, object.tag)
                }
                let (target, rest) = reader.read(key, into: records.room(longest))
                if let known, target == .known(known) {
                    records.append(object, rest: rest)
                } else {
                    try begin(object, target, rest, &records)
                    known = last.related
                }
            }
        }
    }

    private func endRead(_ records: SortKeyRecords, _ count: Int) {
        keysRead += count
        arena.restore(records)
        endSegment(records)
    }

    /// Adds the first object of the next related object, or an object whose key is not sufficient.
    @inline(never)
    private func begin(
        _ object: ObjectReference, _ target: IndexPlacementReader.Related, _ count: Int,
        _ records: inout SortKeyRecords
    ) throws(StoreError) {
        guard case .known(let target) = target else { return try evaluate(object, &records) }
        if let placement = keys.placement(knowing: target), let link = link(placement) {
            open(placement, link: link, records)
            records.append(object, rest: count)
        } else {
            try evaluate(object, &records)
        }
        last.related = .some(target)
    }

    /// Returns the index of a related object among the reached objects; nil if it is not known yet.
    private func link(_ place: GroupedKeys.Placement) -> UInt32? {
        guard let hops, hops.count > 0, place.related >= 0 else { return 0 }
        return reached.link(by: place.related)
    }

    /// Adds an object by reading its row.
    private func evaluate(
        _ object: ObjectReference, _ records: inout SortKeyRecords
    ) throws(StoreError) {
        last.related = nil
        guard let value = try run.view.current.get(run.view.tables.rows, SmallKey(row: object))
        else { throw run.view.unreadable }
        let row = try run.view.rowView(object, at: value)
        rowsRead += 1
        run.budget.beginObject()
        try run.view.current.withBorrowedPages { () throws(StoreError) in
            guard let placement = keys.placement(of: object, row, reader),
                let entity = run.request.model.entity(tagged: object.tag)
            else { throw run.unread }
            let target = keys.slot.flatMap { row.reference($0, in: entity) }
            open(
                placement,
                link: link(placement) ?? target.map { reached.link(to: $0, by: placement.related) }
                    ?? 0,
                records)
            keys.rest.bytes.withUnsafeBytes { records.append(object, $0) }
        }
    }

    private func open(_ place: GroupedKeys.Placement, link: UInt32, _ records: SortKeyRecords) {
        if let open = segments.last, open.group == place.group, open.section == place.section,
            open.link == link
        {
            return
        }
        endSegment(records)
        segments.append(
            ListSegment(
                group: place.group, section: place.section, link: link, start: records.bytes))
        countBefore = records.count
    }

    /// Updates the count of the last segment, and the total size of the prefixes.
    private func endSegment(_ records: SortKeyRecords) {
        guard let last = segments.last else { return }
        let count = records.count - countBefore
        assert(count >= last.count, "Objects are only added to the last segment.")
        assert(
            last.start < records.bytes || count == 0, "A segment begins with one of its records.")
        prefixBytes += (count - last.count) * keys.prefixBytes(last.group)
        segments[segments.count - 1].count = count
    }
}

extension CompiledRequest {
    /// Whether the answer has all matches, because there is neither an offset nor a limit.
    var isWhole: Bool { request.limit == nil && request.offset <= 0 }
}
