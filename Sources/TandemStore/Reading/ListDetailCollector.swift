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
    private var reached = ReachedObjects()
    /// For each ordinal, the index of the section's name.
    private var sectionOf: [UInt32] = []
    /// For each ordinal and hop, the index of the reached object, from 1; 0 if there is none.
    private var links: [UInt32] = []
    private var ends: [ObjectReference?] = []
    private var ownBytes = 0

    init(_ hops: ListHops, _ keys: GroupedKeys) {
        self.hops = hops
        relatedHop = keys.slot.flatMap { hops.direct($0) }
    }

    /// The approximate size of the details in bytes.
    var bytes: Int { ownBytes + reached.bytes }

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
        _ reader: StoreReader
    ) -> Bool {
        if collect(at: place) { return true }
        ends.removeAll(keepingCapacity: true)
        guard hops.follow(row, request, reader, into: &ends) else { return false }
        assert(ends.count == hops.count, "Each hop has an end, or none.")
        for (hop, end) in ends.enumerated() {
            let related = hop == relatedHop ? place.related : -1
            links.append(end.map { reached.link(to: $0, by: related) } ?? 0)
        }
        finish(place)
        return true
    }

    /// Records the details of a match from its placement alone; returns false if its reached object
    /// is not known yet.
    @inline(__always)
    mutating func collect(at place: GroupedKeys.Placement) -> Bool {
        if hops.count > 0 {
            guard hops.count == 1, relatedHop != nil,
                let link = place.related < 0 ? 0 : reached.link(by: place.related)
            else { return false }
            links.append(link)
        }
        finish(place)
        return true
    }

    @inline(__always)
    private mutating func finish(_ place: GroupedKeys.Placement) {
        ownBytes += Self.bytesForOne + hops.count * Self.bytesForHop
        sectionOf.append(place.section)
        assert(links.count == count * hops.count, "Each match has a link for each hop.")
    }

    /// Returns the placements of matches, in order; throws `tooMuch` if their keys have 4 GiB or
    /// more.
    func places(
        of matches: ArraySlice<SortEntry>, _ records: SortKeyRecords, _ keys: GroupedKeys
    ) throws(StoreError) -> ListPlacements {
        var places = ListPlacements(
            sections: keys.sections, reached: reached.objects, hopCount: hops.count)
        let keyBytes = keyBytes(of: matches, records, keys)
        try ListPlacements.checkKeyBytes(keyBytes)
        places.reserveCapacity(matches.count, keyBytes: keyBytes)
        for match in matches {
            let ordinal = Int(match.ordinal)
            keys.prefixes[Int(match.group)].withUnsafeBytes { prefix in
                places.append(
                    records.object(match.at), key: prefix, records.rest(match.at),
                    section: sectionOf[ordinal])
            }
            for hop in 0..<hops.count {
                places.append(link: links[ordinal * hops.count + hop], hop: hop)
            }
        }
        assert(places.count == matches.count, "Each match has a placement.")
        return places
    }

    private func keyBytes(
        of matches: ArraySlice<SortEntry>, _ records: SortKeyRecords, _ keys: GroupedKeys
    ) -> Int {
        guard keys.isGrouped else { return records.keyBytes }
        return matches.reduce(records.keyBytes) { $0 + keys.prefixBytes($1.group) }
    }
}

/// The objects that a list shows at the ends of its hops, in the order in which they were reached.
struct ReachedObjects {
    private(set) var objects: [ObjectReference] = []
    private var links: [ObjectNumber: UInt32] = [:]
    /// For each related object's index, its link; 0 if it was not reached yet.
    private var relatedLinks: [UInt32] = []

    /// The approximate size in bytes.
    var bytes: Int { objects.count * (MemoryLayout<ObjectReference>.stride + 32) }

    /// Returns the link to the related object at an index: the index of the reached object, from 1.
    ///
    /// The result is nil if the object was not reached yet.
    func link(by related: Int) -> UInt32? {
        guard relatedLinks.indices.contains(related), relatedLinks[related] != 0 else { return nil }
        return relatedLinks[related]
    }

    /// Returns the link to an object, which may be the related one at an index; adds the object if
    /// it was not reached before.
    mutating func link(to object: ObjectReference, by related: Int = -1) -> UInt32 {
        let link = links[object.number] ?? UInt32(objects.count + 1)
        if link > objects.count {
            objects.append(object)
            links[object.number] = link
        }
        guard related >= 0 else { return link }
        while relatedLinks.count <= related { relatedLinks.append(0) }
        relatedLinks[related] = link
        return link
    }
}

extension ListPlacements {
    /// Throws `keysTooLong` if a list can't hold sort keys of this size, because it stores their
    /// offsets as 32-bit numbers.
    static func checkKeyBytes(_ keyBytes: Int) throws(StoreError) {
        guard keyBytes > Int(UInt32.max) else { return }
        throw StoreError(
            .keysTooLong,
            "the sort keys of the list's objects have \(keyBytes) bytes, but a list holds less than "
                + "4 GiB of them; fetch fewer objects or sort by shorter values")
    }
}
