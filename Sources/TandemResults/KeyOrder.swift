/// An encoded key in two parts, either of which can be empty.
struct KeyParts {
    var head: UnsafeRawBufferPointer
    var tail: UnsafeRawBufferPointer

    @inline(__always)
    init(head: UnsafeRawBufferPointer, tail: UnsafeRawBufferPointer) {
        (self.head, self.tail) = (head, tail)
    }

    /// Creates a key in one part.
    @inline(__always)
    init(_ key: UnsafeRawBufferPointer) {
        (head, tail) = (UnsafeRawBufferPointer(rebasing: key[..<0]), key)
    }
}

/// Compares two keys in parts as if each were contiguous.
func compareKeys(_ left: KeyParts, _ right: KeyParts) -> Int {
    if left.head.count > right.head.count { return -compareKeys(right, left) }
    let common = left.head.count
    let order = compareKeys(left.head, UnsafeRawBufferPointer(rebasing: right.head[..<common]))
    if order != 0 { return order }
    // The rest of the right key's head is compared with the left key's tail.
    let rest = UnsafeRawBufferPointer(rebasing: right.head[common...])
    let middle = min(rest.count, left.tail.count)
    let inside = compareKeys(
        UnsafeRawBufferPointer(rebasing: left.tail[..<middle]), rest)
    if inside != 0 { return inside }
    return compareKeys(UnsafeRawBufferPointer(rebasing: left.tail[middle...]), right.tail)
}

/// Compares two encoded keys like `memcmp`; a prefix sorts first.
@inline(__always)
func compareKeys(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let common = min(left.count, right.count)
    var at = 0
    while at &+ 8 <= common {
        let a = UInt64(bigEndian: left.loadUnaligned(fromByteOffset: at, as: UInt64.self))
        let b = UInt64(bigEndian: right.loadUnaligned(fromByteOffset: at, as: UInt64.self))
        if a != b { return a < b ? -1 : 1 }
        at &+= 8
    }
    while at < common {
        if left[at] != right[at] { return left[at] < right[at] ? -1 : 1 }
        at &+= 1
    }
    return left.count - right.count
}

/// Returns the length of the common prefix of two keys.
func commonPrefix(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let most = min(left.count, right.count)
    var count = 0
    while count < most, left[count] == right[count] { count &+= 1 }
    return count
}
