/// A buffer of received bytes that are not consumed yet.
///
/// Consumed bytes stay at the front until they make up half of the array. Each byte is therefore
/// moved at most once on average, whatever the sizes of the appended pieces.
struct FrameBuffer: Sendable {
    /// The bytes; the first `start` of them have been consumed.
    private(set) var bytes: [UInt8] = []
    /// The capacity, in bytes, that is kept between messages.
    private static let keptBytes = 256 << 10
    private var start = 0

    /// The number of bytes that are not consumed.
    var count: Int { bytes.count - start }

    /// Appends bytes; first moves the remaining bytes to the front if they are less than half of
    /// the array.
    mutating func append(_ more: UnsafeRawBufferPointer) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        } else if start > bytes.count / 2 {
            bytes.removeSubrange(..<start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// Consumes a frame header if it is complete, or throws ``WireError``.
    mutating func header() throws(WireError) -> FrameHeader? {
        guard count >= Frame.headerBytes else {
            releaseCapacity()
            return nil
        }
        let header = try FrameHeader(at: start, of: bytes)
        start += Frame.headerBytes
        return header
    }

    /// Releases the memory of a large message after it was consumed, so that idle connections stay
    /// small.
    private mutating func releaseCapacity() {
        guard start == bytes.count, bytes.capacity > FrameBuffer.keptBytes else { return }
        bytes = []
        start = 0
    }

    /// Consumes `count` bytes, which must exist; the range is valid until the next append.
    mutating func consume(_ count: Int) -> Range<Int> {
        precondition(count >= 0 && count <= self.count, "The frame must be complete.")
        defer { start += count }
        return start..<(start + count)
    }
}
