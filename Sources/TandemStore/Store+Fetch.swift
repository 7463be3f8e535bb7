import TandemModel
public import TandemQuery

/// What a fetch found.
public struct FetchResult: Sendable {
    /// The objects in the request's order, after offset and limit.
    public var objects: [Store.Stored] = []
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
    /// Cost: the candidates; sorting keeps a key of each match in memory. Throws ``StoreError``.
    public func fetch(_ request: CompiledRequest) throws(StoreError) -> FetchResult {
        let path = AccessPath(request)
        var collector = FetchCollector(request, StoreReader(self))
        try candidates(path, request) { collector.judge($0) }
        guard !collector.isUnsettled else {
            throw StoreError(.failed, "the store at \(self.path) could not be read while fetching")
        }
        var result = collector.result()
        result.plan = path.description
        return result
    }

    private func candidates(
        _ path: AccessPath, _ request: CompiledRequest, _ body: (Stored) -> Void
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
            try current.scan(tables.links, prefix: prefix) { key, value in
                found.append(Store.object(value.bigEndian(0, as: UInt16.self), key))
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

    private func scan(_ tag: EntityTag, _ body: (Stored) -> Void) throws(StoreError) {
        try current.scan(tables.rows, prefix: StoreKey.tag(tag)) { key, value in
            body(Store.stored(Store.object(tag, key), value))
            return true
        }
    }

    private func collect(
        _ range: AccessPath.KeyRange, _ found: inout Set<ObjectReference>
    ) throws(StoreError) {
        var objects: [ObjectReference] = []
        try current.scan(tables.indexes, from: range.lower) { key, value in
            if let upper = range.upper, !Store.isBelow(key, upper) { return false }
            guard key.starts(with: range.lower.prefix(2)) else { return false }
            let number = key.bigEndian(key.count - 8, as: UInt64.self)
            objects.append(
                ObjectReference(tag: value.bigEndian(0, as: UInt16.self), number: number))
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
        guard let bytes = try current.get(tables.unique, key), bytes.count == 10 else { return [] }
        let tag = bytes.bigEndian(0, as: UInt16.self)
        return [ObjectReference(tag: tag, number: bytes.bigEndian(2, as: UInt64.self))]
    }

    private func judge(
        _ objects: [ObjectReference], _ request: CompiledRequest, _ body: (Stored) -> Void
    ) throws(StoreError) {
        for object in objects where request.includes(tag: object.tag) {
            if let stored = try stored(object) { body(stored) }
        }
    }

    private static func isBelow(_ key: UnsafeRawBufferPointer, _ upper: [UInt8]) -> Bool {
        key.lexicographicallyPrecedes(upper)
    }
}

/// Judges candidates and puts those that match in order.
private struct FetchCollector {
    private let request: CompiledRequest
    private let reader: StoreReader
    private var found: [(key: [UInt8], stored: Store.Stored)] = []
    private var rowsRead = 0
    private(set) var isUnsettled = false

    init(_ request: CompiledRequest, _ reader: StoreReader) {
        self.request = request
        self.reader = reader
    }

    mutating func judge(_ stored: Store.Stored) {
        rowsRead += 1
        guard let matches = request.matches(stored.object, stored.row, reader) else {
            isUnsettled = true
            return
        }
        guard matches else { return }
        guard let key = request.sortKey(stored.object, stored.row, reader) else {
            isUnsettled = true
            return
        }
        found.append((key, stored))
    }

    consuming func result() -> FetchResult {
        found.sort { a, b in
            a.key == b.key
                ? a.stored.object < b.stored.object : a.key.lexicographicallyPrecedes(b.key)
        }
        var result = FetchResult()
        result.count = found.count
        result.rowsRead = rowsRead
        let start = min(max(0, request.request.offset), found.count)
        // A client may ask for any numbers: nothing is added up that could overflow.
        let wanted = request.request.limit.map { min(max(0, $0), found.count - start) }
        let end = start + (wanted ?? found.count - start)
        result.objects = found[start..<end].map(\.stored)
        return result
    }
}
