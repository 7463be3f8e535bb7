import TandemModel
import TandemQuery

/// The list details of each match: its section, and the objects at the ends of the list's hops.
///
/// An object's ordinal is its index in the order of evaluation, and its details are numbers in flat
/// arrays. The index of a reached object is looked up only once for each related object.
struct ListDetailCollector {
    private let hops: ListHops
    /// The index of the hop over the relationship of the key's prefix, if there is one.
    private let relatedHop: Int?
    private var reached: [ObjectReference] = []
    private var reachedPlaces: [ObjectNumber: UInt32] = [:]
    /// For each ordinal, the index of the section's name.
    private var sectionOf: [UInt32] = []
    /// For each ordinal and hop, the index of the reached object, from 1; 0 if there is none.
    private var links: [UInt32] = []
    private var ends: [ObjectReference?] = []
    /// For each related object's index, the index of the reached object, from 1; 0 if not known
    /// yet.
    private var relatedLinks: [UInt32] = []
    /// The approximate size of the details in bytes.
    private(set) var bytes = 0

    init(_ hops: ListHops, _ keys: GroupedKeys) {
        self.hops = hops
        relatedHop = keys.slot.flatMap { hops.direct($0) }
    }

    /// The number of objects with details.
    var count: Int { sectionOf.count }

    /// The size of an object's details, here and in the answer, without its key: the section, which
    /// is stored in both, and the number.
    private static let bytesForOne =
        2 * MemoryLayout<UInt32>.stride + MemoryLayout<ListPlacements.Run>.stride + 8
    /// The size of one link of an object here, plus its maximum size in the answer.
    private static let bytesForHop =
        MemoryLayout<UInt32>.stride + MemoryLayout<ListPlacements.Run>.stride

    /// Records the details of a match; returns false if the reader lacks an object.
    mutating func collect(
        _ row: RowView, at place: GroupedKeys.Placement, _ request: CompiledRequest,
        _ reader: HistoricalReader
    ) -> Bool {
        let known = link(ofRelated: place.related)
        if hops.count != 1 || known == nil {
            ends.removeAll(keepingCapacity: true)
            guard hops.follow(row, request, reader, into: &ends) else { return false }
            assert(ends.count == hops.count, "Each hop has an end, which may be nil.")
            for end in ends { links.append(end.map { self.index(of: $0) } ?? 0) }
            if known == nil, let relatedHop, let end = ends[relatedHop] {
                learn(place.related, self.index(of: end))
            }
        } else if let known {
            links.append(known)
        }
        bytes += Self.bytesForOne + hops.count * Self.bytesForHop
        sectionOf.append(place.section)
        checkInvariants()
        return true
    }

    /// Asserts that the columns are consistent; called after every match.
    private func checkInvariants() {
        assert(links.count == count * hops.count, "Each match has a link for each hop.")
        assert(reached.count == reachedPlaces.count, "Each reached object has one index.")
    }

    /// Records the details of a match from its placement alone; returns false if the object at the
    /// end of its hop is not known yet.
    @inline(__always)
    mutating func collect(at place: GroupedKeys.Placement) -> Bool {
        if hops.count > 0 {
            guard hops.count == 1, relatedHop != nil else { return false }
            guard let link = place.related < 0 ? 0 : link(ofRelated: place.related) else {
                return false
            }
            links.append(link)
        }
        bytes += Self.bytesForOne + hops.count * Self.bytesForHop
        sectionOf.append(place.section)
        checkInvariants()
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
        assert(relatedLinks[related] == 0, "The link of a related object is recorded once.")
        relatedLinks[related] = place
    }

    private mutating func index(of object: ObjectReference) -> UInt32 {
        if let place = reachedPlaces[object.number] { return place }
        reached.append(object)
        bytes += MemoryLayout<ObjectReference>.stride + 32
        reachedPlaces[object.number] = UInt32(reached.count)
        return UInt32(reached.count)
    }

    /// Returns the placements of matches, in order; throws `tooMuch` if their keys have 4 GiB or
    /// more.
    func places(
        of matches: ArraySlice<SortKeyArena.SortEntry>, _ arena: SortKeyArena, _ keys: GroupedKeys
    ) throws(StoreError) -> ListPlacements {
        var places = ListPlacements(sections: keys.sections, reached: reached, hops: hops.count)
        let keyBytes = keyBytes(of: matches, arena, keys)
        guard keyBytes <= Int(UInt32.max) else {
            throw StoreError(
                .tooMuch,
                "the sort keys of the list's objects have \(keyBytes) bytes; fetch fewer objects")
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
        assert(places.count == matches.count, "Each match has a placement.")
        return places
    }

    private func keyBytes(
        of matches: ArraySlice<SortKeyArena.SortEntry>, _ arena: SortKeyArena, _ keys: GroupedKeys
    ) -> Int {
        guard keys.isGrouped else { return arena.byteCount }
        return matches.reduce(arena.byteCount) { $0 + keys.prefixBytes($1.group) }
    }
}
