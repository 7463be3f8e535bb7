/// The received bytes that have not been taken yet.
///
/// Taken bytes stay at the front until they are half of the array, so each byte is moved at most
/// once on average, however the input is cut.
struct FrameBuffer: Sendable {
    /// The array, of which the first `start` bytes have been taken.
    private(set) var bytes: [UInt8] = []
    /// The room that is kept between messages.
    private static let keptBytes = 256 << 10
    private var start = 0

    /// The number of bytes that have not been taken.
    var count: Int { bytes.count - start }

    /// Appends bytes, moving what is left to the front first if that is the smaller part.
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

    /// Takes a frame header if all of it is there, or throws ``WireError``.
    mutating func header() throws(WireError) -> FrameHeader? {
        guard count >= Frame.headerBytes else {
            giveBack()
            return nil
        }
        let header = try FrameHeader(at: start, of: bytes)
        start += Frame.headerBytes
        return header
    }

    /// Frees what a large message needed once all of it was taken, so that a connection that waits for the next one is small.
    private mutating func giveBack() {
        guard start == bytes.count, bytes.capacity > FrameBuffer.keptBytes else { return }
        bytes = []
        start = 0
    }

    /// Takes `count` bytes, which must be there; the range holds until the next append.
    mutating func take(_ count: Int) -> Range<Int> {
        precondition(count >= 0 && count <= self.count, "The frame is not complete.")
        defer { start += count }
        return start..<(start + count)
    }
}
