/// The end of a range, to be held against one key after the other; valid for as long as its bytes are lent.
struct KeyEnd {
    /// The first bytes beyond the range; nil for the end of the table.
    private let bytes: UnsafeRawBufferPointer?
    /// The first eight of them, with zeros behind fewer.
    private let head: UInt64

    /// The end before some bytes; nil for that of the table.
    init(_ bytes: UnsafeRawBufferPointer?) {
        self.bytes = bytes
        head = bytes?.keyNumber(at: 0) ?? 0
    }

    /// Whether a key comes before it.
    @inline(__always)
    func isBehind(_ key: UnsafeRawBufferPointer) -> Bool {
        guard let bytes else { return true }
        guard key.count >= 8 else { return key.lexicographicallyPrecedes(bytes) }
        let number = key.keyNumber(at: 0)
        guard number == head else { return number < head }
        // A key that begins with all of the end is beyond it.
        return bytes.count > 8 && key.lexicographicallyPrecedes(bytes)
    }
}
