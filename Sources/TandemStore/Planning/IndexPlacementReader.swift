import TandemModel
import TandemQuery

/// A reader of placements from index keys: the related object whose values begin the sort key, and
/// the rest of the key.
///
/// A list by `bucket.name`, then by date, is opened from an index of `bucket` and `date`. Only two
/// rows per bucket are read, the bucket's and its first object's. Index keys have the same
/// components as sort keys, but without the inversion of descending ones.
struct IndexPlacementReader {
    /// The leading components of the index, up to the last one that placements need.
    private let components: IndexComponents
    /// The index of the relationship among the components; nil if neither the order nor the
    /// sections have a path through one.
    private let related: Int?
    private let rest: [RestComponent]

    /// A component of the rest of a sort key: its index in the key, and the bits to invert.
    fileprivate struct RestComponent {
        var index: Int
        var flipping: UInt64
    }

    /// Creates the reader for a kind of result; nil if the keys lack some component of the
    /// placement.
    ///
    /// Without an index, keys have no components.
    init?(_ request: CompiledRequest, _ index: CompiledIndex?, _ kind: FetchResultKind) {
        let slots = index?.slots ?? []
        let keys = GroupedKeys(of: request, sections: kind.isList)
        guard let columns = keys.restColumns else { return nil }
        if case .list(let hops) = kind, hops.count > 0 {
            guard hops.count == 1, let slot = keys.slot, hops.direct(slot) != nil else {
                return nil
            }
        }
        related = keys.slot.flatMap { slots.firstIndex(of: $0) }
        guard (related == nil) == (keys.slot == nil) else { return nil }
        let indexes = columns.compactMap { column in slots.firstIndex(of: column.slot) }
        guard indexes.count == columns.count else { return nil }
        let neededCount = max(related ?? -1, indexes.max() ?? -1) + 1
        components = IndexComponents(Array(slots.prefix(neededCount)), request.entity)
        rest = zip(indexes, columns).map {
            RestComponent(index: $0, flipping: $1.ascending ? 0 : .max)
        }
    }

    /// Whether all objects with the same related object have consecutive keys.
    ///
    /// The index then begins with the relationship.
    var isGrouped: Bool { related == 0 }

    /// The related object of the object to which a key refers.
    enum Related: Equatable {
        case known(ObjectNumber?)
        /// The key was truncated.
        case unknown
    }

    /// The maximum size of the rest of a sort key, in bytes.
    var longestRest: Int { rest.count * StoreKey.longest }

    /// Calls `body` with a reader of any number of keys.
    @inline(__always)
    func withReader<Result, Failure: Error>(
        _ body: (Reader) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeTemporaryAllocation(of: Int.self, capacity: components.count + 1) {
            ends throws(Failure) in
            try components.withFinder { finder throws(Failure) in
                try rest.withUnsafeBufferPointer { rest throws(Failure) in
                    try body(Reader(finder: finder, rest: rest, ends: ends, related: related))
                }
            }
        }
    }

    /// A fast reader of keys, valid only during the call to which it is passed.
    struct Reader {
        fileprivate let finder: IndexComponents.Finder
        fileprivate let rest: UnsafeBufferPointer<RestComponent>
        /// The offsets of a key's components, and the end of the last one.
        fileprivate let ends: UnsafeMutableBufferPointer<Int>
        fileprivate let related: Int?

        /// Reads the related object of a key, and writes the rest of the sort key into `room`.
        ///
        /// `room` must have space for ``longestRest`` bytes. Returns the number of bytes written.
        @inline(__always)
        func read(
            _ key: UnsafeRawBufferPointer, into room: UnsafeMutableRawPointer
        ) -> (related: Related, count: Int) {
            // In a damaged page, a key can have any length.
            guard key.count <= StoreKey.longest, let base = key.baseAddress,
                finder.find(key, ends)
            else { return (.unknown, 0) }
            var count = 0
            for at in 0..<rest.count {
                let component = rest[at]
                let start = ends[component.index]
                let length = ends[component.index + 1] - start
                (room + count).copyInline(
                    from: base + start, count: length, flipping: component.flipping)
                count += length
            }
            assert(
                count <= rest.count * StoreKey.longest, "The rest is within its maximum size.")
            guard let related else { return (.known(nil), count) }
            let start = ends[related]
            let isNone = key[start] == 0
            return (.known(isNone ? nil : key.bigEndian(start + 1, as: UInt64.self)), count)
        }
    }
}
