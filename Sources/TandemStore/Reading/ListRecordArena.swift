import CLMDB
import Glibc
import TandemModel

/// Consecutive objects of a list with the same related object.
struct ListSegment {
    /// The group of the common prefix of the objects' keys.
    var group: UInt32
    /// The index of the section's name.
    var section: UInt32
    /// The index of the related object among the reached objects, from 1; 0 if there is none, or if
    /// links are not requested.
    var link: UInt32
    /// The offset of the first object's record.
    var start: Int
    /// The number of objects.
    var count = 0
}

/// The objects of a list with the rest of each sort key, as contiguous records in one allocation.
///
/// Records are never removed individually. Bound to one thread.
final class ListRecordArena {
    /// The records.
    ///
    /// Code that adds many records moves the storage to a local variable, and restores it on every
    /// exit.
    private(set) var storage = ListRecordStorage()

    deinit { free(storage.base) }

    /// The size of all records in bytes.
    var bytes: Int { storage.bytes }

    var count: Int { storage.count }

    func append(_ object: ObjectReference, _ rest: [UInt8]) { storage.append(object, rest) }

    /// Restores the storage that was moved out, with the records added since.
    func restore(_ storage: ListRecordStorage) {
        assert(storage.count >= self.storage.count, "Records are never removed.")
        self.storage = storage
    }
}

/// The location of the records.
///
/// A copy is valid until a record is added; only one copy may be used to add records.
struct ListRecordStorage {
    fileprivate private(set) var base: UnsafeMutableRawPointer?
    private var capacity = 0
    /// The size of all records in bytes.
    private(set) var bytes = 0
    private(set) var count = 0

    /// The size in bytes of the fields before the rest: number, length of the rest, and tag.
    static var header: Int { 14 }

    /// Returns the address at which to write the rest of the next record, `rest` bytes long.
    ///
    /// ``append(_:rest:)`` then makes it a record.
    @inline(__always)
    mutating func room(_ rest: Int) -> UnsafeMutableRawPointer {
        let end = bytes + Self.header + rest
        if end > capacity { grow(end) }
        assert(end <= capacity, "The record fits into the allocation.")
        guard let base else { preconditionFailure("The records have no allocation.") }
        return base + bytes + Self.header
    }

    /// Adds an object whose rest of `count` bytes was written to the space returned by
    /// ``room(_:)``.
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
    mutating func append(_ object: ObjectReference, _ rest: [UInt8]) {
        let room = room(rest.count)
        rest.withUnsafeBytes { rest in
            guard let from = rest.baseAddress else { return }
            room.copyMemory(from: from, byteCount: rest.count)
        }
        append(object, rest: rest.count)
    }

    /// Returns the object of the record at an offset, which must be that of a segment or of
    /// ``next(_:)``.
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

    /// Prefetches the records at an offset into the processor's cache, enough for most groups.
    func prefetch(_ at: Int) {
        guard let base, at < bytes else { return }
        tandem_prefetch(base + at, min(bytes - at, Self.mostPrefetched))
    }

    /// The number of bytes that are prefetched, about a hundred records.
    private static var mostPrefetched: Int { 6_144 }

    @inline(__always)
    private func length(_ at: Int) -> Int {
        let length: UInt32 = load(at + 8)
        return Int(length)
    }

    @inline(__always)
    private func load<Number: FixedWidthInteger & BitwiseCopyable>(_ at: Int) -> Number {
        precondition(at < bytes, "There is no record of a list at \(at).")
        return base.map { $0.loadUnaligned(fromByteOffset: at, as: Number.self) } ?? 0
    }

    @inline(never)
    private mutating func grow(_ needed: Int) {
        capacity = max(needed, capacity * 2, 4_096)
        // The result is never nil: if memory runs out, the kernel ends the process instead.
        base = realloc(base, capacity)
        precondition(base != nil, "No memory is left for the sort keys of a list.")
    }
}
