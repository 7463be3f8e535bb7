/// The identity of a log: a permanent id, and an epoch that increases when history may have
/// changed.
public struct LogIdentity: Hashable, Sendable {
    /// The first eight bytes of the id.
    public var high: UInt64
    /// The last eight bytes of the id.
    public var low: UInt64
    /// The epoch; it increases when transactions that others have seen may be missing.
    public var epoch: UInt32

    /// Creates an identity from the two halves of an id.
    public init(high: UInt64, low: UInt64, epoch: UInt32 = 1) {
        self.high = high
        self.low = low
        self.epoch = epoch
    }

    /// The id as 16 bytes.
    public var id: [UInt8] {
        var bytes: [UInt8] = []
        for half in [high, low] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: half >> UInt64(shift)))
            }
        }
        return bytes
    }

    /// Whether another identity belongs to the same log, in any epoch.
    public func isSameLog(as other: LogIdentity) -> Bool {
        high == other.high && low == other.low
    }
}

/// The guarantee that an append gives when it returns.
public enum Durability: Hashable, Sendable {
    /// The append returns after the data is on the disk, where it survives a power cut.
    case full
    /// The append returns after the kernel has the data, which then survives the death of any
    /// process, but not a power cut.
    case relaxed
}

/// The range of positions that a log can still return.
public struct LogBounds: Hashable, Sendable {
    /// The oldest readable position; one above `last` if the log is empty.
    public var first: UInt64
    /// The newest position; 0 if nothing was ever written.
    public var last: UInt64

    /// Creates bounds from the first and the last position.
    public init(first: UInt64, last: UInt64) {
        self.first = first
        self.last = last
    }

    /// Whether the log has no readable positions.
    public var isEmpty: Bool { last < first }
}

/// The outcome of an append.
public enum AppendOutcome: Hashable, Sendable {
    /// The batch has these positions and is durable.
    case committed(ClosedRange<UInt64>)
    /// Another writer appended first, and nothing was written; the value is the log's last
    /// position.
    case conflict(last: UInt64)
    /// The batch may or may not be in the log; read the log to find out. Never the outcome of an
    /// append to segment files.
    case unknown
}

/// One payload of a log.
public struct Entry: Hashable, Sendable {
    /// The position of the payload: 1, 2, 3, … without gaps.
    public var position: UInt64
    /// The bytes as they were appended.
    public var payload: [UInt8]

    /// Creates an entry from its components.
    public init(position: UInt64, payload: [UInt8]) {
        self.position = position
        self.payload = payload
    }
}

/// A cursor over a log, oldest entry first.
public protocol ChangeCursor: AnyObject {
    /// Returns the next entry, or nil at the tail, where a later call may find more.
    func next() throws(JournalError) -> Entry?

    /// Skips to a later position without returning the entries in between.
    func pass(to position: UInt64)
}

/// An append-only sequence of payloads, which establishes the order of a store's transactions.
///
/// ``Journal`` is the first implementation; a replicated log may be added later. Bound to one
/// thread.
public protocol ChangeLog: AnyObject {
    /// The identity of the log.
    var identity: LogIdentity { get }

    /// The range of readable positions.
    var bounds: LogBounds { get }

    /// Appends the payloads of a batch, durably on return, if `expected` is the last position.
    ///
    /// Throws if no batch can be appended; see ``JournalError/Code``.
    func append(
        expected: UInt64, batch: inout BatchBuilder
    ) throws(JournalError) -> AppendOutcome

    /// Returns a cursor that begins at a position; throws `expired` if the position was removed.
    func read(from position: UInt64) throws(JournalError) -> any ChangeCursor

    /// Removes positions below the given one, as far as the log's unit of removal allows.
    func trim(below position: UInt64) throws(JournalError)
}
