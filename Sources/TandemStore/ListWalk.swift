import TandemModel
import TandemQuery

/// Opens a list from the keys of an index that leads with the relationship of the list's order, as long as nothing of it changes meanwhile.
///
/// All objects of one related object come one behind the other: so nothing is kept for each of them but what the answer needs, and each group
/// is put in order, while it is in the processor's caches, as the answer is made. Whoever learns that objects of the list were altered lets it
/// go and judges candidates one by one (``FetchMatches``).
///
/// State: `ranges` is yet to be read; then `order` puts what was read in the order of groups, and `next` says which of them the answer
/// lacks, or was not taken of it yet. Nothing of the store is read from then on. Bound to one thread.
final class ListWalk: FetchWalk {
    private let request: CompiledRequest
    private let store: Store
    private let index: IndexPlaces
    /// What the list asks for; nil where nothing but the order is wanted.
    private let hops: ListHops?
    private let hopCount: Int
    /// With more bytes than this the list is taken in parts (``takePart(bytes:_:)``); nil where it is wanted whole.
    private let partBytes: Int?
    private let keys: GroupedKeys
    private let budget: ReadBudget
    private let reader: PastReader
    private var ranges: [KeyRange]
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
    private var order: StepSort<ListSegment>?
    private var next = 0
    private var sorter: ListSorter
    /// The names of sections and what is reached.
    private var head = ListPlaces()
    /// What was put in order and not taken.
    private var places = ListPlaces()
    private(set) var rowsRead = 0
    private(set) var keysRead = 0
    /// The entity that the last object was of, which is one of the request's.
    private var lastTag: EntityTag

    /// A walk by a plan; nil for what it does not lead through group by group.
    convenience init?(
        _ request: CompiledRequest, _ plan: FetchPlan, _ part: FetchPart, _ store: Store,
        partBytes: Int? = nil
    ) {
        guard case .list(let hops) = part, plan.needsNoRows(for: part), let index = plan.places,
            request.isWhole, case .index(_, let ranges) = plan.access
        else { return nil }
        self.init(request, index, ranges, hops, store, partBytes: partBytes)
    }

    /// A walk through ranges of an index; nil unless it leads group by group.
    init?(
        _ request: CompiledRequest, _ index: IndexPlaces, _ ranges: [KeyRange],
        _ hops: ListHops?, _ store: Store, partBytes: Int? = nil
    ) {
        keys = GroupedKeys(of: request, sections: hops != nil)
        guard index.isGrouped, keys.isGrouped else { return nil }
        (self.request, self.store, self.index, self.hops) = (request, store, index, hops)
        hopCount = hops?.count ?? 0
        self.partBytes = partBytes
        budget = store.readBudget()
        reader = PastReader(store: StoreReader(store, budget: budget), past: nil)
        self.ranges = ranges.reversed()
        lastTag = request.entity.tag
        sorter = ListSorter(records, givesKeys: hops != nil)
    }

    /// Whether all keys were read.
    var isScanned: Bool { ranges.isEmpty }

    var count: Int { records.count }

    /// The bytes of all sort keys.
    private var keyBytes: Int {
        records.bytes - records.count * ListRecordPile.header + prefixBytes
    }

    /// Of an answer in parts no more than one is there in its last form.
    var bytes: Int {
        let answer = isScanned && isInParts ? places.bytes : placesBytes
        return records.bytes + segments.count * 2 * MemoryLayout<ListSegment>.stride
            + (order?.bytes ?? 0) + keys.bytes + reached.count * 24 + answer + sorter.bytes
    }

    /// The bytes of all objects in their last form.
    private var placesBytes: Int { keyBytes + count * 12 }

    /// Whether the answer is taken in parts; once all keys were read.
    var isInParts: Bool { partBytes.map { isFit && placesBytes > $0 } ?? false }

    /// Goes on until `budget` is used up; true when the answer is made, or can be taken in parts.
    ///
    /// Throws ``StoreError``: `tooMuch` for keys of 4 GiB or more.
    func step(_ budget: inout Int) throws(StoreError) -> Bool {
        related = nil
        while budget > 0, let range = ranges.popLast() {
            if let left = try read(range, &budget) { ranges.append(left) }
        }
        guard isScanned else { return false }
        if order == nil { try beginAnswer() }
        guard order?.step(&budget) ?? true else { return false }
        return isInParts || append(upTo: .max, &budget)
    }

    /// Whether the list has more objects than those whose rows would be the answer.
    var isFit: Bool { hops.map { count > $0.rowsUpTo } ?? true }

    func fill(_ result: inout FetchResult) { result.places = isInParts ? head : places }

    /// The objects in order; after ``step(_:)`` returned true.
    var numbers: [ObjectNumber] { places.numbers }

    // MARK: Reading

