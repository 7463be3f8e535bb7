import TandemModel
import TandemQuery

/// A reader that opens a list from an index whose first property is the relationship by which the
/// list is ordered.
///
/// All objects with the same related object have consecutive keys, so only the data needed for the
/// answer is kept for each object. Each group is sorted while the answer is made, when its data is
/// in the processor's caches (``ListInParts``). Bound to one thread at a time.
final class ListIndexScan {
    private let request: CompiledRequest
    private let view: StoreView
    private let source: (index: IndexPlaces, ranges: [KeyRange])
    /// The requested hops; nil if only the order is needed.
    private let hops: ListHops?
    private let keys: GroupedKeys
    private let budget: ReadBudget
    private let reader: HistoricalReader
    private let records = ListRecordArena()
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
    convenience init?(
        _ request: CompiledRequest, _ plan: FetchPlan, _ part: FetchResultKind, _ view: StoreView,
        _ budget: ReadBudget
    ) {
        guard case .list(let hops) = part, plan.needsNoRows(for: part), let index = plan.places,
            request.isWhole, case .index(_, let ranges) = plan.access
        else { return nil }
        self.init(request, index, ranges, hops, view, budget)
    }

    /// Creates a reader of index ranges; nil if the index does not yield the list group by group.
    init?(
        _ request: CompiledRequest, _ index: IndexPlaces, _ ranges: [KeyRange],
        _ hops: ListHops?, _ view: StoreView, _ budget: ReadBudget
    ) {
        keys = GroupedKeys(of: request, sections: hops != nil)
        guard index.isGrouped, keys.isGrouped else { return nil }
        (self.request, self.view, self.hops) = (request, view, hops)
        source = (index, ranges)
        self.budget = budget
        reader = HistoricalReader(store: StoreReader(view, budget: budget), past: nil)
        last = LastObject(tag: request.entity.tag)
    }

    /// Reads the list; returns nil if it is short enough to be answered with rows.
    ///
    /// Throws ``StoreError``: `tooMuch` for keys of 4 GiB or more, and the errors of the budget's
    /// check.
    func read() throws(StoreError) -> ListInParts? {
        for range in source.ranges { try read(range) }
        if let hops, records.count <= hops.rowsUpTo { return nil }
        let keyBytes = records.bytes - records.count * ListRecordStorage.header + prefixBytes
        guard keyBytes <= Int(UInt32.max) else {
            throw StoreError(
                .tooMuch,
                "the sort keys of the list's objects have \(keyBytes) bytes; fetch fewer objects")
        }
        try budget.runCheck(bytes + keyBytes)
        let head = ListPlacements(
            sections: keys.sections, reached: reached.objects, hops: hops?.count ?? 0)
        try budget.sort(&segments, heldBytes: bytes + keyBytes) {
            keys.precedes($0.group, $1.group)
        }
        return ListInParts(
            records, segments, keys, head, givesKeys: hops != nil, keyBytes: keyBytes,
            linksUpTo: hops?.rowsUpTo ?? 0)
    }

    /// The approximate size of the data held, in bytes.
    private var bytes: Int {
        records.bytes + segments.count * MemoryLayout<ListSegment>.stride + keys.bytes
            + reached.objects.count * 24
    }

    // MARK: Reading

    private func read(_ range: KeyRange) throws(StoreError) {
        var (storage, count) = (records.storage, 0)
        defer { endRead(storage, count) }
        let transaction = try view.current
        let (longest, table) = (source.index.longestRest, view.tables.indexes)
        let decoder = view.decoder
        var (tag, known) = (last.tag, last.related)
        try source.index.withReader { reader throws(StoreError) in
            try transaction.scan(table, in: range) { (key, value) throws(StoreError) in
                count += 1
                try budget.charge(1, heldBytes: bytes + storage.bytes)
                let object = try decoder.object(endOf: key, value, in: .indexes)
                if object.tag != tag {
                    guard request.includes(tag: object.tag) else { return }
                    (tag, last.tag) = (object.tag, object.tag)
                }
                let (target, rest) = reader.read(key, into: storage.room(longest))
                if let known, target == .known(known) {
                    storage.append(object, rest: rest)
                } else {
                    try begin(object, target, rest, &storage)
                    known = last.related
                }
            }
        }
    }

