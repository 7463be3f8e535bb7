import TandemModel
import TandemQuery

/// Objects that an index or a relationship leads to: collected first, then looked at by number, which is how rows lie.
///
/// State:
/// - `related`: the search for related objects, from which relationships lead here; nil without one.
/// - `ranges`: the keys that are yet to be read, the next ones last.
/// - `lookups`: the unique values that are yet to be looked up, the next ones last.
/// - `objects`, `seen`, `last`: what was collected, and how much of it was looked at.
struct CollectedCandidates {
    private let request: CompiledRequest
    private var ranges: [(table: StoreTable, range: KeyRange)] = []
    private var lookups: [[UInt8]] = []
    private var related: RelatedSearch?
    private var objects = RunMerge<ObjectReference>(by: <)
    private(set) var isWhole = false
    private var seen = 0
    private var last: ObjectReference?

    init(
        _ plan: FetchPlan, _ request: CompiledRequest, _ store: Store
    ) throws(StoreError) {
        self.request = request
        for part in plan.access.parts.reversed() {
            switch part {
            case .unique(let unique): lookups += unique.keys.reversed()
            case .holders(let member): try add(holdersOf: member, store)
            case .related(let condition, let target, let inner):
                related = try RelatedSearch(condition, target, inner, store)
            case .members, .index:
                guard let (table, keys) = part.keys else { continue }
                ranges += keys.reversed().map { (table, $0) }
            case .scan, .union: break
            }
        }
    }

    /// The members of the inverse, or the one that leads back.
    private mutating func add(
        holdersOf member: RequiredMember, _ store: Store
    ) throws(StoreError) {
        guard let inverse = member.inverse(in: request.model) else { return }
        if inverse.toMany {
            let prefix = StoreKey.links(inverse.linkID, of: member.object.number)
            ranges.append((.links, KeyRange(prefix: prefix)))
        } else if let entity = request.model.entity(tagged: member.relationship.destination) {
            objects.add(
                try store.leadsTo(
                    member.relationship.inverseSlot, ofNumber: member.object.number, entity,
                    request.model))
        }
    }

    var isDone: Bool { isWhole && seen == objects.whole.count }

    /// About the bytes that it holds.
    var bytes: Int { objects.bytes + (related?.bytes ?? 0) }

    /// How many rows of related objects were judged.
    var relatedRowsRead: Int { related?.rowsRead ?? 0 }

    /// How many keys were read that lead to related objects.
    var relatedKeysRead: Int { related?.keysRead ?? 0 }

    mutating func step(
        _ store: Store, _ budget: inout Int, _ judge: FetchMatches
    ) throws(StoreError) {
        guard try collect(store, &budget, judge), objects.step(&budget) else { return }
        isWhole = true
        let objects = objects.whole
        while budget > 0, seen < objects.count, !judge.hasEnough {
            let object = objects[seen]
            seen += 1
            // Ranges of one condition may meet, and a key may have moved from one to another meanwhile.
            if object != last, request.includes(tag: object.tag) {
                try judge.look(at: object, &budget)
            }
            last = object
        }
    }

    /// Collects what there is; true when that is all.
    private mutating func collect(
        _ store: Store, _ budget: inout Int, _ judge: FetchMatches
    ) throws(StoreError) -> Bool {
        if isWhole { return true }
        if related != nil {
            var found: [ObjectReference] = []
            let isDone = try related?.step(store, &budget, &found) ?? true
            judge.noteKeys(found.count)
            objects.add(found.sorted())
            return isDone
        }
        try lookUp(store, &budget, judge)
        while budget > 0, let (table, range) = ranges.popLast() {
            if let rest = try read(range, of: table, store, &budget, judge) {
                ranges.append((table, rest))
            }
        }
        return lookups.isEmpty && ranges.isEmpty
    }

    /// Looks up unique values.
    private mutating func lookUp(
        _ store: Store, _ budget: inout Int, _ judge: FetchMatches
    ) throws(StoreError) {
        guard !lookups.isEmpty else { return }
        var found: [ObjectReference] = []
        while budget > 0, let key = lookups.popLast() {
            if let object = try store.holder(key) { found.append(object) }
            judge.noteKeys(1)
            budget -= 1
        }
        objects.add(found.sorted())
    }

    /// Reads keys of a range; returns what is left of it.
    private mutating func read(
        _ range: KeyRange, of table: StoreTable, _ store: Store, _ budget: inout Int,
        _ judge: FetchMatches
    ) throws(StoreError) -> KeyRange? {
        var left = budget
        var rest: KeyRange?
        var found: [ObjectReference] = []
        try store.current.scan(store.tables[table], from: range.lower) {
            (key, value) throws(StoreError) -> Bool in
            guard range.isBelowEnd(key) else { return false }
            guard left > 0 else {
                rest = KeyRange(lower: Array(key), upper: range.upper)
                return false
            }
            found.append(try store.object(endOf: key, value, in: table))
            left -= 1
            return true
        }
        judge.noteKeys(found.count)
        objects.add(found.sorted())
        budget = left
        return rest
    }
}

extension Store {
    /// What a to-one relationship of an object leads to, which may be of an entity that inherits from the one it was named by.
    fileprivate func leadsTo(
        _ slot: Int, ofNumber number: ObjectNumber, _ entity: CompiledEntity,
        _ model: CompiledModel
    ) throws(StoreError) -> [ObjectReference] {
        for tag in entity.descendants {
            let object = ObjectReference(tag: tag, number: number)
            guard let own = model.entity(tagged: tag), let row = try stored(object)?.row else {
                continue
            }
            return row.reference(slot, in: own).map { [$0] } ?? []
        }
        return []
    }

    /// Who holds a unique value, by its key, if somebody does.
    fileprivate func holder(_ key: [UInt8]) throws(StoreError) -> ObjectReference? {
        try current.get(tables.unique, key).map { bytes throws(StoreError) in try holder(bytes) }
    }
}
