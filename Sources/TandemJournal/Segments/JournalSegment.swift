/// A segment of a journal, as retention sees it.
public struct JournalSegment: Hashable, Sendable {
    /// The position of its first payload.
    public var first: UInt64
    /// The position of its last payload; one below `first` if it has none.
    public var last: UInt64
    /// The size of its file.
    public var bytes: UInt64

    /// Creates a segment from its components.
    public init(first: UInt64, last: UInt64, bytes: UInt64) {
        self.first = first
        self.last = last
        self.bytes = bytes
    }
}
