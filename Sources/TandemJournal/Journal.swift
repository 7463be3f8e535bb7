import TandemIO

/// A log in segment files, with one writer and one batch in flight.
///
/// Each batch is durable when `append` returns. Bound to the thread that opened it. Its state:
///
/// | Field | Meaning |
/// |---|---|
/// | `chain` | the number and position of the next batch, and the checksum before it |
/// | `current` | the last segment, with the end of its batches and its size |
/// | `sealed` | the earlier segments, oldest first |
/// | `failure` | set by the first failed write or sync, and thrown from then on |
/// | `tail` | the last durable position, for readers on any thread |
///
///     let (journal, report) = try Journal.open(
///         directory: "/var/lib/tandem/default/journal", fileSystem: RealFileSystem(),
///         identityIfNew: LogIdentity(high: 1, low: 2), appliedPosition: nil)
public final class Journal: ChangeLog {
    /// The version of the segment format that this program writes and reads.
    public static let format = SegmentFormat.version

    /// The directory of the segments.
    public let directory: String
    /// The identity of the log.
    public private(set) var identity: LogIdentity
    /// The offsets of batches, for readers.
    public let index: JournalIndex
    /// The last durable position, for readers.
    public let tail: CommittedTail

    private let fileSystem: any FileSystem
    private let options: JournalOptions
    private var lock: (any FileLock)?
    private let maker: SegmentMaker
    private let indexer: SegmentIndexer
    private var sealed: [JournalSegment] = []
    private var current: OpenSegment
    private var chain: Chain
    private var failure: JournalError?

    init(_ parts: RecoveredLog, lock: any FileLock, _ place: JournalLocation) {
        directory = place.directory
        fileSystem = place.fileSystem
        options = place.options
        self.lock = lock
        maker = SegmentMaker(directory: place.directory, fileSystem: place.fileSystem)
        indexer = SegmentIndexer(place)
        index = parts.index
        identity = parts.identity
        sealed = parts.sealed
        current = parts.current
        chain = parts.chain
        tail = CommittedTail(parts.chain.position - 1)
        checkInvariants()
    }

    /// Asserts the relations between the fields, which hold after every successful operation.
    private func checkInvariants() {
        assert(
            tail.last == chain.position - 1, "The tail is the position before the next batch.")
        current.checkInvariants()
        assert(current.first <= chain.position, "A segment does not begin after the next batch.")
        assert(
            sealed.last.map { $0.last + 1 == current.first } ?? true,
            "The current segment continues the last sealed one.")
        assert(lock != nil || failure != nil, "An open journal holds the lock of its directory.")
        assert(
            !Invariants.walk(sealed.count) || sealedSegmentsContinue,
            "Each sealed segment has positions and continues the one before.")
    }

    private var sealedSegmentsContinue: Bool {
        sealed.allSatisfy { $0.first <= $0.last }
            && zip(sealed, sealed.dropFirst()).allSatisfy { $0.last + 1 == $1.first }
    }

    /// The range of readable positions.
    public var bounds: LogBounds {
        LogBounds(first: sealed.first?.first ?? current.first, last: tail.last)
    }

    /// The segments, oldest first; the last one is being written.
    public var segments: [JournalSegment] {
        sealed + [JournalSegment(first: current.first, last: tail.last, bytes: current.capacity)]
    }

    /// Appends a batch, which must not be empty; on return it is as durable as the options specify.
    ///
    /// Cost: one write and one flush. `batch` is not emptied. Throws `noSpace` if nothing was
    /// written and a later append may succeed. Throws `failed` after a failed write or flush; the
    /// journal then accepts no further batches.
    @discardableResult
    public func append(
        expected: UInt64, batch: inout BatchBuilder
    ) throws(JournalError) -> AppendOutcome {
        if let failure { throw failure }
        precondition(!batch.isEmpty, "A batch must have at least one payload.")
        guard expected == tail.last else { return .conflict(last: tail.last) }
        try reserve(bytes: batch.frameBytes)
        let checksum = current.seal(&batch, after: chain)
        try write(batch.bytes)
        let positions = chain.position...(chain.position + UInt64(batch.count) - 1)
        index.addMark(segment: current.first, position: positions.lowerBound, offset: current.end)
        current.didAppend(batch.frameBytes)
        chain.batchNumber += 1
        chain.position = positions.upperBound + 1
        chain.checksum = checksum
        tail.move(to: positions.upperBound)
        checkInvariants()
        prepareSpare()
        return .committed(positions)
    }

    /// Ensures that a batch of this many bytes (`frameBytes`) can be written.
    ///
    /// Begins a new segment if necessary. Throws `noSpace` if no segment can be created now; in
    /// that case nothing is lost, and a later call may succeed.
    public func reserve(bytes: Int) throws(JournalError) {
        if let failure { throw failure }
        if current.hasRoom(for: bytes) { return }
        try beginSegment(identity: identity, minimumBytes: SegmentFormat.headerBytes + bytes)
    }

    /// The reason why the next segment could not be created in advance; nil if there is none.
    ///
    /// Batches are accepted as long as they fit into the current segment, so this predicts
    /// `noSpace`.
    public var spareFailure: JournalError? { maker.failure.map(JournalError.noSpace) }

    /// Begins a segment with an incremented epoch; durable on return.
    public func beginEpoch() throws(JournalError) {
        if let failure { throw failure }
        var next = identity
        next.epoch += 1
        try beginSegment(identity: next, minimumBytes: SegmentFormat.headerBytes)
        identity = next
    }

