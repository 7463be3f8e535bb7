import CLMDB
import Glibc
import TandemModel

/// Objects of a list that came one behind the other and have their related object in common.
struct ListSegment {
    /// The group whose first part their sort keys have.
    var group: UInt32
    /// The place of their section's name.
    var section: UInt32
    /// The place of the related object among those reached, from 1 on; 0 for none, and where that is not asked for.
    var link: UInt32
    /// Where the first one's record is.
    var start: Int
    /// How many there are.
    var count = 0
}

/// Objects with what comes behind the first part of their sort keys, one behind the other in one piece of memory.
///
/// A record stays until all go. Bound to one thread.
final class ListRecords {
    /// The records themselves; who adds many keeps this in a variable meanwhile, and puts it back whatever happens.
    var pile = ListRecordPile()

    deinit { free(pile.base) }

    /// The bytes of all records.
    var bytes: Int { pile.bytes }

    var count: Int { pile.count }

    /// Adds an object.
    func append(_ object: ObjectReference, _ rest: [UInt8]) { pile.append(object, rest) }
}

/// Where records lie, as nothing but numbers: a copy that lasts while nothing is added, or the one to which all is added.
struct ListRecordPile {
    fileprivate private(set) var base: UnsafeMutableRawPointer?
    private var capacity = 0
    /// The bytes of all records.
    private(set) var bytes = 0
    private(set) var count = 0

    /// Number, length of the rest and tag come before the rest.
    static var header: Int { 14 }

    /// Room behind the last record for a rest of so many bytes, which ``append(_:rest:)`` makes one of another record.
    @inline(__always)
    mutating func room(_ rest: Int) -> UnsafeMutableRawPointer {
        let end = bytes + Self.header + rest
        if end > capacity { grow(end) }
        guard let base else { preconditionFailure("A list's records have no room.") }
        return base + bytes + Self.header
    }

    /// Adds an object whose rest of so many bytes was written to the ``room(_:)``.
    @inline(__always)
    mutating func append(_ object: ObjectReference, rest count: Int) {
        let record = room(count) - Self.header
        record.storeBytes(of: object.number, as: UInt64.self)
        record.storeBytes(of: UInt32(count), toByteOffset: 8, as: UInt32.self)
        record.storeBytes(of: object.tag, toByteOffset: 12, as: EntityTag.self)
        bytes += Self.header + count
        self.count += 1
    }

    /// Adds an object.
    mutating func append(_ object: ObjectReference, _ rest: [UInt8]) {
        let room = room(rest.count)
        rest.withUnsafeBytes { rest in
            guard let from = rest.baseAddress else { return }
            room.copyMemory(from: from, byteCount: rest.count)
        }
        append(object, rest: rest.count)
    }

    /// The object of the record at a place that ``next(_:)`` or a segment gave.
    @inline(__always)
    func object(_ at: Int) -> ObjectReference {
        ObjectReference(tag: load(at + 12), number: load(at))
    }

    /// The rest of its key, for as long as nothing is added.
    @inline(__always)
    func rest(_ at: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base.map { $0 + at + Self.header }, count: length(at))
    }

    /// Where the record behind it is.
    @inline(__always)
    func next(_ at: Int) -> Int { at + Self.header + length(at) }

    /// Has the processor fetch the records from a place on, of which a group has not many.
    func prefetch(_ at: Int) {
        guard let base, at < bytes else { return }
        tandem_prefetch(base + at, min(bytes - at, Self.mostPrefetched))
    }

    /// About what a hundred records take.
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
        // Never nil: the kernel of a machine without memory ends the process instead.
        base = realloc(base, capacity)
        precondition(base != nil, "no memory for the sort keys of a list")
    }
}
