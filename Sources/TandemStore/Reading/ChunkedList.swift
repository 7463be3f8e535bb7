import TandemIO
package import TandemQuery

/// A long list read from an index, whose groups are sorted one by one as its chunks are requested.
///
/// The first chunk can thus be sent while the rest is still unsorted, and at most one encoded chunk
/// is in memory.
///
///     while let places = try list.nextChunk(bytes: 256 << 10, check) { send(places) }
///
/// The chunks are made without reading from the store. Bound to one thread at a time.
package final class ChunkedList {
    /// The names of sections and, unless there are too many, the reached objects.
    package let head: ListPlacements
    private let arena: SortKeyArena
    /// The segments in the order of their groups.
    private let segments: [ListSegment]
    private let keys: GroupedKeys
    private let keyBytes: Int
    private let includesKeys: Bool
    private var sorter: ListSorter
    private var next = 0
    private var taken = 0

    init(
        _ arena: SortKeyArena, _ segments: [ListSegment], _ keys: GroupedKeys,
        _ head: ListPlacements, includesKeys: Bool, keyBytes: Int, linksUpTo: Int
    ) {
        (self.arena, self.segments, self.keys) = (arena, segments, keys)
        (self.includesKeys, self.keyBytes) = (includesKeys, keyBytes)
        self.head = head.withLinks(upTo: linksUpTo)
        whole = head
        sorter = ListSorter(arena, includesKeys: includesKeys)
        assert(
            !Invariants.walk(segments.count)
                || segments.reduce(0) { $0 + $1.count } == arena.count,
            "Each record is in one segment.")
    }

    /// The names of sections and all reached objects, however many there are.
    private let whole: ListPlacements

    /// The number of objects, including those already taken.
    package var count: Int { arena.count }

    /// The approximate size of all placements in bytes.
    package var bytes: Int { keyBytes + count * 12 }

    /// The approximate size of the data held, in bytes.
    package var heldBytes: Int {
        arena.records.bytes + segments.count * MemoryLayout<ListSegment>.stride + keys.bytes
            + sorter.bytes
    }

    /// Whether all objects have been returned.
    package var isTaken: Bool { taken == count }

    /// Returns the placements of the next objects, of about `bytes` bytes or all that remain; nil
    /// after the last one.
    ///
    /// Calls `check` periodically, and throws its errors, after which the list can't be used any
    /// more.
    package func nextChunk(
        bytes: Int, _ check: () throws(StoreError) -> Void
    ) throws(StoreError) -> ListPlacements? {
        guard !isTaken else { return nil }
        var places = ListPlacements(hopCount: head.hopCount)
        let room = bytes + Self.groupBytes
        places.reserveCapacity(room / max(12, keyBytes / max(1, count) + 12), keyBytes: room)
        try append(to: &places, upTo: bytes, check)
        return places
    }

    /// Returns the whole list; must not be called after a chunk was returned.
    ///
    /// Throws the error of the budget's check.
    func allPlaces(_ budget: ReadBudget) throws(StoreError) -> ListPlacements {
        assert(taken == 0 && next == 0, "The list is returned as a whole or in chunks.")
        var places = whole
        places.reserveCapacity(count, keyBytes: includesKeys ? keyBytes : 0)
        let held = heldBytes + bytes
        try append(to: &places, upTo: .max) { () throws(StoreError) in
            try budget.runCheck(held)
        }
        return places
    }

    /// The extra capacity of a chunk.
    ///
    /// A chunk may exceed the requested size by its last group, and most groups are smaller than
    /// this.
    private static var groupBytes: Int { 16 << 10 }

    /// Appends objects in order until `places` has `bytes` bytes.
    private func append(
        to places: inout ListPlacements, upTo bytes: Int, _ check: () throws(StoreError) -> Void
    ) throws(StoreError) {
        let before = places.count
        defer {
            taken += places.count - before
            assert(
                isTaken == (next == segments.count),
                "All objects are returned with the last group.")
        }
        while places.bytes < bytes, next < segments.count {
            let end = endOfGroup
            let prefix = keys.prefixes[Int(segments[next].group)]
            if end < segments.count { arena.records.prefetch(segments[end].start) }
            let isWhole = try sorter.append(
                segments[next..<end], prefix, to: &places, upTo: bytes, check)
            guard isWhole else { return }
            next = end
        }
    }

    private var endOfGroup: Int {
        var end = next + 1
        while end < segments.count, segments[end].group == segments[next].group { end += 1 }
        return end
    }
}
