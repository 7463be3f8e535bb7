import Glibc

extension UnsafeRawBufferPointer {
    /// The index of the last non-zero byte; nil if all bytes are zero.
    ///
    /// Uses `memcmp`, which is as fast in debug builds as in release builds.
    public var lastNonZero: Int? {
        var end = count
        while end > 0 {
            let start = Swift.max(0, end - Self.zeroBlock)
            let block = UnsafeRawBufferPointer(rebasing: self[start..<end])
            if !block.isZero { return block.lastIndex { $0 != 0 }.map { start + $0 } }
            end = start
        }
        return nil
    }

    /// Whether every byte is zero.
    public var isZero: Bool {
        guard let base = baseAddress, count > 0 else { return true }
        // The first byte is zero, and each byte equals the one before.
        return self[0] == 0 && memcmp(base, base + 1, count - 1) == 0
    }

    private static var zeroBlock: Int { 4_096 }
}
