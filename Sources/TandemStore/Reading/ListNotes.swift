import TandemModel
import TandemQuery

/// What the answer to a fetch that opens a list says of each object that matched: section, and what it reaches.
///
/// One ordinal an object, in the order of evaluation; numbers lie in flat arrays. What an object that many reach is among those reached
/// is looked up once.
struct ListNotes {
    private let hops: ListHops
    /// The hop that is the relationship of the first part of keys, if any.
    private let relatedHop: Int?
    private var reached: [ObjectReference] = []
    private var reachedPlaces: [ObjectNumber: UInt32] = [:]
    /// For each ordinal the place of its section's name.
    private var sectionOf: [UInt32] = []
    /// For each ordinal and hop the place among those reached, from 1 on, or 0.
    private var links: [UInt32] = []
    private var ends: [ObjectReference?] = []
    /// By the places of related objects what they are among those reached, 0 for what is not looked up.
    private var relatedLinks: [UInt32] = []
    /// About the bytes that it holds.
    private(set) var bytes = 0

    init(_ hops: ListHops, _ keys: GroupedKeys) {
        self.hops = hops
        relatedHop = keys.slot.flatMap { hops.direct($0) }
    }

    /// How many were noted.
    var count: Int { sectionOf.count }

    /// What an object takes here and in the answer beside its key: a section each, and its number.
    private static let bytesForOne =
        2 * MemoryLayout<UInt32>.stride + MemoryLayout<ListPlaces.Run>.stride + 8
    /// What a hop of an object takes here, and at most in the answer.
    private static let bytesForHop =
        MemoryLayout<UInt32>.stride + MemoryLayout<ListPlaces.Run>.stride

    /// Notes an object that matches; false when the reader does not hold what it needs.
    mutating func note(
        _ row: RowView, at place: GroupedKeys.Place, _ request: CompiledRequest,
        _ reader: PastReader
    ) -> Bool {
        let known = link(ofRelated: place.related)
        if hops.count != 1 || known == nil {
            ends.removeAll(keepingCapacity: true)
            guard hops.follow(row, request, reader, into: &ends) else { return false }
            for end in ends { links.append(end.map { self.place(of: $0) } ?? 0) }
            if known == nil, let relatedHop, let end = ends[relatedHop] {
                learn(place.related, self.place(of: end))
            }
        } else if let known {
            links.append(known)
        }
        bytes += Self.bytesForOne + hops.count * Self.bytesForHop
        sectionOf.append(place.section)
        return true
    }

    /// Notes an object that matches by its place alone; false when that does not say what it reaches.
    @inline(__always)
    mutating func note(at place: GroupedKeys.Place) -> Bool {
        if hops.count > 0 {
            guard hops.count == 1, relatedHop != nil else { return false }
            guard let link = place.related < 0 ? 0 : link(ofRelated: place.related) else {
                return false
            }
            links.append(link)
        }
        bytes += Self.bytesForOne + hops.count * Self.bytesForHop
        sectionOf.append(place.section)
        return true
    }

    private func link(ofRelated place: Int) -> UInt32? {
        guard relatedHop != nil, relatedLinks.indices.contains(place), relatedLinks[place] != 0
        else { return nil }
        return relatedLinks[place]
    }

    private mutating func learn(_ related: Int, _ place: UInt32) {
        guard related >= 0 else { return }
        while relatedLinks.count <= related { relatedLinks.append(0) }
        relatedLinks[related] = place
    }

    private mutating func place(of object: ObjectReference) -> UInt32 {
        if let place = reachedPlaces[object.number] { return place }
        reached.append(object)
        bytes += MemoryLayout<ObjectReference>.stride + 32
        reachedPlaces[object.number] = UInt32(reached.count)
        return UInt32(reached.count)
    }

    /// Where the matches stand, in their order; throws `tooMuch` where their keys have 4 GiB or more.
    func places(
        of matches: ArraySlice<SortKeyArena.Entry>, _ arena: SortKeyArena, _ keys: GroupedKeys
    ) throws(StoreError) -> ListPlaces {
        var places = ListPlaces(sections: keys.sections, reached: reached, hops: hops.count)
        let keyBytes = keyBytes(of: matches, arena, keys)
        guard keyBytes <= Int(UInt32.max) else {
            throw StoreError(
                .tooMuch, "the sort keys of the list's objects have \(keyBytes) bytes; fetch parts")
        }
        places.reserveCapacity(matches.count, keyBytes: keyBytes)
        for match in matches {
            let ordinal = Int(match.ordinal)
            keys.prefixes[Int(match.group)].withUnsafeBytes { prefix in
                places.append(
                    match.object, key: prefix, arena.bytes(of: match), section: sectionOf[ordinal])
            }
            for hop in 0..<hops.count {
                places.append(link: links[ordinal * hops.count + hop], hop: hop)
            }
        }
        return places
    }

    private func keyBytes(
        of matches: ArraySlice<SortKeyArena.Entry>, _ arena: SortKeyArena, _ keys: GroupedKeys
    ) -> Int {
        guard keys.isGrouped else { return arena.byteCount }
        return matches.reduce(arena.byteCount) { $0 + keys.prefixBytes($1.group) }
    }
}
