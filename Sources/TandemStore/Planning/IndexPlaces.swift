import TandemModel
import TandemQuery

/// Says by the keys of an index where objects stand: which related object leads their sort key, and what comes behind that.
///
/// A list by `bucket.name`, then by date, is opened so from an index of `bucket` and `date` and a row of each bucket: the rest of the rows need
/// not be read. The keys' components are those of sort keys, inverted for descending ones.
struct IndexPlaces {
    private let components: IndexComponents
    /// Where the relationship stands in the index; nil where neither order nor section leads over one.
    private let related: Int?
    private let parts: [Part]

    /// A component of the rest of a sort key: where it stands in the index, and the bits that differ.
    fileprivate struct Part {
        var place: Int
        var flipping: UInt64
    }

    /// The places that a part of a request's answer needs, from the keys of an index; nil where these lack something.
    init?(_ request: CompiledRequest, _ index: CompiledIndex, _ part: FetchPart) {
        let keys = GroupedKeys(of: request, sections: part.isList)
        guard let columns = keys.restColumns else { return nil }
        if case .list(let hops) = part, hops.count > 0 {
            guard hops.count == 1, let slot = keys.slot, hops.direct(slot) != nil else {
                return nil
            }
        }
        related = keys.slot.flatMap { index.slots.firstIndex(of: $0) }
        guard (related == nil) == (keys.slot == nil) else { return nil }
        let places = columns.compactMap { index.slots.firstIndex(of: $0.slot) }
        guard places.count == columns.count else { return nil }
        components = IndexComponents(index, request.entity)
        parts = zip(places, columns).map { Part(place: $0, flipping: $1.ascending ? 0 : .max) }
    }

    /// Whether all that reaches one related object comes one behind the other, in an index that leads with the relationship.
    var isGrouped: Bool { related == 0 }

    /// What the object of a key reaches by the relationship.
    enum Related: Equatable {
        case known(ObjectNumber?)
        /// The key was cut.
        case unknown
    }

    /// So many bytes at most come behind a key's part of the sort key.
    var longestRest: Int { parts.count * StoreKey.longest }

    /// Calls `body` with what reads one key after the other.
    @inline(__always)
    func withReader<Result, Failure: Error>(
        _ body: (Reader) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeTemporaryAllocation(of: Int.self, capacity: components.count + 1) {
            ends throws(Failure) in
            try components.withFinder { finder throws(Failure) in
                try parts.withUnsafeBufferPointer { parts throws(Failure) in
                    try body(Reader(finder: finder, parts: parts, ends: ends, related: related))
                }
            }
        }
    }

    /// Reads keys; valid for as long as it is lent.
    struct Reader {
        fileprivate let finder: IndexComponents.Finder
        fileprivate let parts: UnsafeBufferPointer<Part>
        /// Where the components of a key begin, and the last one ends.
        fileprivate let ends: UnsafeMutableBufferPointer<Int>
        fileprivate let related: Int?

        /// Reads a key: the related object, and into `room`, which has space for ``longestRest``, what comes behind its part of the sort key.
        @inline(__always)
        func read(
            _ key: UnsafeRawBufferPointer, into room: UnsafeMutableRawPointer
        ) -> (related: Related, count: Int) {
            // A damaged page may say anything of a key's length.
            guard key.count <= StoreKey.longest, let base = key.baseAddress,
                finder.find(key, ends)
            else { return (.unknown, 0) }
            var count = 0
            for at in 0..<parts.count {
                let part = parts[at]
                let start = ends[part.place]
                let length = ends[part.place + 1] - start
                (room + count).copyShort(
                    from: base + start, count: length, flipping: part.flipping)
                count += length
            }
            guard let related else { return (.known(nil), count) }
            let start = ends[related]
            let isNone = key[start] == 0
            return (.known(isNone ? nil : key.bigEndian(start + 1, as: UInt64.self)), count)
        }
    }
}