    private func endRead(_ storage: ListRecordStorage, _ count: Int) {
        keysRead += count
        records.restore(storage)
        endSegment(storage)
    }

    /// Adds the first object of the next related object, or an object whose key is not sufficient.
    @inline(never)
    private func begin(
        _ object: ObjectReference, _ target: IndexPlaces.Related, _ count: Int,
        _ storage: inout ListRecordStorage
    ) throws(StoreError) {
        guard case .known(let target) = target else { return try evaluate(object, &storage) }
        if let place = keys.placement(knowing: target), let link = link(place) {
            open(place, link: link, storage)
            storage.append(object, rest: count)
        } else {
            try evaluate(object, &storage)
        }
        last.related = .some(target)
    }

    /// Returns the index of a related object among the reached objects; nil if it is not known yet.
    private func link(_ place: GroupedKeys.Placement) -> UInt32? {
        guard let hops, hops.count > 0, place.related >= 0 else { return 0 }
        return reached.link(place.related)
    }

    /// Adds an object by reading its row.
    private func evaluate(
        _ object: ObjectReference, _ storage: inout ListRecordStorage
    ) throws(StoreError) {
        last.related = nil
        guard let value = try view.current.get(view.tables.rows, SmallKey(row: object)) else {
            throw view.unreadable
        }
        let row = try view.rowView(object, at: value)
        rowsRead += 1
        budget.beginObject()
        try view.current.withBorrowedPages { () throws(StoreError) in
            guard let place = keys.placement(of: object, row, reader),
                let entity = request.model.entity(tagged: object.tag)
            else { throw budget.interruption ?? budget.failure ?? view.unreadable }
            let target = keys.slot.flatMap { row.reference($0, in: entity) }
            open(
                place, link: link(place) ?? target.map { reached.add($0, by: place.related) } ?? 0,
                storage)
            storage.append(object, keys.rest.bytes)
        }
    }

    private func open(_ place: GroupedKeys.Placement, link: UInt32, _ storage: ListRecordStorage) {
        if let open = segments.last, open.group == place.group, open.section == place.section,
            open.link == link
        {
            return
        }
        endSegment(storage)
        segments.append(
            ListSegment(
                group: place.group, section: place.section, link: link, start: storage.bytes))
        countBefore = storage.count
    }

    /// Updates the count of the last segment, and the total size of the prefixes.
    private func endSegment(_ storage: ListRecordStorage) {
        guard let last = segments.last else { return }
        let count = storage.count - countBefore
        assert(count >= last.count, "Objects are only added to the last segment.")
        assert(
            last.start < storage.bytes || count == 0, "A segment begins with one of its records.")
        prefixBytes += (count - last.count) * keys.prefixBytes(last.group)
        segments[segments.count - 1].count = count
    }
}

extension CompiledRequest {
    /// Whether the answer has all matches, because there is neither an offset nor a limit.
    var isWhole: Bool { request.limit == nil && request.offset <= 0 }
}

/// The objects at the ends of a list's hop, in the order in which they were reached.
private struct ReachedObjects {
    private(set) var objects: [ObjectReference] = []
    /// For each related object's index, the index of the reached object, from 1; 0 if not reached
    /// yet.
    private var links: [UInt32] = []

    /// Returns the index of a related object, from 1; nil if it was not reached yet.
    func link(_ place: Int) -> UInt32? {
        guard place < links.count, links[place] != 0 else { return nil }
        return links[place]
    }

    /// Adds a related object, and returns its index, from 1.
    mutating func add(_ object: ObjectReference, by place: Int) -> UInt32 {
        while links.count <= place { links.append(0) }
        assert(links[place] == 0, "A related object is reached once.")
        objects.append(object)
        links[place] = UInt32(objects.count)
        return UInt32(objects.count)
    }
}
