import TandemModel
import TandemQuery

/// What the answer to a fetch that opens a list says of each object that matched: section, and what it reaches.
///
/// One ordinal an object, in the order of judging; numbers lie in flat arrays. What an object that many reach adds to keys and sections is
/// worked out once a step.
struct ListNotes {
    private let hops: ListHops
    private let memo: PlaceMemo
    private var sections: [String] = []
    private var sectionPlaces: [String: UInt32] = [:]
    private var reached: [ObjectReference] = []
    private var reachedPlaces: [ObjectNumber: UInt32] = [:]
    /// For each ordinal the place of its section's name.
    private var sectionOf: [UInt32] = []
    /// For each ordinal and hop the place among those reached, from 1 on, or 0.
    private var links: [UInt32] = []
    private var ends: [ObjectReference?] = []
    /// About the bytes that it holds.
    private(set) var bytes = 0

    init(_ request: CompiledRequest, _ hops: ListHops) {
        self.hops = hops
        memo = PlaceMemo(of: request)
    }

    /// How many were noted.
    var count: Int { sectionOf.count }

    /// Forgets what the store may have changed since: before each step.
    func beginStep() { memo.clear() }

    /// Notes an object that matches; its sort key, or nil when the reader does not hold what it needs.
    mutating func note(
        _ object: ObjectReference, _ row: RowView, _ request: CompiledRequest, _ reader: PastReader
    ) -> [UInt8]? {
        ends.removeAll(keepingCapacity: true)
        guard let place = request.place(of: object, row, reader, memo),
            hops.follow(row, request, reader, into: &ends)
        else { return nil }
        bytes += MemoryLayout<UInt32>.stride * (1 + hops.count)
        sectionOf.append(self.place(ofSection: place.section))
        for end in ends { links.append(end.map { self.place(of: $0) } ?? 0) }
        return place.key
    }

    private mutating func place(ofSection name: String) -> UInt32 {
        if let last = sectionOf.last, sections[Int(last)] == name { return last }
        if let place = sectionPlaces[name] { return place }
        sections.append(name)
        // The name, and its place in the table.
        bytes += 2 * name.utf8.count + 64
        sectionPlaces[name] = UInt32(sections.count - 1)
        return UInt32(sections.count - 1)
    }

    private mutating func place(of object: ObjectReference) -> UInt32 {
        if let place = reachedPlaces[object.number] { return place }
        reached.append(object)
        bytes += MemoryLayout<ObjectReference>.stride + 32
        reachedPlaces[object.number] = UInt32(reached.count)
        return UInt32(reached.count)
    }

    /// Where the matches stand, in their order.
    func places(of matches: ArraySlice<SortKeyArena.Entry>, _ keys: SortKeyArena) -> ListPlaces {
        var places = ListPlaces(sections: sections, reached: reached, hops: hops.count)
        places.reserveCapacity(matches.count, keyBytes: keys.count)
        for match in matches {
            let ordinal = Int(match.tail)
            places.append(match.object, key: keys.bytes(of: match), section: sectionOf[ordinal])
            for hop in 0..<hops.count {
                places.append(link: links[ordinal * hops.count + hop], hop: hop)
            }
        }
        return places
    }
}
