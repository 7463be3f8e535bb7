import TandemModel
import TandemQuery

/// The objects that a fetch has to look at, some at a time, by its plan.
///
/// Between two steps it remembers keys, never a cursor of LMDB, so that the store may change and be checkpointed meanwhile.
/// What changes may then be missed, or found twice: ``FetchCursor/touch(_:)`` settles it.
struct FetchCandidates {
    private let matches: FetchMatches
    private var source: Source

    private enum Source {
        /// The rows of whole entities, judged as they are read.
        case rows(RowScan)
        /// Keys of an index or of links, each an object that matches.
        case keys(KeyScan)
        /// Objects that are collected first and looked at by number.
        case collected(CollectedCandidates)
        /// An index that is walked in the request's order.
        case walk(WalkedCandidates)
    }

    init(
        _ plan: FetchPlan, _ request: CompiledRequest, _ part: FetchPart, _ store: Store,
        _ matches: FetchMatches
    ) throws(StoreError) {
        self.matches = matches
        switch (plan.access, plan.order) {
        case (.scan, _):
            source = .rows(RowScan(request, isCounting: plan.needsNoRows(for: part)))
        case (.index(_, let ranges), .index(let order)):
            let keys = plan.needsNoRows(for: part) ? plan.keys : nil
            source = .walk(WalkedCandidates(request, IndexWalk(ranges, order), keys))
        default:
            if plan.needsNoRows(for: part), let scan = KeyScan(plan, request, part) {
                source = .keys(scan)
            } else {
                source = .collected(try CollectedCandidates(plan, request, store))
            }
        }
    }

    /// Whether no more have to be looked at.
    var isDone: Bool {
        switch source {
        case .rows(let scan): scan.isDone || matches.hasEnough
        case .keys(let scan): scan.isDone
        case .collected(let collected):
            collected.isDone || collected.isWhole && matches.hasEnough
        case .walk(let walk): walk.isDone || walk.isBetweenGroups && matches.hasEnough
        }
    }

    /// About the bytes that it holds.
    var bytes: Int { if case .collected(let collected) = source { collected.bytes } else { 0 } }

    /// How many rows of related objects were judged to find them.
    var relatedRowsRead: Int {
        if case .collected(let collected) = source { collected.relatedRowsRead } else { 0 }
    }

    /// How many keys were read that lead to related objects.
    var relatedKeysRead: Int {
        if case .collected(let collected) = source { collected.relatedKeysRead } else { 0 }
    }

    /// Looks at the next ones until they or `budget` are used up.
    mutating func step(_ store: Store, _ budget: inout Int) throws(StoreError) {
        guard !isDone else { return }
        switch source {
        case .rows(var scan):
            defer { source = .rows(scan) }
            try scan.step(store, &budget, matches)
        case .keys(var scan):
            defer { source = .keys(scan) }
            try scan.step(store, &budget, matches)
        case .collected(var collected):
            // The only one that refers to what is collected, which else would be copied.
            source = .rows(RowScan.none)
            defer { source = .collected(collected) }
            try collected.step(store, &budget, matches)
        case .walk(var walk):
            defer { source = .walk(walk) }
            try walk.step(store, &budget, matches)
        }
    }
}

/// All rows of some entities, one after the other.
struct RowScan {
    /// Whether every row matches, so that none has to be read.
    private let isCounting: Bool
    /// What is yet to be read, the next range last.
    private var ranges: [KeyRange]

    /// A scan of nothing.
    static let none = RowScan(ranges: [], isCounting: true)

    private init(ranges: [KeyRange], isCounting: Bool) {
        self.ranges = ranges
        self.isCounting = isCounting
    }

    /// A scan of a request's entities.
    init(_ request: CompiledRequest, isCounting: Bool) {
        let ranges = request.tags.map { KeyRange(prefix: StoreKey.tag($0)) }
        self.init(ranges: ranges.reversed(), isCounting: isCounting)
    }

    var isDone: Bool { ranges.isEmpty }

    mutating func step(
        _ store: Store, _ budget: inout Int, _ judge: FetchMatches
    ) throws(StoreError) {
        while budget > 0, !judge.hasEnough, let range = ranges.popLast() {
            if let rest = try read(range, store, &budget, judge) { ranges.append(rest) }
        }
    }

    /// Reads rows of a range; returns what is left of it.
    private func read(
        _ range: KeyRange, _ store: Store, _ budget: inout Int, _ judge: FetchMatches
    ) throws(StoreError) -> KeyRange? {
        let tag = UInt16(range.lower[0]) << 8 | UInt16(range.lower[1])
        var pace = KeyPace(budget)
        var rest: KeyRange?
        try store.current.scan(store.tables.rows, from: range.lower) {
            (key, value) throws(StoreError) -> Bool in
            guard range.isBelowEnd(key) else { return false }
            guard pace.left > 0, !judge.hasEnough else {
                rest = KeyRange(lower: Array(key), upper: range.upper)
                return false
            }
            let number = UnsafeRawBufferPointer(rebasing: key[min(2, key.count)...])
            let object = try store.object(tag, number, in: .rows)
            if isCounting {
                judge.take(object, key: [])
                pace.takeKey()
            } else {
                try judge.judge(object, value, &pace.left)
            }
            return true
        }
        judge.noteKeys(pace.keys)
        budget = pace.left
        return rest
    }
}

