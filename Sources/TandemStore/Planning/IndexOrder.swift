import TandemModel
import TandemQuery

/// How an index has to be walked so that its objects come in a request's order.
///
/// Components that have one value in all keys play no part; each other one of the order is the next component of the index.
struct IndexOrder {
    /// How the components of the index are told apart.
    let components: IndexComponents
    /// How many components, from the first on, the order is made of.
    let depth: Int
    /// Runs of components that go in one direction, by how many components they end behind; none for what is ascending to the end.
    let levels: [Level]
    /// Whether objects whose order is the same stand in the order of their numbers.
    let settlesTies: Bool

    /// Components that go in one direction.
    struct Level {
        /// How many components, from the first on, its groups have in common.
        var depth: Int
        /// Whether the group with the smallest values comes first.
        var ascending: Bool
    }

    /// The order in which an index has to be walked; nil when it does not have the request's.
    ///
    /// - Parameters:
    ///   - index: The index.
    ///   - bounds: Its part that is walked.
    ///   - columns: The request's order.
    ///   - entity: Whose index it is.
    init?(
        _ index: CompiledIndex, _ bounds: IndexBounds, _ columns: [SortColumn],
        _ entity: CompiledEntity
    ) {
        let constant = Set(index.slots.prefix(bounds.fixed))
        var seen = constant
        // A column that comes again decides nothing any more.
        let open = columns.filter { seen.insert($0.slot).inserted }
        guard bounds.fixed + open.count <= index.slots.count,
            zip(index.slots.dropFirst(bounds.fixed), open).allSatisfy({ $0 == $1.slot })
        else { return nil }
        depth = bounds.fixed + open.count
        settlesTies = depth == index.slots.count
        components = IndexComponents(index, entity)
        var levels: [Level] = []
        for (place, column) in open.enumerated() {
            let end = bounds.fixed + place + 1
            if let last = levels.last, last.ascending == column.ascending {
                levels[levels.count - 1].depth = end
            } else {
                levels.append(Level(depth: end, ascending: column.ascending))
            }
        }
        if levels.last?.ascending == true { levels.removeLast() }
        // Other ways than up are walked in one range.
        guard levels.isEmpty || bounds.ranges.count == 1 else { return nil }
        self.levels = levels
    }
}

/// Tells the components of an index's keys apart.
struct IndexComponents {
    fileprivate enum Shape {
        /// So many bytes.
        case fixed(Int)
        /// Escaped bytes up to 00 00.
        case escaped
        /// A sign, then digits up to 00, or FF in negative numbers.
        case decimal
    }

    private let shapes: [Shape]
    /// Where each property of the index stands in it.
    let slots: [Int]

    /// The components of an index of an entity.
    init(_ index: CompiledIndex, _ entity: CompiledEntity) {
        slots = index.slots
        shapes = index.slots.map { slot in
            switch entity.properties[slot].attribute?.type {
            case .bool: .fixed(1)
            case .int, .double, .date, nil: .fixed(8)
            case .uuid: .fixed(16)
            case .decimal: .decimal
            case .string, .url, .data: .escaped
            }
        }
    }

    /// Whether a key of the index is as long as any, so that its tuple may have been cut.
    static func isCut(_ key: UnsafeRawBufferPointer) -> Bool {
        key.count >= 2 + StoreKey.tupleLimit + 8
    }

    /// Whether a key has all components and the number of an object, as far as its length lets it have them.
    func isWhole(_ key: UnsafeRawBufferPointer) -> Bool {
        guard key.count >= 2 + 8 else { return false }
        if Self.isCut(key) { return true }
        var at = 2
        for shape in shapes {
            guard let next = Self.end(shape, key, at), next <= key.count - 8 else { return false }
            at = next
        }
        return at == key.count - 8
    }

    /// The bytes of a key up to behind so many components; all of its tuple where that ends before.
    func prefix(_ key: UnsafeRawBufferPointer, _ depth: Int) -> Int {
        // A damaged key may be shorter than any.
        let end = max(min(2, key.count), key.count - 8)
        var at = 2
        for shape in shapes.prefix(depth) {
            guard let next = Self.end(shape, key, at), next <= end else { return end }
            at = next
        }
        return at
    }

    /// The bytes of one component of a key; nil where that is cut.
    func component(_ key: UnsafeRawBufferPointer, _ place: Int) -> Range<Int>? {
        let start = prefix(key, place)
        guard let end = Self.end(shapes[place], key, start), end <= key.count - 8 else {
            return nil
        }
        return start..<end
    }

    /// Calls `body` with what finds the components of one key after the other.
    @inline(__always)
    func withFinder<Result, Failure: Error>(
        _ body: (Finder) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try shapes.withUnsafeBufferPointer { shapes throws(Failure) in
            try body(Finder(shapes: shapes))
        }
    }

    /// Finds the components of keys; valid for as long as it is lent.
    struct Finder {
        fileprivate let shapes: UnsafeBufferPointer<Shape>

        /// Finds where the components of a key begin, the last of which ends at a place more; false where one is cut.
        @inline(__always)
        func find(
            _ key: UnsafeRawBufferPointer, _ places: UnsafeMutableBufferPointer<Int>
        ) -> Bool {
            var at = 2
            places[0] = at
            for place in 0..<shapes.count {
                guard let end = IndexComponents.end(shapes[place], key, at), end <= key.count - 8
                else { return false }
                at = end
                places[place + 1] = at
            }
            return true
        }
    }

    /// How many there are.
    var count: Int { shapes.count }

    @inline(__always)
    fileprivate static func end(_ shape: Shape, _ key: UnsafeRawBufferPointer, _ start: Int) -> Int?
    {
        guard start < key.count else { return nil }
        guard key[start] != 0 else { return start + 1 }
        switch shape {
        case .fixed(let count): return start + 1 + count
        case .escaped: return endOfText(key, start + 1)
        case .decimal: return endOfDecimal(key, start + 1)
        }
    }

    /// Eight bytes at a time, which are there as long as the object's number lies behind.
    @inline(__always)
    static func endOfText(_ key: UnsafeRawBufferPointer, _ start: Int) -> Int? {
        var at = start
        while at + 8 <= key.count {
            let word = key.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            let zeros = word.littleEndian.zeroBytes
            guard zeros != 0 else {
                at += 8
                continue
            }
            at += zeros.trailingZeroBitCount / 8
            guard at + 1 < key.count else { return nil }
            if key[at + 1] == 0 { return at + 2 }
            at += 2
        }
        return nil
    }

    private static func endOfDecimal(_ key: UnsafeRawBufferPointer, _ start: Int) -> Int? {
        guard start < key.count else { return nil }
        // Zero is its sign alone.
        guard key[start] != 1 else { return start + 1 }
        let mark: UInt8 = key[start] == 0 ? 0xff : 0
        var at = start + 3
        while at < key.count {
            if key[at] == mark { return at + 1 }
            at += 1
        }
        return nil
    }
}

extension UInt64 {
    /// The highest bit of each byte that is zero, up to the lowest one of them; what is above that says nothing.
    @inline(__always)
    fileprivate var zeroBytes: UInt64 {
        (self &- 0x0101_0101_0101_0101) & ~self & 0x8080_8080_8080_8080
    }
}
