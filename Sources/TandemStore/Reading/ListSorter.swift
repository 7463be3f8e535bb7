import Algorithms
import Glibc
import TandemIO
import TandemModel
import TandemQuery

/// Sorts list records, and appends one group after another to a list.
///
/// A group whose records are already in the list's order, or in the opposite order, is not sorted.
///
/// State: `entries` are the sorted entries of the current group; the first `appended` of them are
/// in the list.
struct ListSorter {
    private struct Entry {
        /// The first 16 bytes of the key's rest as two numbers, padded with zeros.
        ///
        /// Most comparisons need nothing else.
        var head: (UInt64, UInt64)
        /// The offset of the record.
        var at: Int
    }

    /// The order in which a group's entries were read.
    private enum Arrival {
        /// Each entry sorts after the previous one.
        case ascending
        /// Each entry sorts before the previous one.
        case descending
        case mixed
    }

    private let records: ListRecordArena
    private let givesKeys: Bool
    private var entries: [Entry] = []
    private var appended = 0
    private var sort = CheckedSort()

    /// The maximum number of entries whose capacity is kept for the next group.
    private static var keptCapacity: Int { 4_096 }
    /// The number of entries that are appended to the list at a time.
    private static var handedAtOnce: Int { 64 }

    /// Creates a sorter of complete records.
    ///
    /// If `givesKeys` is false, the objects are appended without their keys.
    init(_ records: ListRecordArena, givesKeys: Bool = true) {
        self.records = records
        self.givesKeys = givesKeys
    }

    /// The approximate size of the entries in bytes.
    var bytes: Int { entries.count * MemoryLayout<Entry>.stride }

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
        let storage = records.storage
        let count = segments.reduce(0) { $0 + $1.count }
        entries.append(addingCapacity: count) { span in
            for segment in segments {
                var at = segment.start
                for _ in 0..<segment.count {
                    let rest = storage.rest(at)
                    span.append(
                        Entry(head: (rest.keyNumber(at: 0), rest.keyNumber(at: 8)), at: at))
                    at = storage.next(at)
                }
            }
        }
        assert(entries.count == count, "The group's segments have as many entries.")
    }

    // MARK: Order

    private mutating func putInOrder(
        _ check: () throws(StoreError) -> Void
    ) throws(StoreError) {
        var sort = sort
        defer { self.sort = sort }
        let storage = records.storage
        try entries.withUnsafeMutableBufferPointer { entries throws(StoreError) in
            switch Self.arrival(entries, storage) {
            case .ascending: break
            case .descending: entries.reverse()
            case .mixed:
                try sort.sort(&entries, by: { Self.precedes($0, $1, storage) }, check)
            }
            assert(
                !Invariants.walk(entries.count)
                    || !zip(entries, entries.dropFirst()).contains {
                        Self.precedes($1, $0, storage)
                    },
                "The entries of a group are sorted.")
        }
    }

    private static func arrival(
        _ entries: UnsafeMutableBufferPointer<Entry>, _ storage: ListRecordStorage
    ) -> Arrival {
        var arrival = Arrival.ascending
        for at in entries.indices.dropFirst() {
            let came: Arrival =
                precedes(entries[at - 1], entries[at], storage) ? .ascending : .descending
            if at == 1 { arrival = came }
            guard came == arrival else { return .mixed }
        }
        return arrival
    }

    /// Returns whether `a` sorts before `b`: by the bytes of their keys, then by object.
    @inline(__always)
    private static func precedes(_ a: Entry, _ b: Entry, _ storage: ListRecordStorage) -> Bool {
        if a.head.0 != b.head.0 { return a.head.0 < b.head.0 }
        if a.head.1 != b.head.1 { return a.head.1 < b.head.1 }
        return precedesBehindHead(a, b, storage)
    }

    @inline(never)
    private static func precedesBehindHead(
        _ a: Entry, _ b: Entry, _ storage: ListRecordStorage
    ) -> Bool {
        let (left, right) = (storage.rest(a.at), storage.rest(b.at))
        let shared = min(left.count, right.count)
        if shared > 16, let left = left.baseAddress, let right = right.baseAddress {
            let order = memcmp(left + 16, right + 16, shared - 16)
            if order != 0 { return order < 0 }
        }
        guard left.count == right.count else { return left.count < right.count }
        return storage.object(a.at) < storage.object(b.at)
    }

    // MARK: Appending

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
                        UnsafeBufferPointer(handed), prefix: prefix, givesKeys: givesKeys)
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
        let storage = records.storage
        entries.withUnsafeBufferPointer { entries in
            for place in 0..<room.count {
                let at = entries[appended + place].at
                let segment = segments.count == 1 ? segments[0] : segments.holding(at)
                room.initializeElement(
                    at: place,
                    to: ListPlacements.Placed(
                        storage.object(at), rest: storage.rest(at), section: segment.section,
                        link: segment.link))
            }
        }
    }
}

extension UnsafeBufferPointer<ListSegment> {
    /// Returns the segment with the record at an offset; segments must be in the order of their
    /// starts.
    fileprivate func holding(_ record: Int) -> ListSegment {
        let next = partitioningIndex { $0.start > record }
        assert(next > 0, "The first segment begins with the first record.")
        return self[next - 1]
    }
}
