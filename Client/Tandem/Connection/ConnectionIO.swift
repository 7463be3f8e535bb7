import TandemIO
import TandemModel
import TandemWire

/// The current socket, and the bytes that it has not accepted yet.
struct ConnectionIO: Sendable {
    /// The reader of the socket; nil while there is none.
    var inbound: InboundReader?
    /// Wakes the connection's thread; nil before the connection's first use.
    var wake: WakeUp?
    /// Bytes that the socket has not accepted yet.
    var outbox: [UInt8] = []

    /// Encodes a message and sends as much as the socket accepts.
    mutating func send(
        _ message: ClientMessage, id: UInt32, _ limits: SessionLimits
    ) throws(TandemError) {
        let wasEmpty = outbox.isEmpty
        try WireCoding.encode(message, id: id, limits, into: &outbox)
        if wasEmpty { flush() } else { wake?.signal() }
    }

    /// Writes as much as the socket accepts; if bytes remain, wakes the thread to write them later.
    mutating func flush() {
        guard let socket = inbound?.socket, !outbox.isEmpty else { return }
        let result = outbox.withUnsafeBytes { try? socket.write($0, waits: false) }
        switch result {
        case .bytes(let count) where count == outbox.count:
            outbox.removeAll(keepingCapacity: outbox.count < 1 << 20)
            return
        case .bytes(let count): outbox.removeFirst(count)
        // The reader will detect that the daemon has closed the connection.
        case .wouldBlock, .closed, nil: break
        }
        wake?.signal()
    }
}