/// Keys of an index or of links, in ranges: whatever they lead to matches.
struct KeyScan {
    private let request: CompiledRequest
    private let table: StoreTable
    /// What makes sort keys of the keys; nil where only their number is wanted.
    private let sortKey: IndexSortKey?
    /// What says where objects stand, if not the sort key alone.
    private let places: IndexPlaces?
    /// What is yet to be read, the next range last.
    private var ranges: [KeyRange]

    /// A scan of what a plan leads to; nil where that has no keys.
    init?(_ plan: FetchPlan, _ request: CompiledRequest, _ part: FetchPart) {
        guard let (table, ranges) = plan.access.keys else { return nil }
        self.request = request
        places = part == .count ? nil : plan.places
        sortKey = part == .count || places != nil ? nil : plan.keys
        self.table = table
        self.ranges = ranges.reversed()
    }

    var isDone: Bool { ranges.isEmpty }

    mutating func step(
        _ store: Store, _ budget: inout Int, _ judge: FetchMatches
    ) throws(StoreError) {
        while budget > 0, let range = ranges.popLast() {
            if let rest = try read(range, store, &budget, judge) { ranges.append(rest) }
        }
    }

    private func read(
        _ range: KeyRange, _ store: Store, _ budget: inout Int, _ judge: FetchMatches
    ) throws(StoreError) -> KeyRange? {
        var pace = KeyPace(budget)
        var left: KeyRange?
        try store.current.scan(store.tables[table], from: range.lower) {
            (key, value) throws(StoreError) -> Bool in
            guard range.isBelowEnd(key) else { return false }
            guard pace.left > 0 else {
                left = KeyRange(lower: Array(key), upper: range.upper)
                return false
            }
            pace.takeKey()
            let object = try store.object(endOf: key, value, in: table)
            guard request.includes(tag: object.tag), !take(object, key, judge) else { return true }
            try judge.look(at: object, &pace.left)
            return true
        }
        judge.noteKeys(pace.keys)
        budget = pace.left
        return left
    }

    /// Takes the object of a key; false where the key says too little of it.
    @inline(__always)
    private func take(
        _ object: ObjectReference, _ key: UnsafeRawBufferPointer, _ judge: FetchMatches
    ) -> Bool {
        if let places {
            return withUnsafeTemporaryAllocation(byteCount: places.longestRest, alignment: 1) {
                room in
                guard let start = room.baseAddress else { return false }
                let (related, count) = places.withReader { $0.read(key, into: start) }
                guard case .known(let related) = related else { return false }
                return judge.take(
                    object, related: related, rest: UnsafeRawBufferPointer(rebasing: room[..<count])
                )
            }
        }
        guard let made = sortKey.map({ $0.key(key) }) ?? [] else { return false }
        judge.take(object, key: made)
        return true
    }
}

/// Objects that come in the request's order, by an index.
struct WalkedCandidates {
    private let request: CompiledRequest
    private var walk: IndexWalk
    /// What makes sort keys of the index's keys, where every entry matches and rows are not wanted.
    private let sortKey: IndexSortKey?
    private(set) var isDone = false
    /// Whether everything that comes before the next entry in the request's order was seen.
    private(set) var isBetweenGroups = false

    init(_ request: CompiledRequest, _ walk: IndexWalk, _ sortKey: IndexSortKey?) {
        self.request = request
        self.walk = walk
        self.sortKey = sortKey
    }

    mutating func step(
        _ store: Store, _ budget: inout Int, _ judge: FetchMatches
    ) throws(StoreError) {
        let cursor = try store.current.ownCursor(store.tables.indexes)
        while budget > 0 {
            guard let entry = try walk.next(cursor) else { return isDone = true }
            isBetweenGroups = walk.endsGroup(before: entry)
            if isBetweenGroups, judge.hasEnough { return }
            let object = try store.object(endOf: entry.key, entry.value, in: .indexes)
            let key = sortKey.flatMap { $0.key(entry.key) }
            walk.advance(to: entry)
            isBetweenGroups = false
            judge.noteKeys(1)
            budget -= 1
            // What was another then is looked at apart.
            guard request.includes(tag: object.tag), !judge.isPast(object) else { continue }
            if let key {
                judge.take(object, key: key)
            } else {
                budget += 1
                try judge.look(at: object, &budget)
            }
        }
    }
}

/// What reading keys takes from a budget.
struct KeyPace {
    /// What is left of the budget.
    var left: Int
    /// How many keys were read.
    private(set) var keys = 0

    /// So many keys that need no more than to be read are read for one of a budget.
    private static let keysForOne = 8

    init(_ budget: Int) { left = budget }

    mutating func takeKey() {
        keys += 1
        if keys % Self.keysForOne == 0 { left -= 1 }
    }
}

extension AccessPath {
    /// The keys that lead to candidates; nil where those come otherwise.
    var keys: (table: StoreTable, ranges: [KeyRange])? {
        switch self {
        case .members(let owner, let link, _):
            (.links, [KeyRange(prefix: StoreKey.links(link, of: owner.number))])
        case .index(_, let ranges): (.indexes, ranges)
        case .scan, .unique, .holders, .union, .related: nil
        }
    }
}
