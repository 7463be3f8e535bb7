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
        key.withUnsafeBytes { key in
            guard let base, let from = key.baseAddress else { return }
            (base + count).copyMemory(from: from, byteCount: key.count)
        }
        defer { count += key.count }
        return Entry(object: object, at: count, length: UInt32(key.count), tail: tail)
    }

    /// The order of keys by bytes, then of objects.
    func precedes(_ a: Entry, _ b: Entry) -> Bool {
        let shared = Int(min(a.length, b.length))
        if let base, shared > 0 {
            let order = memcmp(base + a.at, base + b.at, shared)
            if order != 0 { return order < 0 }
        }
        return a.length == b.length ? a.object < b.object : a.length < b.length
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
