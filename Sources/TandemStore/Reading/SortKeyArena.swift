import CLMDB
import Glibc
import TandemIO
import TandemModel
import TandemQuery

/// Objects with their sort keys, as contiguous records in one allocation.
///
/// Keys in separate arrays would be retained and released in each comparison and each move; that
/// took three quarters of the time of a fetch of 100,000 objects. A key has a prefix, which is
/// stored once per group (`GroupedKeys`), and a rest, which is stored here. Records are never
/// removed individually. Bound to one thread.
final class SortKeyArena {
    /// The records.
    ///
    /// Code that adds many records moves them to a local variable, and returns them on every exit.
    private(set) var records = SortKeyRecords()

    deinit { free(records.base) }

    /// The number of records.
    var count: Int { records.count }

    /// Adds an object with the rest of its key.
    func add(_ object: ObjectReference, _ rest: UnsafeRawBufferPointer, group: UInt32) -> SortEntry
    {
        let entry = SortEntry(
            rest, at: records.bytes, group: group, ordinal: UInt32(records.count))
        records.append(object, rest)
        return entry
    }

    /// Takes back the records that were moved out, including those added since.
    func restore(_ records: SortKeyRecords) {
        assert(records.count >= self.records.count, "Records are never removed.")
        self.records = records
    }
}

/// A reference to a record, so that sorting moves only plain numbers.
struct SortEntry {
    /// The first 16 bytes of the key's rest as two numbers, padded with zeros.
    ///
    /// Most comparisons end here, without access to the keys.
    fileprivate let head: (UInt64, UInt64)
    /// The offset of the record.
    let at: Int
    /// The group of the key's prefix.
    let group: UInt32
    /// The index of the object's row and details, or of its segment.
    let ordinal: UInt32

    init(_ rest: UnsafeRawBufferPointer, at: Int, group: UInt32, ordinal: UInt32) {
        head = (rest.keyNumber(at: 0), rest.keyNumber(at: 8))
        (self.at, self.group, self.ordinal) = (at, group, ordinal)
    }
}

/// The location of the records.
///
/// A copy is valid until a record is added; only one copy may be used to add records.
struct SortKeyRecords {
    fileprivate private(set) var base: UnsafeMutableRawPointer?
    private var capacity = 0
    /// The size of all records in bytes.
    private(set) var bytes = 0
    private(set) var count = 0

    /// The size of the fields before the rest: number, length of the rest, and tag.
    static var header: Int { 14 }

    /// The total size of the keys in bytes, without prefixes.
    var keyBytes: Int { bytes - count * Self.header }

    /// Returns space after the last record for a rest of `rest` bytes; ``append(_:rest:)`` makes it
    /// a record.
    @inline(__always)
    mutating func room(_ rest: Int) -> UnsafeMutableRawPointer {
        let end = bytes + Self.header + rest
        if end > capacity { grow(end) }
        assert(end <= capacity, "The record fits into the allocation.")
        guard let base else { preconditionFailure("The records have no room.") }
        return base + bytes + Self.header
    }

    /// Adds an object; the caller has written the rest of its key, of `count` bytes, to the space
    /// returned by ``room(_:)``.
    @inline(__always)
    mutating func append(_ object: ObjectReference, rest count: Int) {
        let record = room(count) - Self.header
        record.storeBytes(of: object.number, as: UInt64.self)
        record.storeBytes(of: UInt32(count), toByteOffset: 8, as: UInt32.self)
        record.storeBytes(of: object.tag, toByteOffset: 12, as: EntityTag.self)
        bytes += Self.header + count
        self.count += 1
    }

    /// Adds an object with the rest of its key.
    mutating func append(_ object: ObjectReference, _ rest: UnsafeRawBufferPointer) {
        let room = room(rest.count)
        if let from = rest.baseAddress { room.copyMemory(from: from, byteCount: rest.count) }
        append(object, rest: rest.count)
    }

    /// Returns the object of the record at an offset.
    @inline(__always)
    func object(_ at: Int) -> ObjectReference {
        ObjectReference(tag: load(at + 12), number: load(at))
    }

    /// Returns the rest of the object's key, valid until a record is added.
    @inline(__always)
    func rest(_ at: Int) -> UnsafeRawBufferPointer {
        assert(next(at) <= bytes, "A record ends within the records.")
        return UnsafeRawBufferPointer(start: base.map { $0 + at + Self.header }, count: length(at))
    }

