/// Which log it is: an id for its whole life and an epoch that rises when history may have changed.
public struct LogIdentity: Hashable, Sendable {
    /// The first eight bytes of the id.
    public var high: UInt64
    /// The last eight bytes of the id.
    public var low: UInt64
    /// Rises when transactions that others have seen may be missing.
    public var epoch: UInt32

    /// Makes an identity from the two halves of an id.
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

    /// Whether another identity is of the same log, whatever the epoch.
    public func isSameLog(as other: LogIdentity) -> Bool {
        high == other.high && low == other.low
    }
}

/// When an append returns.
public enum Durability: Hashable, Sendable {
    /// After the disk has it; survives a power cut.
    case full
    /// After the kernel has it; survives the death of processes only.
    case relaxed
}

/// Which positions a log can still give.
public struct LogBounds: Hashable, Sendable {
    /// The oldest position that can be read; one above `last` when the log is empty.
    public var first: UInt64
    /// The newest position; 0 when nothing was ever written.
    public var last: UInt64

    /// Makes bounds from both ends.
    public init(first: UInt64, last: UInt64) {
        self.first = first
        self.last = last
    }

    /// Whether there is nothing to read.
    public var isEmpty: Bool { last < first }
}

/// What came of an append.
public enum AppendOutcome: Hashable, Sendable {
    /// The batch has these positions and is durable.
    case committed(ClosedRange<UInt64>)
    /// Somebody else was first; nothing was written. Carries the log's last position.
    case conflict(last: UInt64)
    /// The batch may or may not be in the log: read on to find out. Segment files never say so.
    case unknown
}

/// One payload of a log.
public struct Entry: Hashable, Sendable {
    /// Its number: 1, 2, 3, … without gaps.
    public var position: UInt64
    /// The bytes as they were appended.
    public var payload: [UInt8]

    /// Makes an entry from its parts.
    public init(position: UInt64, payload: [UInt8]) {
        self.position = position
        self.payload = payload
    }
}

/// Walks over a log, oldest first.
public protocol ChangeCursor: AnyObject {
    /// The next entry; nil at the tail, where a later call may find more.
    func next() throws(JournalError) -> Entry?

    /// Goes on at a position further on; what lies between is left out.
    func pass(to position: UInt64)
}

/// A sequence of payloads that is only ever appended to: the sequencing point of a store.
///
/// ``Journal`` is the first implementation; a replicated log is meant to be another. Bound to one
/// thread.
public protocol ChangeLog: AnyObject {
    /// Which log it is.
    var identity: LogIdentity { get }

    /// Which positions it holds.
    var bounds: LogBounds { get }

    /// Appends the payloads of a batch, durable on return, if `expected` is the last position.
    ///
    /// Throws if nothing more can be appended; see ``JournalError/Code``.
    func append(
        expected: UInt64, batch: inout BatchBuilder
    ) throws(JournalError) -> AppendOutcome

    /// A cursor that begins at a position; refused with `expired` if it is no longer there.
    func read(from position: UInt64) throws(JournalError) -> any ChangeCursor

    /// Gives up positions below one, as far as the log's units allow.
    func trim(below position: UInt64) throws(JournalError)
}
