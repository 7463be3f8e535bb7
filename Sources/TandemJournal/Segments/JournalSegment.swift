/// The positions and the size of a segment, as used by retention.
public struct JournalSegment: Hashable, Sendable {
    /// The position of the first payload.
    public var first: UInt64
    /// The position of the last payload; one below `first` if the segment has none.
    public var last: UInt64
    /// The size of the file in bytes.
    public var bytes: UInt64

    /// Creates a segment from its components.
    public init(first: UInt64, last: UInt64, bytes: UInt64) {
        self.first = first
        self.last = last
        self.bytes = bytes
    }
}
