package import TandemModel

/// The bytes of a transaction's push that are the same for all sessions: encoded once, and sent by
/// reference.
///
/// A push consists of a head of ``headBytes``, which names the session's predecessor, and this
/// body. If the transaction fits into one frame, the body shares the storage of its bytes.
///
///     let body = try PushBody(transaction)
///     body.appendHead(previous: 17, to: &output)
///     output += body.bytes
package struct PushBody: Hashable, Sendable {
    /// The position of the transaction.
    package let position: UInt64
    /// The bytes after the head, including the headers of further frames.
    package let bytes: [UInt8]
    /// The header of the first frame.
    private let header: FrameHeader

    /// The size of a head: the header of the first frame and the predecessor.
    package static let headBytes = Frame.headerBytes + predecessorBytes
    private static let predecessorBytes = 8
    private static let type = DaemonMessage.Kind.transaction.rawValue

    /// Creates the body of a push of `transaction`.
    ///
    /// Throws ``WireError`` if the transaction is too large for a message. Cost: nothing for a
    /// single frame, otherwise one copy.
    package init(_ transaction: EncodedTransaction) throws(WireError) {
        let count = Self.predecessorBytes + transaction.bytes.count
        guard count <= WireLimits.daemonMessageBytes else {
            throw WireError(
                .messageTooLarge,
                "the message has \(count) bytes, more than the maximum of \(WireLimits.daemonMessageBytes)",
                type: Self.type, id: 0)
        }
        position = transaction.position
        let first = min(count, WireLimits.frameBytes)
        header = FrameHeader(
            length: UInt32(first), type: Self.type, hasMore: first < count, id: 0)
        bytes =
            first == count
            ? transaction.bytes
            : Self.cut(transaction.bytes, after: first - Self.predecessorBytes)
    }

    /// Appends the head for a session whose last announced position is `previous`.
    package func appendHead(previous: UInt64, to output: inout [UInt8]) {
        header.encode(into: &output)
        withUnsafeBytes(of: previous.littleEndian) { output.append(contentsOf: $0) }
    }

    /// Returns the bytes with headers inserted before all frames after the first.
    private static func cut(_ bytes: [UInt8], after first: Int) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(FrameEncoder.encodedBytes(payload: bytes.count))
        output += bytes[..<first]
        var at = first
        while at < bytes.count {
            let end = min(at + WireLimits.frameBytes, bytes.count)
            FrameHeader(
                length: UInt32(end - at), type: type, hasMore: end < bytes.count, id: 0
            ).encode(into: &output)
            output += bytes[at..<end]
            at = end
        }
        return output
    }
}
