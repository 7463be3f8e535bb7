import TandemModel
import TandemQuery

/// The directions in which an index has to be read to yield objects in a request's order.
///
/// Components with the same value in all keys of the bounds are ignored. The other components of
/// the order must be the next components of the index.
struct IndexOrder {
    /// The parser of the index's keys.
    let components: IndexComponents
    /// The number of leading components that determine the order.
    let depth: Int
    /// The levels of the order, each a run of components with the same direction.
    ///
    /// A final ascending run is omitted.
    let levels: [Level]
    /// Whether objects with equal sort keys are ordered by number.
    let settlesTies: Bool

    /// Consecutive components with the same direction.
    struct Level {
        /// The number of leading components that are equal within a group.
        var depth: Int
        /// Whether the groups are in ascending order.
        var ascending: Bool
    }

    /// Creates the order in which to read an index; nil if the index can't yield the request's
    /// order.
    ///
    /// - Parameters:
    ///   - index: The index to read.
    ///   - bounds: The ranges of the index to read.
    ///   - columns: The request's sort order.
    ///   - entity: The entity of the index.
    init?(
        _ index: CompiledIndex, _ bounds: IndexBounds, _ columns: [SortColumn],
        _ entity: CompiledEntity
    ) {
        let constant = Set(index.slots.prefix(bounds.fixed))
        var seen = constant
        // A repeated column has no effect.
        let open = columns.filter { seen.insert($0.slot).inserted }
        guard bounds.fixed + open.count <= index.slots.count,
            zip(index.slots.dropFirst(bounds.fixed), open).allSatisfy({ $0 == $1.slot })
        else { return nil }
        depth = bounds.fixed + open.count
        settlesTies = depth == index.slots.count
        components = IndexComponents(index.slots, entity)
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
        // Several ranges can only be read in ascending order.
        guard levels.isEmpty || bounds.ranges.count == 1 else { return nil }
        self.levels = levels
        assert(
            zip(levels, levels.dropFirst()).allSatisfy {
                $0.depth < $1.depth && $0.ascending != $1.ascending
            }, "Each level is deeper than the previous one, in the other direction.")
        assert(
            levels.last.map { $0.depth <= depth && !$0.ascending } ?? true,
            "The last level is descending, and within the order.")
    }
}

/// A parser that splits the keys of an index into components.
struct IndexComponents {
    fileprivate enum Shape {
        /// A component of a fixed number of bytes.
        case fixed(Int)
        /// Escaped bytes, ended by 00 00.
        case escaped
        /// A sign, and digits ended by 00, or by FF in negative numbers.
        case decimal
    }

    private let shapes: [Shape]

    /// Creates the parser of an index over properties of an entity.
    init(_ slots: [Int], _ entity: CompiledEntity) {
        shapes = slots.map { slot in
            switch entity.properties[slot].attribute?.type {
            case .bool: .fixed(1)
            case .int, .double, .date, nil: .fixed(8)
            case .uuid: .fixed(16)
            case .decimal: .decimal
            case .string, .url, .data: .escaped
            }
        }
    }

    /// Returns whether a key has the maximum length, so that its tuple may have been truncated.
    static func isCut(_ key: UnsafeRawBufferPointer) -> Bool {
        key.count >= 2 + StoreKey.tupleLimit + 8
    }

    /// Returns whether a key has all components and an object's number, or is truncated at the
    /// maximum length.
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

    /// Returns the offset after the first `depth` components, or the end of the tuple if it has
    /// fewer.
    func prefix(_ key: UnsafeRawBufferPointer, _ depth: Int) -> Int {
        // A damaged key may be shorter than any valid one.
        let end = max(min(2, key.count), key.count - 8)
        var at = 2
        for shape in shapes.prefix(depth) {
            guard let next = Self.end(shape, key, at), next <= end else { return end }
            at = next
        }
        return at
    }

    /// Calls `body` with a parser that can be used for any number of keys.
    @inline(__always)
    func withFinder<Result, Failure: Error>(
        _ body: (Finder) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try shapes.withUnsafeBufferPointer { shapes throws(Failure) in
            try body(Finder(shapes: shapes))
        }
    }

    /// A fast parser of keys, valid only during the call to which it is passed.
    struct Finder {
        fileprivate let shapes: UnsafeBufferPointer<Shape>

        /// Writes the offsets of all components of a key, and the end of the last one, into
        /// `places`.
        ///
        /// Returns false if a component is truncated.
        @inline(__always)
        func find(
            _ key: UnsafeRawBufferPointer, _ places: UnsafeMutableBufferPointer<Int>
        ) -> Bool {
            assert(places.count > shapes.count, "There is room for all offsets and the end.")
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

    /// The number of components.
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

    /// Returns the offset after a text's end mark, or nil if the key has none.
    ///
    /// Reads eight bytes at a time, which never exceeds the key, because the object's number
    /// follows.
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
        // Zero consists of a sign only.
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
    /// The highest bit of each zero byte; bytes above the lowest zero byte may be marked wrongly.
    @inline(__always)
    fileprivate var zeroBytes: UInt64 {
        (self &- 0x0101_0101_0101_0101) & ~self & 0x8080_8080_8080_8080
    }
}
