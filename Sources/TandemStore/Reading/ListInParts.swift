public import TandemQuery

/// A long list that an index gave, whose objects are put in order group by group as they are taken.
///
/// So the first are on their way while the others are put in order, and no more of them is in memory in its last form than a part.
///
///     while let places = list.nextPart(bytes: 256 << 10) { send(places) }
///
/// Bound to one thread at a time. Nothing of the store is read for it.
public final class ListInParts {
    /// The names of sections and what is reached.
    public let head: ListPlaces
    private let records: ListRecords
    /// In the order of groups.
    private let segments: [ListSegment]
    private let keys: GroupedKeys
    private let keyBytes: Int
    private let givesKeys: Bool
    private var sorter: ListSorter
    private var next = 0
    private var taken = 0

    init(
        _ records: ListRecords, _ segments: [ListSegment], _ keys: GroupedKeys,
        _ head: ListPlaces, givesKeys: Bool, keyBytes: Int, linksUpTo: Int
    ) {
        (self.records, self.segments, self.keys) = (records, segments, keys)
        (self.givesKeys, self.keyBytes) = (givesKeys, keyBytes)
        self.head = head.withLinks(upTo: linksUpTo)
        whole = head
        sorter = ListSorter(records, givesKeys: givesKeys)
    }

    /// The names of sections and all that is reached, however much that is.
    private let whole: ListPlaces

    /// How many objects it has, those included that were taken.
    public var count: Int { records.count }

    /// About the bytes of all objects in their last form.
    public var bytes: Int { keyBytes + count * 12 }

    /// About the bytes that it holds.
    public var heldBytes: Int {
        records.bytes + segments.count * MemoryLayout<ListSegment>.stride + keys.bytes
            + sorter.bytes
    }

    /// Whether all objects were taken.
    public var isTaken: Bool { taken == count }

    /// The next objects, of about so many bytes, or all that are left; nil where there are no more.
    public func nextPart(bytes: Int) -> ListPlaces? {
        guard !isTaken else { return nil }
        var places = ListPlaces(hops: head.hops)
        let room = bytes + Self.groupBytes
        places.reserveCapacity(room / max(12, keyBytes / max(1, count) + 12), keyBytes: room)
        append(to: &places, upTo: bytes)
        return places
    }

    /// The whole list; before anything was taken.
    func allPlaces() -> ListPlaces {
        var places = whole
        places.reserveCapacity(count, keyBytes: givesKeys ? keyBytes : 0)
        append(to: &places, upTo: .max)
        return places
    }

    /// A part ends behind the group with which it is long enough: most groups have fewer bytes than this.
    private static var groupBytes: Int { 16 << 10 }

    /// Appends objects in order until there are so many bytes.
    private func append(to places: inout ListPlaces, upTo bytes: Int) {
        let before = places.count
        defer { taken += places.count - before }
        while places.bytes < bytes, next < segments.count {
            let end = endOfGroup
            let prefix = keys.prefixes[Int(segments[next].group)]
            if end < segments.count { records.pile.prefetch(segments[end].start) }
            guard sorter.append(segments[next..<end], prefix, to: &places, upTo: bytes) else {
                return
            }
            next = end
        }
    }

    private var endOfGroup: Int {
        var end = next + 1
        while end < segments.count, segments[end].group == segments[next].group { end += 1 }
        return end
    }
}
