extension UnsafeMutableRawPointer {
    /// Copies bytes, usually few, or their complements; the two ranges must not overlap.
    ///
    /// The method is used for hundreds of thousands of keys. Short ranges are copied word by word,
    /// because a call to `memcpy` takes longer than copying a few dozen bytes.
    ///
    ///     room.copyInline(from: component, count: 9, flipping: ascending ? 0 : .max)
    ///
    /// - Parameters:
    ///   - source: The bytes.
    ///   - count: The number of bytes.
    ///   - mask: The bits to flip in every eight bytes: all or none.
    @inlinable @inline(__always)
    package func copyInline(from source: UnsafeRawPointer, count: Int, flipping mask: UInt64 = 0) {
        guard count >= 8 else {
            for at in 0..<max(0, count) {
                let byte = source.load(fromByteOffset: at, as: UInt8.self)
                storeBytes(
                    of: byte ^ UInt8(truncatingIfNeeded: mask), toByteOffset: at, as: UInt8.self)
            }
            return
        }
        if count > 128, mask == 0 {
            return copyMemory(from: source, byteCount: count)
        }
        var at = 0
        while at < count &- 8 {
            copyWord(from: source, at: at, flipping: mask)
            at &+= 8
        }
        // The last word overlaps the one before it.
        copyWord(from: source, at: count &- 8, flipping: mask)
    }

    @inlinable @inline(__always)
    package func copyWord(from source: UnsafeRawPointer, at: Int, flipping mask: UInt64) {
        let word = source.loadUnaligned(fromByteOffset: at, as: UInt64.self)
        storeBytes(of: word ^ mask, toByteOffset: at, as: UInt64.self)
    }
}
