import Glibc
import TandemModel
import TandemQuery

/// Contiguous storage for sort keys, so that sorting moves only trivial entries that refer to the
/// keys.
///
/// Keys in arrays would be retained and released in each comparison and each move, which took three
/// quarters of the time of a fetch of 100,000 objects. A key has a prefix, which is stored once per
/// group (``GroupedKeys``), and a rest, which is stored here. Keys are never removed individually.
/// Bound to one thread.
final class SortKeyArena {
    /// An object with a reference to its key.
    struct SortEntry {
        /// The first 16 bytes of the key's rest as two numbers, padded with zeros.
        ///
        /// Most comparisons end here, without access to the keys.
        fileprivate let head: (UInt64, UInt64)
        private let number: ObjectNumber
        /// The group of the key's prefix.
        let group: UInt32
        /// The number of keys that were added before this one.
        let ordinal: UInt32
        private let tag: EntityTag

        fileprivate init(
            _ object: ObjectReference, _ head: (UInt64, UInt64), _ group: UInt32, _ ordinal: UInt32
        ) {
            (number, tag) = (object.number, object.tag)
            (self.head, self.group, self.ordinal) = (head, group, ordinal)
        }

        var object: ObjectReference { ObjectReference(tag: tag, number: number) }
    }

    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    /// The end of each key's rest.
    private var ends: [Int] = []
    private let keys: GroupedKeys?

    /// Creates an arena for keys built by `keys`, which is nil if all keys are in one group.
    init(_ keys: GroupedKeys? = nil) { self.keys = keys }

    deinit { free(base) }

    /// The number of keys.
    var count: Int { ends.count }

    /// The total size of the stored keys in bytes, without prefixes.
    var byteCount: Int { ends.last ?? 0 }

    /// Adds the rest of an object's key, and returns an entry that refers to it.
    func add(_ object: ObjectReference, _ key: [UInt8], group: UInt32 = 0) -> SortEntry {
        key.withUnsafeBytes { add(object, $0, group: group) }
    }

    /// Adds the rest of an object's key, and returns an entry that refers to it.
    func add(
        _ object: ObjectReference, _ key: UnsafeRawBufferPointer, group: UInt32 = 0
    ) -> SortEntry {
        let at = byteCount
        reserve(at + key.count)
        assert(at + key.count <= capacity, "The key fits into the allocation.")
        if let base, let from = key.baseAddress {
            (base + at).copyMemory(from: from, byteCount: key.count)
        }
        let head = (key.keyNumber(at: 0), key.keyNumber(at: 8))
        defer { ends.append(at + key.count) }
        return SortEntry(object, head, group, UInt32(ends.count))
    }

    /// Returns the rest of an entry's key, valid until a key is added or the arena is released.
    @inline(__always)
    func bytes(of entry: SortEntry) -> UnsafeRawBufferPointer {
        let ordinal = Int(entry.ordinal)
        assert(ordinal < ends.count, "An entry has a key in this arena.")
        let start = ordinal == 0 ? 0 : ends[ordinal - 1]
        return UnsafeRawBufferPointer(start: base.map { $0 + start }, count: ends[ordinal] - start)
    }

    /// Returns whether `a` sorts before `b`: by the bytes of their keys, then by object.
    func precedes(_ a: SortEntry, _ b: SortEntry) -> Bool {
        a.group == b.group ? precedesInGroup(a, b) : keys?.precedes(a.group, b.group) ?? false
    }

    /// Returns whether `a` sorts before `b`; both must be in the same group.
    @inline(__always)
    func precedesInGroup(_ a: SortEntry, _ b: SortEntry) -> Bool {
        assert(a.group == b.group, "Only the rests of keys with the same prefix are compared.")
        if a.head.0 != b.head.0 { return a.head.0 < b.head.0 }
        if a.head.1 != b.head.1 { return a.head.1 < b.head.1 }
        return precedesBehindHead(a, b)
    }

    @inline(never)
    private func precedesBehindHead(_ a: SortEntry, _ b: SortEntry) -> Bool {
        let (left, right) = (bytes(of: a), bytes(of: b))
        let shared = min(left.count, right.count)
        if shared > 16, let left = left.baseAddress, let right = right.baseAddress {
            let order = memcmp(left + 16, right + 16, shared - 16)
            if order != 0 { return order < 0 }
        }
        return left.count == right.count ? a.object < b.object : left.count < right.count
    }

    private func reserve(_ needed: Int) {
        guard needed > capacity else { return }
        capacity = max(needed, capacity * 2, 4_096)
        // The result is never nil: if memory runs out, the kernel ends the process instead.
        base = realloc(base, capacity)
        precondition(base != nil, "No memory is left for the sort keys of a fetch.")
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
