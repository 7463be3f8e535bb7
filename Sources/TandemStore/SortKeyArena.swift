import Glibc
import TandemModel

/// Sort keys one behind the other, so that what is put in order are plain numbers that refer to them.
///
/// Arrays as keys would be retained and released with each comparison and each move: for a hundred thousand of them that was three quarters
/// of a fetch. A key stays until the arena goes. Bound to one thread.
final class SortKeyArena {
    /// An object with the place of its key.
    struct Entry {
        var object: ObjectReference
        /// The first 16 bytes of the key as numbers, with zeros behind a shorter one: most comparisons end there, without a look at the keys.
        fileprivate var head: (UInt64, UInt64)
        fileprivate var at: Int
        fileprivate var length: UInt32
        /// What the owner of the arena knows it by.
        var tail: Int32

        /// The bytes of its key.
        var keyBytes: Int { Int(length) }
    }

    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    /// The bytes of all keys.
    private(set) var count = 0

    deinit { free(base) }

    /// Keeps an object's key.
    func add(_ object: ObjectReference, key: [UInt8], tail: Int32) -> Entry {
        reserve(key.count)
        let head = key.withUnsafeBytes { key in
            if let base, let from = key.baseAddress {
                (base + count).copyMemory(from: from, byteCount: key.count)
            }
            return (Self.number(key, 0), Self.number(key, 8))
        }
        defer { count += key.count }
        return Entry(
            object: object, head: head, at: count, length: UInt32(key.count), tail: tail)
    }

    /// The bytes of an entry's key, for as long as nothing is added and the arena is there.
    func bytes(of entry: Entry) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base.map { $0 + entry.at }, count: Int(entry.length))
    }

    /// Up to eight bytes from a place on, the first one as the highest.
    private static func number(_ key: UnsafeRawBufferPointer, _ at: Int) -> UInt64 {
        if at + 8 <= key.count {
            return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: at, as: UInt64.self))
        }
        var number: UInt64 = 0
        for place in at..<at + 8 {
            number = number << 8 | UInt64(place < key.count ? key[place] : 0)
        }
        return number
    }

    /// The order of keys by bytes, then of objects.
    func precedes(_ a: Entry, _ b: Entry) -> Bool {
        if a.head.0 != b.head.0 { return a.head.0 < b.head.0 }
        if a.head.1 != b.head.1 { return a.head.1 < b.head.1 }
        let shared = Int(min(a.length, b.length))
        if let base, shared > 16 {
            let order = memcmp(base + a.at + 16, base + b.at + 16, shared - 16)
            if order != 0 { return order < 0 }
        }
        return a.length == b.length ? a.object < b.object : a.length < b.length
    }

    /// Lays the keys behind a place in the order of these entries, if they are all that is there.
    ///
    /// Whoever goes through many runs at once then reads each one's keys one behind the other: what is read next is at hand.
    func lay(_ entries: inout [Entry], behind start: Int) {
        let size = count - start
        guard size > 0, let base, entries.reduce(0, { $0 + $1.keyBytes }) == size else { return }
        let laid = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 1)
        defer { laid.deallocate() }
        var at = 0
        for place in entries.indices {
            (laid + at).copyMemory(
                from: base + entries[place].at, byteCount: entries[place].keyBytes)
            entries[place].at = start + at
            at += entries[place].keyBytes
        }
        (base + start).copyMemory(from: laid, byteCount: size)
    }

    private func reserve(_ more: Int) {
        let needed = count + more
        guard needed > capacity else { return }
        capacity = max(needed, capacity * 2, 4_096)
        // Never nil: the kernel of a machine without memory ends the process instead.
        base = realloc(base, capacity)
        precondition(base != nil, "no memory for the sort keys of a fetch")
    }
}
