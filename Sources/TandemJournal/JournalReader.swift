public import TandemIO

/// Reads a journal's directory without a lock and without changing it, beside a writer or offline.
///
/// Damage is reported as a gap, and reading goes on behind it; the caller decides what that means.
/// At the tail ``next()`` gives nil, and later calls give what was appended since. Bound to one
/// thread; any number of readers may share an index.
///
/// Without a ``CommittedTail`` a reader beside a living writer may see a batch that is written and
/// not yet flushed, so what it shows is a person's business only.
///
///     let reader = try JournalReader(directory: path, fileSystem: RealFileSystem(), from: 1)
///     while let item = try reader.next() { show(item) }
public final class JournalReader {
    /// What a reader comes across.
    public enum Item: Hashable, Sendable {
        /// The next entry.
        case entry(Entry)
        /// Something that can't be read; entries behind it follow.
        case gap(Gap)
    }

    /// A place that can't be read.
    public struct Gap: Hashable, Sendable {
        /// The segment.
        public var path: String
        /// Where it begins.
        public var offset: UInt64
        /// What was found there.
        public var reason: String
        /// The position that was expected there.
        public var firstMissing: UInt64
        /// The first position behind it; nil if nothing follows.
        public var next: UInt64?
    }

    /// The position of the entry that comes next.
    public internal(set) var position: UInt64

    let directory: String
    let fileSystem: any FileSystem
    let index: JournalIndex
    let tail: CommittedTail?
    let indexes: SegmentIndexes?
    var segment: SegmentFile?
    var offset: UInt64 = 0
    var chain: Chain?
    /// The batch being given out, and where its next payload lies.
    private var batch: BatchHeader?
    private var batchOffset: UInt64 = 0
    private var payloadStart = 0
    private var payloadPosition: UInt64 = 0
    /// A segment whose header can't be read, already reported, with no segment behind it.
    var reportedSegment: UInt64?
    /// Whether an empty segment was opened again, for an epoch may have replaced it.
    var reopened = false
    /// Whether the zeros behind the end were searched for lost batches once.
    var searchedTail = false
    /// What stands in place of a batch at the tail: one being written, or a torn one; nil if the
    /// log ends cleanly.
    ///
    /// Set when ``next()`` gives nil.
    public internal(set) var tailProblem: Gap?

    /// The segment that is being read, by its first position, and where in it the next batch will begin; nil before ``next()``.
    ///
    /// When ``next()`` has given nil, all whole batches are before it: a copy up to there has them all. Zeros don't tell where
    /// a log ends, since batches may end in zeros.
    public var end: (segment: UInt64, offset: UInt64)? {
        segment.map { ($0.header.firstPosition, offset) }
    }

    /// What the segment that is being read says of the log; nil before ``next()``.
    public var identity: LogIdentity? { segment?.header.identity }

    /// The position behind the last batch that was passed, whether or not its entries were wanted; nil where that is unknown.
    ///
    /// A reader that began at the highest position and was read to the tail so tells where the log ends, for the cost of
    /// finding the last batch.
    public var following: UInt64? { chain?.position }

    /// Begins at a position.
    ///
    /// Nothing is opened before the first ``next()``. With the indexes of the segments it finds its place by them.
    public init(
        directory: String, fileSystem: any FileSystem, from position: UInt64,
        index: JournalIndex = JournalIndex(), tail: CommittedTail? = nil,
        indexes: SegmentIndexes? = nil
    ) {
        self.directory = directory
        self.fileSystem = fileSystem
        self.position = max(position, 1)
        self.index = index
        self.tail = tail
        self.indexes = indexes
    }

    /// Goes on at a position further on; what lies between is left out, gaps in it too.
    ///
    /// Where an index tells the place nothing of it is read. A position that was passed changes nothing.
    public func pass(to target: UInt64) {
        guard target > position else { return }
        position = target
        if let batch, target <= batch.lastPosition { return }
        batch = nil
        let place = indexes?.place(of: target)
        guard let segment, let place, place.segment == segment.header.firstPosition else {
            // In a segment without an index walking a little is cheaper than a search.
            if place != nil || target - (chain?.position ?? 0) > Self.walkedPositions { leave() }
            return
        }
        guard place.offset > offset else { return }
        (offset, chain) = (place.offset, nil)
    }

    /// So many positions are walked over rather than searched for.
    private static let walkedPositions: UInt64 = 1_024

    private func leave() {
        (segment, chain) = (nil, nil)
        (reopened, searchedTail) = (false, false)
    }

    /// The next entry or gap; nil at the tail, where a later call may find more.
    ///
    /// Throws `expired` if the position was given up, `unreadable` if a file can't be read.
    public func next() throws(JournalError) -> Item? {
        while true {
            if let tail, position > tail.last { return nil }
            if let header = batch {
                if let item = try nextPayload(header) { return item }
                continue
            }
            switch try advance() {
            case .batch(let header): begin(header)
            case .gap(let gap): return .gap(gap)
            case .again: continue
            case .tail: return nil
            }
        }
    }

    /// What an attempt to reach the next batch came to.
    enum Step {
        case batch(BatchHeader)
        case gap(Gap)
        case again
        case tail
    }

    private func begin(_ header: BatchHeader) {
        batch = header
        batchOffset = offset
        reopened = false
        tailProblem = nil
        payloadStart = SegmentFormat.Batch.body
        payloadPosition = header.firstPosition
        if let segment {
            let first = segment.header.firstPosition
            index.note(segment: first, position: header.firstPosition, offset: offset)
        }
        offset += UInt64(header.frameBytes)
        chain = Chain(after: header)
    }

    /// The next payload of the batch at or above `position`; nil, and no batch, at its end.
    private func nextPayload(_ header: BatchHeader) throws(JournalError) -> Item? {
        guard let segment else { return nil }
        let prefix = SegmentFormat.payloadPrefixBytes
        let end = SegmentFormat.Batch.body + Int(header.length)
        while payloadPosition <= header.lastPosition {
            let start = payloadStart
            let wanted = payloadPosition >= position
            let payload = try segment.withBytes(at: batchOffset, count: header.frameBytes) {
                frame -> (length: Int, bytes: [UInt8])? in
                guard start + prefix <= end else { return nil }
                let length = Int(frame.get(UInt32.self, at: start))
                guard length <= end - start - prefix else { return nil }
                let range = (start + prefix)..<(start + prefix + length)
                return (length, wanted ? Array(frame[range]) : [])
            }
            guard let found = payload, let found else { return malformed(header, segment.path) }
            payloadStart += prefix + found.length
            payloadPosition += 1
            guard wanted else { continue }
            position = payloadPosition
            return .entry(Entry(position: payloadPosition - 1, payload: found.bytes))
        }
        batch = nil
        return nil
    }

    // The checksum matched, so this is our own mistake or a forgery; it is not passed on.
    private func malformed(_ header: BatchHeader, _ path: String) -> Item {
        batch = nil
        let missing = payloadPosition
        position = max(position, header.lastPosition + 1)
        return .gap(
            Gap(
                path: path, offset: batchOffset,
                reason: "the payloads of batch \(header.batchNumber) overrun it",
                firstMissing: missing, next: position))
    }
}
