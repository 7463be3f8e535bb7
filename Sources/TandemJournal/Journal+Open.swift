public import TandemIO

extension Journal {
    /// Opens and recovers the journal in a directory, which is created if missing.
    ///
    /// `appliedPosition` is the last position that the store has applied; a log that ends before it
    /// is refused. Throws `damaged` or `missing`, with nothing changed, for any damage except a
    /// torn last batch.
    public static func open(
        directory: String, fileSystem: any FileSystem, options: JournalOptions = JournalOptions(),
        identityIfNew: LogIdentity, appliedPosition: UInt64?
    ) throws(JournalError) -> (journal: Journal, report: RecoveryReport) {
        let smallest = SegmentFormat.headerBytes + SegmentFormat.Batch.body
        precondition(
            options.segmentBytes >= smallest, "A segment must have at least \(smallest) bytes.")
        precondition(options.firstPositionIfNew > 0, "Positions must begin at 1.")
        let place = JournalLocation(directory: directory, fileSystem: fileSystem, options: options)
        let lock = try prepareDirectory(place)
        try removeSpare(place)
        let segments = try JournalDirectory.segments(in: directory, fileSystem)
        let wasRelaxed = fileSystem.exists(directory + "/" + JournalDirectory.relaxedName)
        var recovery = Recovery(place, wasRelaxed: wasRelaxed)
        let log: RecoveredLog
        if segments.isEmpty {
            log = try create(place, identityIfNew, appliedPosition, recovery.index)
            recovery.report.created = true
            recovery.report.bounds = LogBounds(
                first: log.chain.position, last: log.chain.position - 1)
        } else {
            log = try recovery.run(segments, appliedPosition: appliedPosition)
        }
        let journal = Journal(log, lock: lock, place)
        if wasRelaxed && !segments.isEmpty {
            try journal.beginEpoch()
            recovery.report.raisedEpoch = true
        }
        try journal.markRelaxed(wasRelaxed)
        let oldest = OldestPosition(directory, fileSystem)
        recovery.report.missing = oldest.missing(before: journal.bounds.first)?.message
        if recovery.report.created || oldest.recorded == nil { oldest.record(journal.bounds.first) }
        JournalDirectory.removeOrphans(in: directory, fileSystem)
        journal.startIndexing()
        return (journal, recovery.report)
    }

    private static func prepareDirectory(
        _ place: JournalLocation
    ) throws(JournalError) -> any FileLock {
        do throws(IOError) {
            try place.fileSystem.createDirectory(place.directory, mode: 0o700)
            return try place.fileSystem.lock(place.directory + "/" + JournalDirectory.lockName)
        } catch {
            guard error.isLocked else { throw .unreadable(error) }
            throw JournalError(
                .locked, place.directory, "\(error)",
                remedy: "Stop the other process first; tools can read without the lock.",
                cause: error)
        }
    }

    private static func removeSpare(_ place: JournalLocation) throws(JournalError) {
        let path = place.directory + "/" + JournalDirectory.spareName
        guard place.fileSystem.exists(path) else { return }
        try converting(JournalError.unreadable) { () throws(IOError) in
            try place.fileSystem.remove(path)
        }
    }

    private static func create(
        _ place: JournalLocation, _ identity: LogIdentity, _ applied: UInt64?, _ index: JournalIndex
    ) throws(JournalError) -> RecoveredLog {
        let first = place.options.firstPositionIfNew
        if let applied, applied >= first {
            throw JournalError(
                .missing, place.directory,
                "there is no segment, but the store is at position \(applied)",
                remedy: JournalError.salvage)
        }
        let header = SegmentHeader(
            identity: identity, previousChecksum: 0, firstPosition: first, firstBatch: 1,
            salt: place.options.makeSalt())
        do throws(IOError) {
            let maker = SegmentMaker(directory: place.directory, fileSystem: place.fileSystem)
            let spare = try maker.claim(bytes: place.options.segmentBytes)
            let made = try OpenSegment.install(header, spare, place.directory, place.fileSystem)
            try place.fileSystem.syncDirectory(place.directory)
            return RecoveredLog(
                sealed: [], current: made, identity: identity, chain: Chain(startOf: header),
                index: index)
        } catch {
            throw error.isOutOfSpace ? .noSpace(error) : .failed(error)
        }
    }
}
