import TandemModel
import TandemQuery

/// Reads a list from the keys of an index that leads with the relationship of the list's order.
///
/// All objects of one related object come one behind the other: so nothing is kept for each of them but what the answer needs, and each group
/// is put in order, while it is in the processor's caches, as the answer is made (``ListInParts``). Bound to one thread at a time.
final class ListWalk {
    private let request: CompiledRequest
    private let view: StoreView
    private let index: IndexPlaces
    private let ranges: [KeyRange]
    /// What the list asks for; nil where nothing but the order is wanted.
    private let hops: ListHops?
    private let hopCount: Int
    private let keys: GroupedKeys
    private let budget: ReadBudget
    private let reader: PastReader
    private let records = ListRecords()
    /// What was read, by related object.
    private var segments: [ListSegment] = []
    /// The related object of the last segment; nil before there is one that others may join.
    private var related: ObjectNumber??
    private var reached: [ObjectReference] = []
    /// By the places of related objects what they are among those reached, from 1 on; 0 for what is not looked up.
    private var reachedPlaces: [UInt32] = []
    /// How many objects came before the last segment.
    private var countBefore = 0
    /// The bytes of the first parts of all sort keys.
    private var prefixBytes = 0
    private(set) var rowsRead = 0
    private(set) var keysRead = 0
    /// The entity that the last object was of, which is one of the request's.
    private var lastTag: EntityTag

    /// A walk by a plan; nil for what it does not lead through group by group.
    convenience init?(
        _ request: CompiledRequest, _ plan: FetchPlan, _ part: FetchPart, _ view: StoreView,
        _ budget: ReadBudget
    ) {
        guard case .list(let hops) = part, plan.needsNoRows(for: part), let index = plan.places,
            request.isWhole, case .index(_, let ranges) = plan.access
        else { return nil }
        self.init(request, index, ranges, hops, view, budget)
    }

    /// A walk through ranges of an index; nil unless it leads group by group.
    init?(
        _ request: CompiledRequest, _ index: IndexPlaces, _ ranges: [KeyRange],
        _ hops: ListHops?, _ view: StoreView, _ budget: ReadBudget
    ) {
        keys = GroupedKeys(of: request, sections: hops != nil)
        guard index.isGrouped, keys.isGrouped else { return nil }
        (self.request, self.view, self.index, self.hops) = (request, view, index, hops)
        hopCount = hops?.count ?? 0
        self.budget = budget
        reader = PastReader(store: StoreReader(view, budget: budget), past: nil)
        self.ranges = ranges
        lastTag = request.entity.tag
    }

    /// Reads the list; nil where it has so few objects that their rows are the answer.
    ///
    /// Throws ``StoreError``: `tooMuch` for keys of 4 GiB or more, and what the budget's check throws.
    func read() throws(StoreError) -> ListInParts? {
        for range in ranges { try read(range) }
        if let hops, records.count <= hops.rowsUpTo { return nil }
        let keyBytes = records.bytes - records.count * ListRecordPile.header + prefixBytes
        guard keyBytes <= Int(UInt32.max) else {
            throw StoreError(
                .tooMuch, "the sort keys of the list's objects have \(keyBytes) bytes; fetch parts")
        }
        try budget.runCheck(bytes + keyBytes)
        let head = ListPlaces(sections: keys.sections, reached: reached, hops: hopCount)
        return ListInParts(
            records, segments.sorted { keys.precedes($0.group, $1.group) }, keys, head,
            givesKeys: hops != nil, keyBytes: keyBytes, linksUpTo: hops?.rowsUpTo ?? 0)
    }

    /// About the bytes that it holds.
    private var bytes: Int {
        records.bytes + segments.count * MemoryLayout<ListSegment>.stride + keys.bytes
            + reached.count * 24
    }

    // MARK: Reading

