/// The upper bound of a key range for comparison with many keys; valid as long as its bytes are.
struct RangeUpperBound {
    /// The exclusive bound; nil for the end of the table.
    private let bytes: UnsafeRawBufferPointer?
    /// The first eight bytes of the bound, padded with zeros.
    private let head: UInt64

    /// Creates an exclusive bound; nil means the end of the table.
    init(_ bytes: UnsafeRawBufferPointer?) {
        self.bytes = bytes
        head = bytes?.keyNumber(at: 0) ?? 0
    }

    /// Returns whether a key is below the bound.
    @inline(__always)
    func isAbove(_ key: UnsafeRawBufferPointer) -> Bool {
        guard let bytes else { return true }
        guard key.count >= 8 else { return key.lexicographicallyPrecedes(bytes) }
        let number = key.keyNumber(at: 0)
        guard number == head else { return number < head }
        // A key that begins with the whole bound is not below it.
        return bytes.count > 8 && key.lexicographicallyPrecedes(bytes)
    }
}
