public import TandemIO

/// A cursor over segment files that throws if it finds damage.
public final class JournalCursor: ChangeCursor {
    private let reader: JournalReader

    /// Creates a cursor that uses a reader.
    public init(_ reader: JournalReader) { self.reader = reader }

    /// Returns the next entry, or nil at the tail, where a later call may find more.
    public func next() throws(JournalError) -> Entry? {
        switch try reader.next() {
        case nil: nil
        case .entry(let entry): entry
        case .gap(let gap): throw .damaged(gap.path, at: gap.offset, gap.reason)
        }
    }

    /// Skips to a later position.
    public func pass(to position: UInt64) { reader.pass(to: position) }
}

/// The values needed to read a journal on a thread other than its own.
public struct JournalSource: Sendable {
    /// The directory of the segments.
    public let directory: String
    /// The offsets of batches.
    public let index: JournalIndex
    /// The last position that readers may return.
    public let tail: CommittedTail

    /// Returns a cursor for the calling thread that begins at a position.
    ///
    /// If the position was removed, the first `next()` throws `expired`. With `indexes`, the cursor
    /// locates positions through the segments' indexes.
    public func read(
        from position: UInt64, fileSystem: any FileSystem, indexes: SegmentIndexes? = nil
    ) -> JournalCursor {
        JournalCursor(
            JournalReader(
                directory: directory, fileSystem: fileSystem, from: position, index: index,
                tail: tail, indexes: indexes))
    }
}
