import TandemIO

/// A log in segment files: one writer, one batch in flight, each durable when `append` returns.
///
/// Bound to the thread that opened it. Its state:
///
/// | Field | Meaning |
/// |---|---|
/// | `chain` | what the next batch must continue: its number, position and the checksum before it |
/// | `current`, `end`, `capacity` | the last segment, where its batches end, how big it is |
/// | `sealed` | the segments before it, oldest first |
/// | `failure` | set by the first failed write or sync, and thrown ever after |
/// | `tail` | the last durable position, for readers on any thread |
///
/// Always `tail.last == chain.position - 1`, unless a batch failed.
///
///     let (journal, report) = try Journal.open(
///         directory: "/var/lib/tandem/default/journal", fileSystem: RealFileSystem(),
///         identityIfNew: LogIdentity(high: 1, low: 2), appliedPosition: nil)
public final class Journal: ChangeLog {
    /// The version of the format of segments that this program writes and reads.
    public static let format = SegmentFormat.version

    /// The directory of the segments.
    public let directory: String
    /// Which log it is.
    public internal(set) var identity: LogIdentity
    /// Where batches begin, for readers.
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

    init(_ parts: RecoveredLog, lock: any FileLock, _ place: JournalPlace) {
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
    }

    /// Which positions it holds.
    public var bounds: LogBounds {
        LogBounds(first: sealed.first?.first ?? currentFirst, last: tail.last)
    }

    /// Its segments, oldest first; the last one is being written.
    public var segments: [JournalSegment] {
        sealed + [JournalSegment(first: currentFirst, last: tail.last, bytes: capacity)]
    }

    /// Appends a batch, which must not be empty; durable on return, as the options say.
    ///
    /// One write and one flush. The batch keeps its payloads. Throws `noSpace` when nothing of it is in the
    /// log and a later append may succeed, or `failed`, after which the journal takes nothing more.
    @discardableResult
    public func append(
        expected: UInt64, batch: inout BatchBuilder
    ) throws(JournalError) -> AppendOutcome {
        if let failure { throw failure }
        precondition(!batch.isEmpty, "a batch must have at least one payload")
        guard expected == tail.last else { return .conflict(last: tail.last) }
        try reserve(bytes: batch.frameBytes)
        let checksum = batch.seal(after: chain, salt: salt)
        try write(batch.bytes)
        let positions = chain.position...(chain.position + UInt64(batch.count) - 1)
        index.note(segment: currentFirst, position: positions.lowerBound, offset: end)
        end += UInt64(batch.frameBytes)
        chain.batchNumber += 1
        chain.position = positions.upperBound + 1
        chain.checksum = checksum
        tail.move(to: positions.upperBound)
        prepareSpare()
        return .committed(positions)
    }

    /// Makes sure that a batch of this many bytes (`frameBytes`) can be written.
    ///
    /// Begins a new segment if need be. Throws `noSpace` if there can be none now: nothing is lost
    /// then, and a later call may succeed.
    public func reserve(bytes: Int) throws(JournalError) {
        if let failure { throw failure }
        if end + UInt64(bytes) <= capacity { return }
        try beginSegment(identity: identity, minimumBytes: SegmentFormat.headerBytes + bytes)
    }

    /// Why the next segment could not be made ahead, if it could not.
    ///
    /// Batches are taken as long as they fit the segment there is, so this foretells `noSpace`.
    public var spareFailure: JournalError? { maker.failure.map(JournalError.noSpace) }

    /// Begins a segment with the epoch raised by one; durable on return.
    public func beginEpoch() throws(JournalError) {
        if let failure { throw failure }
        var next = identity
        next.epoch += 1
        try beginSegment(identity: next, minimumBytes: SegmentFormat.headerBytes)
        identity = next
    }

    /// Drops whole segments whose last position is below one, oldest first; never the last segment.
    public func trim(below position: UInt64) throws(JournalError) {
        if let failure { throw failure }
        var dropped = false
        // Before anything goes, so that what is missing beyond it was not removed here.
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
        guard dropped else { return }
        try converting(JournalError.unreadable) { () throws(IOError) in
            try fileSystem.syncDirectory(directory)
        }
    }

    /// Makes everything that was appended durable; with full durability it is already.
    ///
    /// Call it before anything that depends on the log reaches the disk. A failure is final, as one
    /// of an append is.
    public func sync() throws(JournalError) {
        if let failure { throw failure }
        guard options.durability == .relaxed else { return }
        do throws(IOError) {
            try current.sync()
        } catch {
            throw fail(error)
        }
    }

    /// Closes the files and gives up the lock; later appends throw `closed`.
    ///
    /// With relaxed durability everything is flushed first.
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

    /// Ends the segment behind its last whole batch, durably; the next batch begins another segment.
    ///
    /// A zero-filled segment has its blocks, but a file system that copies on write may want others.
    private func cutPartialBatch() throws(JournalError) {
        do throws(IOError) {
            try current.truncate(to: end)
            try current.sync()
        } catch {
            throw fail(error)
        }
        capacity = end
    }

    func fail(_ error: IOError) -> JournalError {
        let failure = JournalError.failed(error)
        self.failure = failure
        return failure
    }

    /// Has the next segment made once this one is a quarter full, in haste when it is nearly full.
    private func prepareSpare() {
        guard end > capacity / 4 else { return }
        maker.prepare(bytes: options.segmentBytes, inHaste: end > capacity / 4 * 3)
    }
}
