import TandemModel
import TandemWire

/// The positions and numbers known to other processes at a moment of a recording, read from the
/// bytes that the daemon sent.
///
/// Every position named in any message counts: no process may learn of a position that can be lost.
struct DisclosedState {
    /// The highest position named in a message.
    private(set) var position: UInt64 = 0
    /// The bound below which all numbers may have been leased.
    private(set) var numbersBelow: UInt64 = 0
    /// Whether a consumer was registered.
    private(set) var hasConsumer = false
    private var streams: [Int32: DaemonMessageDecoder] = [:]

    /// Creates the state at the beginning of a recording.
    init(_ position: UInt64 = 0, numbersBelow: UInt64 = 0) {
        self.position = position
        self.numbersBelow = numbersBelow
    }

    mutating func play(_ record: Recording.Record) throws {
        switch record {
        case .close(let fd): streams[fd] = nil
        case .restart: streams.removeAll()
        case .send(let fd, let bytes):
            var decoder = streams[fd] ?? DaemonMessageDecoder()
            decoder.append(bytes)
            while let envelope = try decoder.next() { update(envelope.message) }
            streams[fd] = decoder
        default: break
        }
    }

    private mutating func update(_ message: DaemonMessage) {
        switch message {
        case .welcome(let welcome):
            update(position: welcome.position)
            update(welcome.lease)
        case .lease(let lease): update(lease)
        case .consumer: hasConsumer = true
        case .transaction(let push): update(position: push.transaction.position)
        case .progress(let mark): update(position: mark.position)
        case .status(let text):
            if case .int(let number)? = try? JSON(parsing: text)["position"] {
                update(position: UInt64(clamping: number))
            }
        default: update(position: message.announcedPosition ?? 0)
        }
    }

    private mutating func update(position: UInt64) { self.position = max(self.position, position) }

    private mutating func update(_ lease: Lease) {
        numbersBelow = max(numbersBelow, lease.first + UInt64(lease.count))
    }
}
