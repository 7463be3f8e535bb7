import TandemIO

/// An iterator over the batches of a journal, which continues across segments and after damage.
///
/// The owner holds the position of the next entry; the iterator advances it past data that can't be
/// read.
struct BatchIterator {
    /// The outcome of an attempt to reach the next batch.
    enum Step {
        case batch(BatchHeader)
        case gap(JournalReader.Gap)
        case again
        case tail
    }

    private let directory: String
    private let fileSystem: any FileSystem
    private let index: JournalIndex
    private let indexes: SegmentIndexes?
    /// Whether the reader belongs to the writer's process, which has recovered the log.
    private let sharesWriterProcess: Bool
    /// The segment being read; nil before it is opened.
    private(set) var segment: SegmentFile?
    /// The offset of the next batch in the segment.
    private(set) var offset: UInt64 = 0
    /// The number and position that the next batch must have; nil after a skip.
    private var chain: Chain?
    /// The last segment, if its unreadable header was already reported.
    private var reportedSegment: UInt64?
    /// Whether an empty segment was reopened, because an epoch may have replaced it.
    private var reopened = false
    /// Whether the zeros after the end were already searched for lost batches.
    private var searchedTail = false
    /// The incomplete batch found at the tail; nil if the log ends cleanly.
    private(set) var tailProblem: JournalReader.Gap?

    init(
        directory: String, fileSystem: any FileSystem, index: JournalIndex,
        indexes: SegmentIndexes?, sharesWriterProcess: Bool
    ) {
        self.directory = directory
        self.fileSystem = fileSystem
        self.index = index
        self.indexes = indexes
        self.sharesWriterProcess = sharesWriterProcess
    }

    /// The position after the last batch passed; nil if unknown.
    var following: UInt64? { chain?.position }

    /// Advances past the batch found at the current offset.
    mutating func pass(_ header: BatchHeader) {
        assert(segment != nil, "A batch lies in the open segment.")
        reopened = false
        tailProblem = nil
        if let segment {
            let first = segment.header.firstPosition
            index.addMark(segment: first, position: header.firstPosition, offset: offset)
        }
        offset += UInt64(header.frameBytes)
        chain = Chain(after: header)
    }

    /// Skips to a later position, which must lie beyond the current batch.
    ///
    /// If an index has the location, nothing in between is read.
    mutating func pass(to target: UInt64) {
        let place = indexes?.location(of: target)
        guard let segment, let place, place.segment == segment.header.firstPosition else {
            // Without an index, reading past a few positions is cheaper than a search.
            if place != nil || target - (chain?.position ?? 0) > Self.walkedPositions { leave() }
            return
        }
        guard place.offset > offset else { return }
        (offset, chain) = (place.offset, nil)
    }

    /// The largest number of positions that are read through rather than skipped by a search.
    private static let walkedPositions: UInt64 = 1_024

    private mutating func leave() {
        (segment, chain) = (nil, nil)
        (reopened, searchedTail) = (false, false)
    }

    /// Reads the batch at the current offset, or determines why there is none.
    mutating func advance(_ position: inout UInt64) throws(JournalError) -> Step {
        guard let segment else { return try openSegment(&position) }
        let read = try segment.readBatch(at: offset, after: chain)
        if case .batch(let header) = read { return .batch(header) }
        // The window may be stale, so read the file again before deciding.
        segment.refresh()
        let (oldest, following) = try surroundings(of: segment)
        switch try segment.readBatch(at: offset, after: chain) {
        case .batch(let header): return .batch(header)
        case .end:
            // An open file stays readable after its segment was removed, but the following segments
            // are gone.
            let expected = chain?.position ?? position
            if let oldest, expected < oldest {
                throw .expired(directory, expected, oldest: oldest)
            }
            return try ended(segment, following, &position)
        case .bad(let problem): return try skip(segment, following, problem, &position)
        }
    }

    /// Returns the first positions of the oldest relevant segment and of the segment after this
    /// one.
    ///
    /// The directory is listed before the batch is read again, so that no batch appended before a
    /// rollover is missed.
    private func surroundings(
        of segment: SegmentFile
    ) throws(JournalError) -> (oldest: UInt64?, following: UInt64?) {
        let first = segment.header.firstPosition
        if let known = known(holding: first), exists(known.upperBound) {
            return (first, known.upperBound)
        }
        let segments = try JournalDirectory.segments(in: directory, fileSystem)
        return (segments.first, segments.first { $0 > first })
    }

    /// Returns the positions of the sealed segment that holds a position.
    ///
    /// Returns nil if the indexes don't know the segment, or if its file no longer exists. This
    /// avoids listing the directory.
    private func known(holding position: UInt64) -> Range<UInt64>? {
        guard let known = indexes?.positions(holding: position), exists(known.lowerBound) else {
            return nil
        }
        return known
    }

    private func exists(_ segment: UInt64) -> Bool {
        fileSystem.exists(directory + "/" + JournalDirectory.name(of: segment))
    }

    /// Opens the segment that contains the position, at the nearest known batch.
    private mutating func openSegment(_ position: inout UInt64) throws(JournalError) -> Step {
        if let known = known(holding: position) {
            return try open(known.lowerBound, following: known.upperBound, &position)
        }
        let segments = try JournalDirectory.segments(in: directory, fileSystem)
        guard let oldest = segments.first else { return .tail }
        guard let first = segments.last(where: { $0 <= position }) else {
            throw .expired(directory, position, oldest: oldest)
        }
        return try open(first, following: segments.first { $0 > first }, &position)
    }

