/// A reusable buffer that collects the payloads of one batch.
///
/// Space for the frame's header is reserved at the front, so an append does not have to copy the
/// payloads.
///
///     var batch = BatchBuilder()
///     batch.append([1, 2, 3])
///     try log.append(expected: log.bounds.last, batch: &batch)
///     batch.removeAll()
public struct BatchBuilder: Sendable {
    /// The header and the payloads, followed by the padding after sealing.
    private(set) var bytes: [UInt8]
    /// The end of each payload in `bytes`.
    private var ends: [Int] = []

    /// Creates an empty batch with a capacity of `capacity` bytes.
    public init(capacity: Int = 4_096) {
        bytes = [UInt8](repeating: 0, count: SegmentFormat.Batch.body)
        bytes.reserveCapacity(capacity)
    }

    /// The number of payloads.
    public var count: Int { ends.count }

    /// Whether the batch has no payloads.
    public var isEmpty: Bool { ends.isEmpty }

    /// The size of the batch in a segment, in bytes, including header and padding.
    public var frameBytes: Int {
        SegmentFormat.frameBytes(body: bodyEnd - SegmentFormat.Batch.body)
    }

    private var bodyEnd: Int { ends.last ?? SegmentFormat.Batch.body }

    /// Adds a payload.
    public mutating func append(_ payload: UnsafeRawBufferPointer) {
        append(encoding: { $0.append(contentsOf: payload) })
    }

    /// Adds a payload.
    public mutating func append(_ payload: [UInt8]) {
        append(encoding: { $0.append(contentsOf: payload) })
    }

    /// Adds the payload that `encode` appends to the array passed to it.
    ///
    /// The closure must leave the array's existing content unchanged.
    public mutating func append(encoding encode: (inout [UInt8]) -> Void) {
        dropPadding()
        let start = bytes.count
        for _ in 0..<SegmentFormat.payloadPrefixBytes { bytes.append(0) }
        let body = bytes.count
        encode(&bytes)
        precondition(bytes.count >= body, "An encoder must not remove bytes of other payloads.")
        precondition(
            bytes.count <= SegmentFormat.maximumBodyBytes,
            "A batch must have at most \(SegmentFormat.maximumBodyBytes) bytes.")
        let length = UInt32(bytes.count - body)
        bytes.withUnsafeMutableBytes { $0.put(length, at: start) }
        ends.append(bytes.count)
    }

    /// Removes the last payload.
    public mutating func removeLast() {
        precondition(!isEmpty, "The batch must have a payload to remove.")
        ends.removeLast()
        dropPadding()
    }

    /// Removes all payloads and keeps the buffer.
    public mutating func removeAll() {
        ends.removeAll(keepingCapacity: true)
        dropPadding()
    }

    /// Calls `body` with the bytes of the payload at `index`, counted from 0.
    public func withPayload<Result>(
        at index: Int, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        precondition(ends.indices.contains(index), "The batch has no payload \(index).")
        let start = index == 0 ? SegmentFormat.Batch.body : ends[index - 1]
        return bytes.withUnsafeBytes {
            body(.init(rebasing: $0[(start + SegmentFormat.payloadPrefixBytes)..<ends[index]]))
        }
    }

    /// Writes the header and the padding, and returns the checksum.
    mutating func seal(after chain: Chain, salt: UInt32) -> UInt32 {
        assert(!isEmpty, "Only a batch with payloads is sealed.")
        let header = BatchHeader(
            length: bodyEnd - SegmentFormat.Batch.body, count: count,
            batchNumber: chain.batchNumber, firstPosition: chain.position,
            previousChecksum: chain.checksum)
        while bytes.count < frameBytes { bytes.append(0) }
        assert(bytes.count == frameBytes, "The frame ends with the padding of the last payload.")
        return bytes.withUnsafeMutableBytes { header.seal($0, salt: salt) }
    }

    private mutating func dropPadding() {
        assert(bytes.count >= bodyEnd, "The buffer has all payloads up to the last end.")
        if bytes.count > bodyEnd { bytes.removeLast(bytes.count - bodyEnd) }
    }
}

/// The values that the next batch must have to continue the log.
struct Chain: Hashable {
    /// The number of the next batch.
    var batchNumber: UInt64
    /// The position of the next batch's first payload.
    var position: UInt64
    /// The checksum of the previous batch, 0 before the first.
    var checksum: UInt32

    /// Creates the chain after a batch.
    init(after header: BatchHeader) {
        batchNumber = header.batchNumber &+ 1
        position = header.firstPosition &+ UInt64(header.count)
        checksum = header.checksum
    }

    /// Creates the chain with which a segment begins.
    init(startOf header: SegmentHeader) {
        batchNumber = header.firstBatch
        position = header.firstPosition
        checksum = header.previousChecksum
    }
}
