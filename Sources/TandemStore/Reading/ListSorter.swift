import TandemIO
import TandemModel
import TandemQuery

/// Consecutive objects of a list with the same related object.
struct ListSegment {
    /// The group of their keys' common prefix.
    var group: UInt32
    /// The index of their section's name.
    var section: UInt32
    /// The index of the related object among the reached objects, from 1; 0 if there is none, or if
    /// links are not requested.
    var link: UInt32
    /// The offset of the first object's record.
    var start: Int
    /// The number of objects.
    var count = 0
}

/// Sorts the records of a list, and appends one group after another to a list.
///
/// State: `entries` are the sorted entries of the current group; the first `appended` of them are
/// in the list.
struct ListSorter {
    private let arena: SortKeyArena
    private let includesKeys: Bool
    private var entries: [SortEntry] = []
    private var appended = 0
    private var sort = CheckedSort()

    /// The maximum number of entries whose capacity is kept for the next group.
    private static var keptCapacity: Int { 4_096 }
    /// The number of entries that are appended to the list at a time.
    private static var handedAtOnce: Int { 64 }

    /// Creates a sorter of complete records.
    ///
    /// If `includesKeys` is false, the resulting list has the order but no keys.
    init(_ arena: SortKeyArena, includesKeys: Bool = true) {
        self.arena = arena
        self.includesKeys = includesKeys
    }

    /// The approximate size of the entries in bytes.
    var bytes: Int { entries.count * MemoryLayout<SortEntry>.stride }

    /// Appends the objects of a group's segments in order.
    ///
    /// Returns false if the list reached `bytes` bytes before the end of the group; call the method
    /// again with the same segments to continue. Calls `check` periodically, and throws its errors,
    /// after which the sorter can't be used any more.
    mutating func append(
        _ segments: ArraySlice<ListSegment>, _ prefix: [UInt8], to places: inout ListPlacements,
        upTo bytes: Int = .max, _ check: () throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        try segments.withUnsafeBufferPointer { segments throws(StoreError) in
            if entries.isEmpty {
                assert(appended == 0, "No entry of a new group is in the list.")
                collect(segments)
                try putInOrder(check)
            }
            fill(&places, segments, prefix, upTo: bytes)
            assert(appended <= entries.count, "An entry is appended once.")
            guard appended == entries.count else { return false }
            entries.removeAll(keepingCapacity: entries.count <= Self.keptCapacity)
            appended = 0
            return true
        }
    }

    private mutating func collect(_ segments: UnsafeBufferPointer<ListSegment>) {
        let records = arena.records
        let count = segments.reduce(0) { $0 + $1.count }
        entries.append(addingCapacity: count) { span in
            for (index, segment) in segments.enumerated() {
                var at = segment.start
                for _ in 0..<segment.count {
                    span.append(
                        SortEntry(
                            records.rest(at), at: at, group: segment.group,
                            ordinal: UInt32(index)))
                    at = records.next(at)
                }
            }
        }
        assert(entries.count == count, "The group's segments have as many entries.")
    }

    private mutating func putInOrder(
        _ check: () throws(StoreError) -> Void
    ) throws(StoreError) {
        let records = arena.records
        var sort = sort
        defer { self.sort = sort }
        try entries.withUnsafeMutableBufferPointer { entries throws(StoreError) in
            try records.sort(&entries, &sort, check)
        }
    }

    // MARK: Filling

    /// Appends entries in order until all are in the list, or until the list has `bytes` bytes.
    private mutating func fill(
        _ places: inout ListPlacements, _ segments: UnsafeBufferPointer<ListSegment>,
        _ prefix: [UInt8], upTo bytes: Int
    ) {
        prefix.withUnsafeBytes { prefix in
            withUnsafeTemporaryAllocation(
                of: ListPlacements.Placed.self, capacity: Self.handedAtOnce
            ) { placed in
                while appended < entries.count, places.bytes < bytes {
                    let some = min(placed.count, entries.count - appended)
                    let handed = UnsafeMutableBufferPointer(rebasing: placed[..<some])
                    describe(handed, segments)
                    places.append(
                        UnsafeBufferPointer(handed), prefix: prefix, includesKeys: includesKeys)
                    appended += some
                }
            }
        }
    }

    /// Fills `room` with the placements of the next entries.
    private func describe(
        _ room: UnsafeMutableBufferPointer<ListPlacements.Placed>,
        _ segments: UnsafeBufferPointer<ListSegment>
    ) {
        let records = arena.records
        entries.withUnsafeBufferPointer { entries in
            for place in 0..<room.count {
                let entry = entries[appended + place]
                let segment = segments[Int(entry.ordinal)]
                room.initializeElement(
                    at: place,
                    to: ListPlacements.Placed(
                        records.object(entry.at), rest: records.rest(entry.at),
                        section: segment.section, link: segment.link))
            }
        }
    }
}