    /// Opens a segment; if its header is unreadable, reports a gap up to the next segment.
    private mutating func open(
        _ first: UInt64, following: UInt64?, _ position: inout UInt64
    ) throws(JournalError) -> Step {
        assert(first <= position, "The opened segment begins at or before the position.")
        assert(following.map { $0 > first } ?? true, "The following segment begins later.")
        do throws(JournalError) {
            let opened = try SegmentFile(directory, first: first, fileSystem)
            try start(in: opened, position)
            segment = opened
            return .again
        } catch {
            guard error.code == .damaged else { throw error }
            return unreadable(first, following, error, &position)
        }
    }

    /// Moves to the batch that contains the position, or to one shortly before it.
    private mutating func start(
        in opened: SegmentFile, _ position: UInt64
    ) throws(JournalError) {
        let first = opened.header.firstPosition
        offset = UInt64(SegmentFormat.headerBytes)
        chain = Chain(startOf: opened.header)
        guard position > first else { return }
        if let place = indexes?.location(of: position), place.segment == first {
            guard place.offset > offset else { return }
            (offset, chain) = (place.offset, nil)
            return
        }
        let (mark, next) = index.around(segment: first, position: position)
        let size = try opened.size()
        let found = try opened.batch(
            nearest: position, from: mark?.offset ?? offset, below: next ?? size)
        guard let known = found?.offset ?? mark?.offset else { return }
        offset = known
        chain = nil
    }

    private mutating func unreadable(
        _ first: UInt64, _ following: UInt64?, _ error: JournalError, _ position: inout UInt64
    ) -> Step {
        segment = nil
        if reportedSegment == first { return .tail }
        let missing = position
        if let following {
            position = max(position, following)
        } else {
            reportedSegment = first
        }
        return .gap(
            JournalReader.Gap(
                path: error.path, offset: error.offset ?? 0, reason: error.message,
                firstMissing: missing, next: following))
    }

    /// Handles zeros at the current offset: continues with the next segment, or reports the tail or
    /// a hole.
    private mutating func ended(
        _ segment: SegmentFile, _ following: UInt64?, _ position: inout UInt64
    ) throws(JournalError) -> Step {
        // If the last segment is empty, a new epoch replaces its file with one of the same name.
        if offset == UInt64(SegmentFormat.headerBytes), !reopened {
            reopened = true
            self.segment = nil
            return .again
        }
        guard let following else { return try endedLast(segment, &position) }
        guard following == chain?.position ?? position else {
            return try skip(segment, following, "zeros in place of batches", &position)
        }
        let before = chain
        let step = try open(following, following: try nextSegment(after: following), &position)
        if case .again = step, let before, let opened = self.segment,
            before != Chain(startOf: opened.header)
        {
            return .gap(
                gap(opened, 0, "the segment does not continue the previous one", position, position)
            )
        }
        return step
    }

    /// Handles zeros in the last segment: the tail of the log, or a lost write.
    private mutating func endedLast(
        _ segment: SegmentFile, _ position: inout UInt64
    ) throws(JournalError) -> Step {
        reopened = false
        // A reader with a tail belongs to the daemon, whose recovery has already searched for lost
        // batches.
        if !sharesWriterProcess, !searchedTail {
            searchedTail = true
            return try skip(segment, nil, "zeros in place of batches", &position)
        }
        tailProblem = nil
        return .tail
    }

    private func nextSegment(after first: UInt64) throws(JournalError) -> UInt64? {
        if let known = known(holding: first) { return known.upperBound }
        return try JournalDirectory.segments(in: directory, fileSystem).first { $0 > first }
    }

    /// Reports a gap and continues after it, at the next whole batch or in the next segment.
    private mutating func skip(
        _ segment: SegmentFile, _ following: UInt64?, _ reason: String, _ position: inout UInt64
    ) throws(JournalError) -> Step {
        let expected = chain?.position ?? position
        let start = offset
        let found = try segment.nextBatch(above: offset, number: chain?.batchNumber ?? 0)
        segment.refresh()
        // The writer may have finished the batch during the search.
        let again = try segment.readBatch(at: offset, after: chain)
        if case .batch(let header) = again { return .batch(header) }
        if let found {
            assert(found.offset > start, "A search for the next batch only moves forward.")
            offset = found.offset
            position = max(position, found.header.firstPosition)
            chain = nil
            return .gap(gap(segment, start, reason, expected, found.header.firstPosition))
        }
        guard let following else {
            // No whole batch follows: a batch is being written or is torn, or the log ends cleanly.
            if case .bad = again {
                tailProblem = gap(segment, start, reason, expected, nil)
            } else {
                tailProblem = nil
            }
            return .tail
        }
        self.segment = nil
        position = max(position, following)
        return .gap(gap(segment, start, reason, expected, following))
    }

    private func gap(
        _ segment: SegmentFile, _ offset: UInt64, _ reason: String, _ missing: UInt64,
        _ next: UInt64?
    ) -> JournalReader.Gap {
        JournalReader.Gap(
            path: segment.path, offset: offset, reason: reason, firstMissing: missing, next: next)
    }
}
