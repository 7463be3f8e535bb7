import TandemIO

/// A log in segment files, with one writer and one batch in flight.
///
/// Each batch is durable when `append` returns. Bound to the thread that opened it. Its state:
///
/// | Field | Meaning |
/// |---|---|
/// | `chain` | the number and position of the next batch, and the checksum before it |
/// | `current`, `end`, `capacity` | the last segment, the end of its batches, and its size |
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
    public internal(set) var identity: LogIdentity
    /// The offsets of batches, for readers.
    public let index: JournalIndex
    /// The last durable position, for readers.
    public let tail: CommittedTail

    let fileSystem: any FileSystem
    let options: JournalOptions
    private var lock: (any FileLock)?
    let maker: SegmentMaker
    let indexer: SegmentIndexer
    var sealed: [JournalSegment] = []
    var current: any File
    var currentFirst: UInt64
    var salt: UInt32
    var end: UInt64
    var capacity: UInt64
    var chain: Chain
    var failure: JournalError?

    init(_ parts: RecoveredLog, lock: any FileLock, _ place: JournalLocation) {
        directory = place.directory
        fileSystem = place.fileSystem
        options = place.options
        self.lock = lock
        maker = SegmentMaker(directory: place.directory, fileSystem: place.fileSystem)
        indexer = SegmentIndexer(place)
        index = parts.index
        identity = parts.header.identity
        sealed = parts.sealed
        current = parts.file
        currentFirst = parts.header.firstPosition
        salt = parts.header.salt
        end = parts.end
        capacity = parts.capacity
        chain = parts.chain
        tail = CommittedTail(parts.chain.position - 1)
        checkInvariants()
    }

    /// Asserts the relations between the fields, which hold after every successful operation.
    func checkInvariants() {
        assert(
            tail.last == chain.position - 1, "The tail is the position before the next batch.")
        assert(
            end >= UInt64(SegmentFormat.headerBytes) && end <= capacity,
            "The batches end between the header and the end of the segment.")
        assert(
            end % UInt64(SegmentFormat.alignment) == 0, "Batches begin at multiples of eight.")
        assert(currentFirst <= chain.position, "A segment does not begin after the next batch.")
        assert(
            sealed.last.map { $0.last + 1 == currentFirst } ?? true,
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
        LogBounds(first: sealed.first?.first ?? currentFirst, last: tail.last)
    }

    /// The segments, oldest first; the last one is being written.
    public var segments: [JournalSegment] {
        sealed + [JournalSegment(first: currentFirst, last: tail.last, bytes: capacity)]
    }

    /// Appends a batch, which must not be empty; on return it is as durable as the options specify.
    ///
    /// Cost: one write and one flush. The batch keeps its payloads. Throws `noSpace` if nothing was
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
        assert(
            end + UInt64(batch.frameBytes) <= capacity, "The reserved segment has room for it.")
        let checksum = batch.seal(after: chain, salt: salt)
        try write(batch.bytes)
        let positions = chain.position...(chain.position + UInt64(batch.count) - 1)
        index.addMark(segment: currentFirst, position: positions.lowerBound, offset: end)
        end += UInt64(batch.frameBytes)
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
        if end + UInt64(bytes) <= capacity { return }
        try beginSegment(identity: identity, minimumBytes: SegmentFormat.headerBytes + bytes)
    }

    /// The reason why the next segment could not be created in advance; nil if there is none.
    ///
    /// Batches are accepted as long as they fit into the current segment, so this predicts
    /// `noSpace`.
    public var spareFailure: JournalError? { maker.failure.map(JournalError.noSpace) }

    /// Begins a segment with the epoch incremented; durable on return.
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
        let kept = sealed.first { $0.last >= position }?.first ?? currentFirst
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
        assert(bounds.first == kept, "The journal begins where the record of it says.")
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
    /// With relaxed durability all batches are flushed first.
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
            try current.write(frame, at: end)
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
            try current.truncate(to: end)
            try current.sync()
        } catch {
            throw fail(error)
        }
        assert(end <= capacity, "Cutting a partial batch never extends the segment.")
        capacity = end
    }

    func fail(_ error: IOError) -> JournalError {
        assert(self.failure == nil, "The first failure is kept, and nothing is tried after it.")
        let failure = JournalError.failed(error)
        self.failure = failure
        return failure
    }

    /// Starts creating the next segment when this one is a quarter full, and stops pausing when
    /// this one is nearly full.
    private func prepareSpare() {
        guard end > capacity / 4 else { return }
        maker.prepare(bytes: options.segmentBytes, inHaste: end > capacity / 4 * 3)
    }
}
