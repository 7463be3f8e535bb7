/// The received bytes that have not been taken yet.
///
/// Taken bytes stay at the front until they are half of the array, so each byte is moved at most
/// once on average, however the input is cut.
struct FrameBuffer: Sendable {
    /// The array, of which the first `start` bytes have been taken.
    private(set) var bytes: [UInt8] = []
    private var start = 0

    /// The number of bytes that have not been taken.
    var count: Int { bytes.count - start }

    /// Appends bytes, moving what is left to the front first if that is the smaller part.
    mutating func append(_ more: UnsafeRawBufferPointer) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= WireLimits.frameBytes * 2)
            start = 0
        } else if start > bytes.count / 2 {
            bytes.removeSubrange(..<start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// Takes a frame header if all of it is there, or throws ``WireError``.
    mutating func header() throws(WireError) -> FrameHeader? {
        guard count >= Frame.headerBytes else { return nil }
        let header = try FrameHeader(at: start, of: bytes)
        start += Frame.headerBytes
        return header
    }

    /// Takes `count` bytes, which must be there; the range holds until the next append.
    mutating func take(_ count: Int) -> Range<Int> {
        precondition(count >= 0 && count <= self.count, "The frame is not complete.")
        defer { start += count }
        return start..<(start + count)
    }
}