    private func read(_ range: KeyRange, _ left: inout Int) throws(StoreError) -> KeyRange? {
        var (pace, pile) = (KeyPace(left), records.pile)
        defer { endRead(pace, pile, &left) }
        let transaction = try store.current
        let (longest, table) = (index.longestRest, store.tables.indexes)
        var (tag, known) = (lastTag, related)
        return try index.withReader { reader throws(StoreError) in
            try transaction.scan(table, in: range) {
                (key, value) throws(StoreError) -> Bool in
                guard pace.left > 0 else { return false }
                pace.takeKey()
                let object = try store.object(endOf: key, value, in: .indexes)
                if object.tag != tag {
                    guard request.includes(tag: object.tag) else { return true }
                    (tag, lastTag) = (object.tag, object.tag)
                }
                let (target, count) = reader.read(key, into: pile.room(longest))
                if let known, target == .known(known) {
                    pile.append(object, rest: count)
                } else {
                    try begin(object, target, count, &pile, &pace.left)
                    known = related
                }
                return true
            }
        }
    }

    private func endRead(_ pace: KeyPace, _ pile: ListRecordPile, _ left: inout Int) {
        keysRead += pace.keys
        left = pace.left
        records.pile = pile
        endSegment(pile)
    }

    /// Takes the first object of another related one, or of the same in a later step, or one of whom the key says too little.
    @inline(never)
    private func begin(
        _ object: ObjectReference, _ target: IndexPlaces.Related, _ count: Int,
        _ pile: inout ListRecordPile, _ left: inout Int
    ) throws(StoreError) {
        guard case .known(let target) = target else { return try look(at: object, &pile, &left) }
        if let place = keys.place(knowing: target), let link = link(place) {
            open(place, link: link, pile)
            pile.append(object, rest: count)
        } else {
            try look(at: object, &pile, &left)
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
        at object: ObjectReference, _ pile: inout ListRecordPile, _ left: inout Int
    ) throws(StoreError) {
        left -= 1
        related = nil
        guard let value = try store.current.get(store.tables.rows, SmallKey(row: object)) else {
            throw store.unreadable
        }
        let row = try store.rowView(object, at: value)
        rowsRead += 1
        budget.beginObject()
        defer { left -= budget.takeSpent() }
        try store.current.lend { () throws(StoreError) in
            guard let place = keys.place(of: object, row, reader),
                let entity = request.model.entity(tagged: object.tag)
            else { throw budget.refusal ?? budget.failure ?? store.unreadable }
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

    // MARK: The answer

    private func beginAnswer() throws(StoreError) {
        guard keyBytes <= Int(UInt32.max) else {
            throw StoreError(
                .tooMuch, "the sort keys of the list's objects have \(keyBytes) bytes; fetch parts")
        }
        order = StepSort(segments) { [keys] in keys.precedes($0.group, $1.group) }
        segments = []
        head = ListPlaces(sections: keys.sections, reached: reached, hops: hopCount)
        guard !isInParts else {
            // Of a whole list whoever answers leaves them out.
            head = head.withLinks(upTo: hops?.rowsUpTo ?? 0)
            return beginPart()
        }
        places = head
        places.reserveCapacity(records.count, keyBytes: hops == nil ? 0 : keyBytes)
    }

    private func beginPart() {
        places = ListPlaces(hops: head.hops)
        guard let partBytes else { return }
        let bytes = partBytes + Self.groupBytes
        places.reserveCapacity(bytes / max(12, (keyBytes / max(1, count)) + 12), keyBytes: bytes)
    }

    /// A part ends behind the group with which it is long enough: most groups have fewer bytes than this.
    private static var groupBytes: Int { 16 << 10 }

    /// The next objects of an answer in parts, of about so many bytes, or all that are left; nil where the budget was used up before.
    func takePart(bytes: Int, _ budget: inout Int) -> ListPlaces? {
        guard append(upTo: bytes, &budget) || places.bytes >= bytes else { return nil }
        defer { beginPart() }
        return places
    }

    /// Appends objects in order until there are so many bytes or the budget is used up; true when all are there.
    private func append(upTo bytes: Int, _ budget: inout Int) -> Bool {
        guard let ordered = order?.whole else { return false }
        while budget > 0, places.bytes < bytes, next < ordered.count {
            let end = endOfGroup(ordered)
            let prefix = keys.prefixes[Int(ordered[next].group)]
            if end < ordered.count { records.pile.prefetch(ordered[end].start) }
            let group = ordered[next..<end]
            guard sorter.append(group, prefix, to: &places, upTo: bytes, &budget) else {
                return false
            }
            next = end
        }
        return next == ordered.count
    }

    private func endOfGroup(_ ordered: [ListSegment]) -> Int {
        var end = next + 1
        while end < ordered.count, ordered[end].group == ordered[next].group { end += 1 }
        return end
    }
}

extension CompiledRequest {
    /// Whether all that matches is the answer.
    var isWhole: Bool { request.limit == nil && request.offset <= 0 }
}
