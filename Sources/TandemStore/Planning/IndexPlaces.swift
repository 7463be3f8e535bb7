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
    private let parts: [(place: Int, ascending: Bool)]

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
        parts = zip(places, columns).map { ($0, $1.ascending) }
    }

    /// What the object of a key reaches by the relationship.
    enum Related {
        case known(ObjectNumber?)
        /// The key was cut.
        case unknown
    }

    /// Reads a key: the related object, and into `rest` what comes behind its part of the sort key; `ends` is room for work.
    func read(
        _ key: UnsafeRawBufferPointer, rest: inout [UInt8], ends: inout [Int]
    ) -> Related {
        guard components.find(key, &ends) else { return .unknown }
        rest.removeAll(keepingCapacity: true)
        for part in parts {
            let start = part.place == 0 ? 2 : ends[part.place - 1]
            let old = rest.count
            rest.append(
                contentsOf: UnsafeRawBufferPointer(rebasing: key[start..<ends[part.place]]))
            guard !part.ascending else { continue }
            rest.withUnsafeMutableBufferPointer { rest in
                for at in old..<rest.count { rest[at] = ~rest[at] }
            }
        }
        guard let related else { return .known(nil) }
        let start = related == 0 ? 2 : ends[related - 1]
        return .known(key[start] == 0 ? nil : key.bigEndian(start + 1, as: UInt64.self))
    }
}
