public import TandemModel
public import TandemQuery

/// What is wanted of a fetch.
public enum FetchPart: Hashable, Sendable {
    /// The rows.
    case rows
    /// The objects without their rows.
    case references
    /// How many there are.
    case count
}

/// What a fetch found.
public struct FetchResult: Sendable {
    /// The objects in the request's order, after offset and limit; empty when only references or a count are wanted.
    public var objects: [Store.Stored] = []
    /// The objects without their rows, if these are wanted.
    public var references: [ObjectReference] = []
    /// How many match, before offset and limit.
    public var count = 0
    /// How the candidates were found, for `tandem explain`.
    public var plan = ""
    /// How many rows were read to find them.
    public var rowsRead = 0
}

/// Fetching: candidates by index or scan, judged by the predicate, sorted by encoded keys.
extension Store {
    /// Fetches from the open write transaction, at ``appliedPosition``.
    ///
    /// Cost: the candidates; sorting keeps a key of each match in memory. Rows are copied into the answer only: every
    /// candidate is judged where it lies, and with a limit the rows of the answer are read at the end. Throws ``StoreError``: `tooMuch`
    /// when key paths and subqueries reach more than ``ReadBudget`` has.
    public func fetch(
        _ request: CompiledRequest, for part: FetchPart = .rows
    ) throws(StoreError) -> FetchResult {
        let path = AccessPath(request)
        var collector = FetchCollector(request, part, StoreReader(self))
        try candidates(path, request) { (object, value) throws(StoreError) in
            try collector.judge(object, value)
        }
        guard !collector.isUnsettled else { throw unreadable }
        var result = FetchResult()
        result.plan = path.description
        result.count = collector.count
        result.rowsRead = collector.rowsRead
        for match in collector.answer() {
            if part == .references {
                result.references.append(match.object)
            } else if let stored = match.stored {
                result.objects.append(stored)
            } else if let stored = try stored(match.object) {
                result.objects.append(stored)
            } else {
                throw unreadable
            }
        }
        return result
    }

    private var unreadable: StoreError {
        StoreError(.failed, "the store at \(path) could not be read while fetching")
    }

    private typealias Candidate = (ObjectReference, UnsafeRawBufferPointer) throws(StoreError) ->
        Void

    private func candidates(
        _ path: AccessPath, _ request: CompiledRequest, _ body: Candidate
    ) throws(StoreError) {
        let tags =
            request.request.includesSubentities
            ? request.entity.descendants : [request.entity.tag]
        switch path {
        case .scan:
            for tag in tags { try scan(tag, body) }
        case .members(let owner, let link, _):
            var found: [ObjectReference] = []
            let prefix = StoreKey.links(link, of: owner.number)
            try current.scan(tables.links, prefix: prefix) {
                (key, value) throws(StoreError) -> Bool in
                found.append(try object(endOf: key, value, in: .links))
                return true
            }
            try judge(found, request, body)
        case .unique(let index, let value):
            try judge(try holder(index, value), request, body)
        case .index(_, let ranges):
            // Ranges of one condition may meet; a set keeps an object from being found twice.
            var found: Set<ObjectReference> = []
            for range in ranges { try collect(range, &found) }
            try judge(found.sorted(), request, body)
        }
    }

    private func scan(_ tag: EntityTag, _ body: Candidate) throws(StoreError) {
        try current.scan(tables.rows, prefix: StoreKey.tag(tag)) {
            (key, value) throws(StoreError) -> Bool in
            try body(try object(tag, key, in: .rows), value)
            return true
        }
    }

    private func collect(
        _ range: AccessPath.KeyRange, _ found: inout Set<ObjectReference>
    ) throws(StoreError) {
        var objects: [ObjectReference] = []
        try current.scan(tables.indexes, from: range.lower) {
            (key, value) throws(StoreError) -> Bool in
            if let upper = range.upper, !Store.isBelow(key, upper) { return false }
            guard key.starts(with: range.lower.prefix(2)) else { return false }
            objects.append(try object(endOf: key, value, in: .indexes))
            return true
        }
        found.formUnion(objects)
    }

    private func holder(_ index: CompiledIndex, _ value: Value) throws(StoreError)
        -> [ObjectReference]
    {
        var tuple = KeyEncoder()
        tuple.append(value)
        let hash = StableHash(tuple.bytes)
        let key =
            StoreKey.tag(index.id) + StoreKey.number(hash.first) + StoreKey.number(hash.second)
        return try current.get(tables.unique, key).map { bytes throws(StoreError) in
            [try holder(bytes)]
        } ?? []
    }

    private func judge(
        _ objects: [ObjectReference], _ request: CompiledRequest, _ body: Candidate
    ) throws(StoreError) {
        let open = try current
        for object in objects where request.includes(tag: object.tag) {
            if let value = try open.get(tables.rows, StoreKey.row(object)) {
                try body(object, value)
            }
        }
    }

    private static func isBelow(_ key: UnsafeRawBufferPointer, _ upper: [UInt8]) -> Bool {
        key.lexicographicallyPrecedes(upper)
    }
}

/// Judges candidates and puts those that match in order.
private struct FetchCollector {
    /// An object that matches; with its row unless that is read when the answer is known.
    struct Match {
        var key: [UInt8]
        var object: ObjectReference
        var stored: Store.Stored?
    }

    private let request: CompiledRequest
    private let reader: StoreReader
    private let limit: Int?
    /// Whether every row that matches is in the answer.
    private let keepsRows: Bool
    private var found: [Match] = []
    private(set) var count = 0
    private(set) var rowsRead = 0
    private(set) var isUnsettled = false

    init(_ request: CompiledRequest, _ part: FetchPart, _ reader: StoreReader) {
        self.request = request
        self.reader = reader
        limit = part == .count ? 0 : request.request.limit.map { max(0, $0) }
        keepsRows = part == .rows && limit == nil
    }

    /// Judges a candidate where its row lies.
    ///
    /// Throws `damaged` for what is no row of the object's entity.
    mutating func judge(
        _ object: ObjectReference, _ value: UnsafeRawBufferPointer
    ) throws(StoreError) {
        let row = try reader.store.rowView(object, at: value)
        try reader.store.current.lend { () throws(StoreError) in try judge(object, row, value) }
    }

    private mutating func judge(
        _ object: ObjectReference, _ row: RowView, _ value: UnsafeRawBufferPointer
    ) throws(StoreError) {
        rowsRead += 1
        reader.budget.beginObject()
        guard let matches = request.matches(object, row, reader) else { return try unsettled() }
        guard matches else { return }
        count += 1
        if limit == 0 { return }
        guard let key = request.sortKey(object, row, reader) else { return try unsettled() }
        let stored = keepsRows ? Store.stored(object, value) : nil
        found.append(Match(key: key, object: object, stored: stored))
    }

    /// Throws `tooMuch` if that is why something is not known.
    private mutating func unsettled() throws(StoreError) {
        if reader.budget.isExhausted { throw StoreError(.tooMuch, ReadBudget.message) }
        if let failure = reader.budget.failure { throw failure }
        isUnsettled = true
    }

    /// The matches from offset to limit, in the request's order.
    mutating func answer() -> ArraySlice<Match> {
        found.sort { a, b in
            a.key == b.key ? a.object < b.object : a.key.lexicographicallyPrecedes(b.key)
        }
        let start = min(max(0, request.request.offset), found.count)
        // A client may ask for any numbers: nothing is added up that could overflow.
        let wanted = limit.map { min($0, found.count - start) }
        return found[start..<(start + (wanted ?? found.count - start))]
    }
}