    /// Removes whole segments that end below a position, oldest first; never removes the last
    /// segment.
    public func trim(below position: UInt64) throws(JournalError) {
        if let failure { throw failure }
        var dropped = false
        // The position is recorded before the first removal, so that a larger gap proves that
        // something else removed segments.
        let kept = sealed.first { $0.last >= position }?.first ?? current.first
        if kept > bounds.first { OldestPosition(directory, fileSystem).record(kept) }
        while let oldest = sealed.first, oldest.last < position {
            try converting(JournalError.unreadable) { () throws(IOError) in
                try fileSystem.remove(directory + "/" + JournalDirectory.name(of: oldest.first))
            }
            indexer.drop(oldest.first)
            index.drop(segment: oldest.first)
            sealed.removeFirst()
            dropped = true
        }
        assert(bounds.first == kept, "The journal begins at the recorded position.")
        checkInvariants()
        guard dropped else { return }
        try converting(JournalError.unreadable) { () throws(IOError) in
            try fileSystem.syncDirectory(directory)
        }
    }

    /// Makes all appended batches durable; with full durability they already are.
    ///
    /// Call this before anything that depends on the log reaches the disk. A failure is final, like
    /// that of an append.
    public func sync() throws(JournalError) {
        if let failure { throw failure }
        guard options.durability == .relaxed else { return }
        do throws(IOError) {
            try current.sync()
        } catch {
            throw fail(error)
        }
    }

    /// Closes the files and releases the lock; later appends throw `closed`.
    ///
    /// With relaxed durability, all batches are flushed first.
    public func close() throws(JournalError) {
        guard failure?.code != .closed else { return }
        maker.discard()
        indexer.discard()
        defer {
            current.close()
            lock = nil
            failure = JournalError(
                .closed, directory, "the journal is closed", remedy: "Open it again.")
        }
        guard options.durability == .relaxed, failure == nil else { return }
        try converting(JournalError.failed) { () throws(IOError) in
            try current.sync()
            try fileSystem.remove(directory + "/" + JournalDirectory.relaxedName)
            try fileSystem.syncDirectory(directory)
        }
    }

    private func write(_ frame: [UInt8]) throws(JournalError) {
        do throws(IOError) {
            try current.write(frame)
        } catch {
            guard error.isOutOfSpace else { throw fail(error) }
            try cutPartialBatch()
            throw .noSpace(error)
        }
        guard options.durability == .full else { return }
        do throws(IOError) {
            try current.sync()
        } catch {
            throw fail(error)
        }
    }

    /// Truncates the segment after its last complete batch, durably; the next batch begins another
    /// segment.
    ///
    /// A zero-filled segment has its blocks already, but a copy-on-write file system may need new
    /// ones.
    private func cutPartialBatch() throws(JournalError) {
        do throws(IOError) {
            try current.cutPartialBatch()
        } catch {
            throw fail(error)
        }
    }

    private func fail(_ error: IOError) -> JournalError {
        assert(self.failure == nil, "The first failure is kept, and nothing is tried after it.")
        let failure = JournalError.failed(error)
        self.failure = failure
        return failure
    }

    /// Starts creating the next segment when this one is a quarter full, without pauses once it is
    /// three quarters full.
    private func prepareSpare() {
        guard current.isFilled(quarters: 1) else { return }
        maker.prepare(bytes: options.segmentBytes, inHaste: current.isFilled(quarters: 3))
    }

    // MARK: Segments

    /// Begins a segment that continues the chain; its header and name are durable on return.
    ///
    /// A segment without batches is replaced by the new one of the same name.
    private func beginSegment(identity: LogIdentity, minimumBytes: Int) throws(JournalError) {
        assert(
            identity.isSameLog(as: self.identity) && identity.epoch >= self.identity.epoch,
            "A segment belongs to the same log, and epochs never decrease.")
        let header = SegmentHeader(
            identity: identity, previousChecksum: chain.checksum, firstPosition: chain.position,
            firstBatch: chain.batchNumber, salt: options.makeSalt())
        // The batches to which the header's chain refers must be on the disk before the header.
        try sync()
        let made = try makeSegment(header, max(minimumBytes, options.segmentBytes))
        do throws(IOError) {
            try fileSystem.syncDirectory(directory)
        } catch {
            throw fail(error)
        }
        let isSealed = current.first != header.firstPosition
        let finished = JournalSegment(
            first: current.first, last: chain.position - 1, bytes: current.capacity)
        if isSealed { sealed.append(finished) }
        current.close()
        current = made
        checkInvariants()
        if isSealed { indexer.add([finished]) }
    }

    /// Creates the file of the next segment; throws `noSpace` on failure.
    ///
    /// No failure here is fatal to the journal, because existing files stay unchanged until the new
    /// name may have reached the disk.
    private func makeSegment(
        _ header: SegmentHeader, _ bytes: Int
    ) throws(JournalError) -> OpenSegment {
        try converting(JournalError.noSpace) { () throws(IOError) in
            try OpenSegment.install(header, try maker.claim(bytes: bytes), directory, fileSystem)
        }
    }

    /// Creates the marker of relaxed durability, or removes an old one, before the first append.
    func markRelaxed(_ wasRelaxed: Bool) throws(JournalError) {
        let path = directory + "/" + JournalDirectory.relaxedName
        guard wasRelaxed != (options.durability == .relaxed) else { return }
        do throws(IOError) {
            if wasRelaxed {
                try fileSystem.remove(path)
            } else {
                try fileSystem.open(path, .createIfMissing).close()
            }
            try fileSystem.syncDirectory(directory)
        } catch {
            throw fail(error)
        }
    }

    /// Starts building the missing indexes of sealed segments.
    func startIndexing() { indexer.add(sealed) }

    // MARK: Reading

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
            sealed: SealedSegments(sealed.map(\.first) + [current.first]))
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
