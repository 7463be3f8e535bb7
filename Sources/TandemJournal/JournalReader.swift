public import TandemIO

/// A reader of a journal's directory that needs no lock and changes nothing.
///
/// A reader works with or without a running writer. Damage is reported as a gap, and reading
/// continues after it; the caller decides what a gap means. At the tail, ``next()`` returns nil,
/// and later calls return newly appended entries. Bound to one thread; any number of readers may
/// share an index.
///
/// Without a ``CommittedTail``, a reader alongside a running writer may return a batch that is
/// written but not yet flushed. Such entries are suitable for display only.
///
///     let reader = try JournalReader(directory: path, fileSystem: RealFileSystem(), from: 1)
///     while let item = try reader.next() { show(item) }
public final class JournalReader {
    /// An item returned by a reader.
    public enum Item: Hashable, Sendable {
        /// The next entry.
        case entry(Entry)
        /// A section that can't be read; later entries follow.
        case gap(Gap)
    }

    /// A section of a segment that can't be read.
    public struct Gap: Hashable, Sendable, CustomStringConvertible {
        /// The path of the segment.
        public var path: String
        /// The offset at which the section begins.
        public var offset: UInt64
        /// The problem found at the offset.
        public var reason: String
        /// The position expected at the offset.
        public var firstMissing: UInt64
        /// The first position after the section; nil if nothing follows.
        public var next: UInt64?

        /// The location of the section, and the problem.
        public var description: String { "\(path) at offset \(offset): \(reason)" }
    }

    /// A batch that is being read, with the location of its next payload.
    private struct CurrentBatch {
        let header: BatchHeader
        let offset: UInt64
        var payloadStart = SegmentFormat.Batch.body
        var payloadPosition: UInt64
    }

    /// The position of the next entry.
    public private(set) var position: UInt64

    private let tail: CommittedTail?
    private var iterator: BatchIterator
    private var batch: CurrentBatch?

    /// The incomplete batch found at the tail: one being written, or a torn one.
    ///
    /// Nil if the log ends cleanly.
    ///
    /// Valid when ``next()`` has returned nil.
    public var tailProblem: Gap? { iterator.tailProblem }

    /// The first position of the segment being read, and the offset of its next batch; nil before
    /// ``next()``.
    ///
    /// After ``next()`` has returned nil, all whole batches lie before the offset, so a copy up to
    /// that offset is complete. Trailing zeros don't show where a log ends, because batches may end
    /// in zeros.
    public var end: (segment: UInt64, offset: UInt64)? {
        iterator.segment.map { ($0.header.firstPosition, iterator.offset) }
    }

    /// The identity in the header of the segment being read; nil before ``next()``.
    public var identity: LogIdentity? { iterator.segment?.header.identity }

    /// The position after the last batch passed, whether or not its entries were returned; nil if
    /// unknown.
    ///
    /// A reader that begins at the highest position and reads to the tail thus finds the end of the
    /// log. Doing so costs no more than finding the last batch.
    public var following: UInt64? { iterator.following }

    /// Creates a reader that begins at a position.
    ///
    /// Opens no file before the first ``next()``. With `indexes`, it locates positions through the
    /// segments' indexes.
    public init(
        directory: String, fileSystem: any FileSystem, from position: UInt64,
        index: JournalIndex = JournalIndex(), tail: CommittedTail? = nil,
        indexes: SegmentIndexes? = nil
    ) {
        self.position = max(position, 1)
        self.tail = tail
        iterator = BatchIterator(
            directory: directory, fileSystem: fileSystem, index: index, indexes: indexes,
            sharesWriterProcess: tail != nil)
    }

    /// Skips to a later position; entries and gaps in between are not returned.
    ///
    /// If an index has the location, nothing in between is read. The call has no effect if the
    /// position was already passed.
    public func pass(to target: UInt64) {
        guard target > position else { return }
        position = target
        if let batch, target <= batch.header.lastPosition { return }
        batch = nil
        iterator.pass(to: target)
    }

    /// Returns the next entry or gap, or nil at the tail, where a later call may find more.
    ///
    /// Throws `expired` if the position was removed, and `unreadable` if a file can't be read.
    public func next() throws(JournalError) -> Item? {
        while true {
            if let tail, position > tail.last { return nil }
            if batch != nil {
                if let item = try nextPayload() { return item }
                continue
            }
            switch try iterator.advance(&position) {
            case .batch(let header): begin(header)
            case .gap(let gap): return .gap(gap)
            case .again: continue
            case .tail: return nil
            }
        }
    }

    private func begin(_ header: BatchHeader) {
        assert(batch == nil, "A batch begins after the previous one was passed.")
        batch = CurrentBatch(
            header: header, offset: iterator.offset, payloadPosition: header.firstPosition)
        iterator.pass(header)
    }

    /// Returns the batch's next payload at or above `position`; at the batch's end, clears the
    /// batch and returns nil.
    private func nextPayload() throws(JournalError) -> Item? {
        guard var current = batch, let segment = iterator.segment else {
            assertionFailure("A segment stays open while a batch of it is read.")
            return nil
        }
        let header = current.header
        let prefix = SegmentFormat.payloadPrefixBytes
        let end = SegmentFormat.Batch.body + Int(header.length)
        assert(
            current.payloadPosition >= header.firstPosition
                && current.payloadPosition <= header.lastPosition + 1,
            "The next payload is one of the current batch, or follows its last one.")
        while current.payloadPosition <= header.lastPosition {
            let start = current.payloadStart
            let wanted = current.payloadPosition >= position
            let payload = try segment.withBytes(at: current.offset, count: header.frameBytes) {
                frame -> (length: Int, bytes: [UInt8])? in
                guard start + prefix <= end else { return nil }
                let length = Int(frame.get(UInt32.self, at: start))
                guard length <= end - start - prefix else { return nil }
                let range = (start + prefix)..<(start + prefix + length)
                return (length, wanted ? Array(frame[range]) : [])
            }
            guard let found = payload, let found else { return malformed(current, segment.path) }
            current.payloadStart += prefix + found.length
            current.payloadPosition += 1
            guard wanted else { continue }
            batch = current
            position = current.payloadPosition
            return .entry(Entry(position: position - 1, payload: found.bytes))
        }
        batch = nil
        return nil
    }

    // The checksum matched, so this is a bug of the writer or a forgery; the payload is not
    // returned.
    private func malformed(_ broken: CurrentBatch, _ path: String) -> Item {
        batch = nil
        let (header, missing) = (broken.header, broken.payloadPosition)
        position = max(position, header.lastPosition + 1)
        return .gap(
            Gap(
                path: path, offset: broken.offset,
                reason: "the payloads of batch \(header.batchNumber) do not fit into it",
                firstMissing: missing, next: position))
    }
}