    /// Returns the offset of the next record.
    @inline(__always)
    func next(_ at: Int) -> Int { at + Self.header + length(at) }

    /// Prefetches the records at and after an offset into the processor's cache, enough for most
    /// groups.
    func prefetch(_ at: Int) {
        guard let base, at < bytes else { return }
        tandem_prefetch(base + at, min(bytes - at, Self.mostPrefetched))
    }

    /// The approximate size of a hundred records.
    private static var mostPrefetched: Int { 6_144 }

    @inline(__always)
    private func length(_ at: Int) -> Int {
        let length: UInt32 = load(at + 8)
        return Int(length)
    }

    @inline(__always)
    private func load<Number: FixedWidthInteger & BitwiseCopyable>(_ at: Int) -> Number {
        precondition(at < bytes, "There is no record at \(at).")
        return base.map { $0.loadUnaligned(fromByteOffset: at, as: Number.self) } ?? 0
    }

    @inline(never)
    private mutating func grow(_ needed: Int) {
        capacity = max(needed, capacity * 2, 4_096)
        // The result is never nil: if memory runs out, the kernel ends the process instead.
        base = realloc(base, capacity)
        precondition(base != nil, "There must be memory for the sort keys.")
    }
}

extension SortKeyRecords {
    /// The order in which entries were added.
    private enum Arrival {
        /// Each entry sorts after the previous one.
        case ascending
        /// Each entry sorts before the previous one.
        case descending
        case mixed
    }

    /// Sorts the entries of one group.
    ///
    /// Entries in ascending order are left as they are; those in descending order are reversed.
    /// Calls `check` periodically, and throws its errors.
    func sort(
        _ entries: inout UnsafeMutableBufferPointer<SortEntry>, _ sort: inout CheckedSort,
        _ check: () throws(StoreError) -> Void
    ) throws(StoreError) {
        switch arrival(entries) {
        case .ascending: break
        case .descending: entries.reverse()
        case .mixed: try sort.sort(&entries, by: { precedes($0, $1) }, check)
        }
        assert(
            !Invariants.walk(entries.count)
                || !zip(entries, entries.dropFirst()).contains { precedes($1, $0) },
            "The entries of a group are sorted.")
    }

    private func arrival(_ entries: UnsafeMutableBufferPointer<SortEntry>) -> Arrival {
        var arrival = Arrival.ascending
        for at in entries.indices.dropFirst() {
            let came: Arrival = precedes(entries[at - 1], entries[at]) ? .ascending : .descending
            if at == 1 { arrival = came }
            guard came == arrival else { return .mixed }
        }
        return arrival
    }

    /// Returns whether `a` sorts before `b`, which is in the same group: by the bytes of their
    /// keys, then by object.
    @inline(__always)
    func precedes(_ a: SortEntry, _ b: SortEntry) -> Bool {
        assert(a.group == b.group, "Only the rests of keys with the same prefix are compared.")
        if a.head.0 != b.head.0 { return a.head.0 < b.head.0 }
        if a.head.1 != b.head.1 { return a.head.1 < b.head.1 }
        return precedesBehindHead(a, b)
    }

    @inline(never)
    private func precedesBehindHead(_ a: SortEntry, _ b: SortEntry) -> Bool {
        let (left, right) = (rest(a.at), rest(b.at))
        let shared = min(left.count, right.count)
        if shared > 16, let left = left.baseAddress, let right = right.baseAddress {
            let order = memcmp(left + 16, right + 16, shared - 16)
            if order != 0 { return order < 0 }
        }
        return left.count == right.count
            ? object(a.at) < object(b.at) : left.count < right.count
    }
}

extension UnsafeRawBufferPointer {
    /// Returns eight bytes of a sort key from an offset as a big-endian number, padded with zeros.
    @inline(__always)
    func keyNumber(at place: Int) -> UInt64 {
        if place + 8 <= count {
            return UInt64(bigEndian: loadUnaligned(fromByteOffset: place, as: UInt64.self))
        }
        var number: UInt64 = 0
        for at in place..<place + 8 { number = number << 8 | UInt64(at < count ? self[at] : 0) }
        return number
    }
}
