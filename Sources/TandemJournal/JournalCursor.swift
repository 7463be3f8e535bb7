public import TandemIO

/// A cursor over segment files that takes no gaps: damage is thrown.
public final class JournalCursor: ChangeCursor {
    private let reader: JournalReader

    /// Walks with a reader.
    public init(_ reader: JournalReader) { self.reader = reader }

    /// The next entry; nil at the tail, where a later call may find more.
    public func next() throws(JournalError) -> Entry? {
        switch try reader.next() {
        case nil: nil
        case .entry(let entry): entry
        case .gap(let gap): throw .damaged(gap.path, at: gap.offset, gap.reason)
        }
    }

    /// Goes on at a position further on.
    public func pass(to position: UInt64) { reader.pass(to: position) }
}

/// What it takes to read a journal on another thread than its own.
public struct JournalSource: Sendable {
    /// The directory of the segments.
    public let directory: String
    /// Where batches begin.
    public let index: JournalIndex
    /// The last position that may be shown.
    public let tail: CommittedTail

    /// A cursor of the calling thread that begins at a position.
    ///
    /// A position that was given up shows as `expired` at the first `next()`.
    /// With the indexes of the segments it finds its place by them.
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
    /// What it takes to read this journal on another thread.
    public var source: JournalSource {
        JournalSource(directory: directory, index: index, tail: tail)
    }

    /// A cursor of this journal's thread that begins at a position and ends at the durable tail.
    public func read(from position: UInt64) throws(JournalError) -> any ChangeCursor {
        try read(from: position, nil)
    }

    /// The same, which finds its place by the indexes of the segments.
    public func read(
        from position: UInt64, _ indexes: SegmentIndexes?
    ) throws(JournalError) -> any ChangeCursor {
        guard position >= bounds.first else {
            throw .expired(directory, position, oldest: bounds.first)
        }
        return source.read(from: position, fileSystem: fileSystem, indexes: indexes)
    }

    /// The indexes of its segments, for one question: what was not indexed when that began is read.
    public func indexes() -> SegmentIndexes {
        SegmentIndexes(
            directory: directory, fileSystem: fileSystem,
            sealed: SealedSegments(sealed.map(\.first) + [currentFirst]))
    }

    /// Has indexes made anew that were found damaged.
    public func renewIndexes(of segments: [UInt64]) {
        guard !segments.isEmpty else { return }
        let wanted = Set(segments)
        indexer.renew(sealed.filter { wanted.contains($0.first) })
    }

    /// Waits until the indexes that are being made are made.
    package func finishIndexes() { indexer.settle() }

    /// How the making of indexes gets on.
    public var indexing: IndexingState { indexer.state }
}