    private func read(_ range: KeyRange) throws(StoreError) {
        var (pile, count) = (records.pile, 0)
        defer { endRead(pile, count) }
        let transaction = try view.current
        let (longest, table) = (index.longestRest, view.tables.indexes)
        var (tag, known) = (lastTag, related)
        try index.withReader { reader throws(StoreError) in
            try transaction.scan(table, in: range) { (key, value) throws(StoreError) in
                count += 1
                try budget.take(1, heldBytes: bytes + pile.bytes)
                let object = try view.object(endOf: key, value, in: .indexes)
                if object.tag != tag {
                    guard request.includes(tag: object.tag) else { return }
                    (tag, lastTag) = (object.tag, object.tag)
                }
                let (target, rest) = reader.read(key, into: pile.room(longest))
                if let known, target == .known(known) {
                    pile.append(object, rest: rest)
                } else {
                    try begin(object, target, rest, &pile)
                    known = related
                }
            }
        }
    }

    private func endRead(_ pile: ListRecordPile, _ count: Int) {
        keysRead += count
        records.pile = pile
        endSegment(pile)
    }

    /// Takes the first object of another related one, or one of whom the key says too little.
    @inline(never)
    private func begin(
        _ object: ObjectReference, _ target: IndexPlaces.Related, _ count: Int,
        _ pile: inout ListRecordPile
    ) throws(StoreError) {
        guard case .known(let target) = target else { return try look(at: object, &pile) }
        if let place = keys.place(knowing: target), let link = link(place) {
            open(place, link: link, pile)
            pile.append(object, rest: count)
        } else {
            try look(at: object, &pile)
        }
        related = .some(target)
    }

    /// The place of a related object among those reached; nil if that is not known.
    private func link(_ place: GroupedKeys.Place) -> UInt32? {
        guard hopCount > 0, place.related >= 0 else { return 0 }
        guard place.related < reachedPlaces.count, reachedPlaces[place.related] != 0 else {
            return nil
        }
        return reachedPlaces[place.related]
    }

    /// Takes an object by its row.
    private func look(
        at object: ObjectReference, _ pile: inout ListRecordPile
    ) throws(StoreError) {
        related = nil
        guard let value = try view.current.get(view.tables.rows, SmallKey(row: object)) else {
            throw view.unreadable
        }
        let row = try view.rowView(object, at: value)
        rowsRead += 1
        budget.beginObject()
        try view.current.lend { () throws(StoreError) in
            guard let place = keys.place(of: object, row, reader),
                let entity = request.model.entity(tagged: object.tag)
            else { throw budget.refusal ?? budget.failure ?? view.unreadable }
            let target = keys.slot.flatMap { row.reference($0, in: entity) }
            open(place, link: link(place) ?? target.map { reach($0, by: place.related) } ?? 0, pile)
            pile.append(object, keys.rest.bytes)
        }
    }

    /// Takes a related object among those reached.
    private func reach(_ object: ObjectReference, by place: Int) -> UInt32 {
        while reachedPlaces.count <= place { reachedPlaces.append(0) }
        reached.append(object)
        reachedPlaces[place] = UInt32(reached.count)
        return UInt32(reached.count)
    }

    private func open(_ place: GroupedKeys.Place, link: UInt32, _ pile: ListRecordPile) {
        if let last = segments.last, last.group == place.group, last.section == place.section,
            last.link == link
        {
            return
        }
        endSegment(pile)
        segments.append(
            ListSegment(
                group: place.group, section: place.section, link: link, start: pile.bytes))
        countBefore = pile.count
    }

    /// Counts the objects of the last segment, with the first parts of their keys.
    private func endSegment(_ pile: ListRecordPile) {
        guard let last = segments.last else { return }
        let count = pile.count - countBefore
        prefixBytes += (count - last.count) * keys.prefixBytes(last.group)
        segments[segments.count - 1].count = count
    }
}

extension CompiledRequest {
    /// Whether all that matches is the answer.
    var isWhole: Bool { request.limit == nil && request.offset <= 0 }
}
