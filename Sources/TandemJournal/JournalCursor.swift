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

extension Journal {
    /// The values needed to read this journal on another thread.
    public var source: JournalSource {
        JournalSource(directory: directory, index: index, tail: tail)
    }

    /// Returns a cursor for this journal's thread, from a position to the durable tail.
    public func read(from position: UInt64) throws(JournalError) -> any ChangeCursor {
        try read(from: position, nil)
    }

    /// Returns a cursor that locates positions through the segments' indexes.
    public func read(
        from position: UInt64, _ indexes: SegmentIndexes?
    ) throws(JournalError) -> any ChangeCursor {
        guard position >= bounds.first else {
            throw .expired(directory, position, oldest: bounds.first)
        }
        return source.read(from: position, fileSystem: fileSystem, indexes: indexes)
    }

    /// Returns the indexes of the segments, for one query; segments that are not indexed yet are
    /// read.
    public func indexes() -> SegmentIndexes {
        SegmentIndexes(
            directory: directory, fileSystem: fileSystem,
            sealed: SealedSegments(sealed.map(\.first) + [currentFirst]))
    }

    /// Starts to rebuild indexes that were found damaged.
    public func renewIndexes(of segments: [UInt64]) {
        guard !segments.isEmpty else { return }
        let wanted = Set(segments)
        indexer.renew(sealed.filter { wanted.contains($0.first) })
    }

    /// Waits until all indexes being built are complete.
    package func finishIndexes() { indexer.join() }

    /// The progress of index building.
    public var indexing: IndexingState { indexer.state }
}
