import TandemIO

extension JournalReader {
    /// Reads the batch at the current offset, or determines why there is none.
    func advance() throws(JournalError) -> Step {
        guard let segment else { return try openSegment() }
        let read = try segment.readBatch(at: offset, after: chain)
        if case .batch(let header) = read { return .batch(header) }
        // The window may be older than the file, so the decision needs fresh bytes.
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
            return try ended(segment, following)
        case .bad(let problem): return try skip(segment, following, problem)
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
    private func openSegment() throws(JournalError) -> Step {
        if let known = known(holding: position) {
            return try open(known.lowerBound, following: known.upperBound)
        }
        let segments = try JournalDirectory.segments(in: directory, fileSystem)
        guard let oldest = segments.first else { return .tail }
        guard let first = segments.last(where: { $0 <= position }) else {
            throw .expired(directory, position, oldest: oldest)
        }
        return try open(first, following: segments.first { $0 > first })
    }

    /// Opens a segment; an unreadable header is a gap up to the next segment.
    private func open(_ first: UInt64, following: UInt64?) throws(JournalError) -> Step {
        assert(first <= position, "The opened segment begins at or before the position.")
        assert(following.map { $0 > first } ?? true, "The following segment begins later.")
        do throws(JournalError) {
            let opened = try SegmentFile(directory, first: first, fileSystem)
            try start(in: opened)
            segment = opened
            return .again
        } catch {
            guard error.code == .damaged else { throw error }
            return unreadable(first, following, error)
        }
    }

    /// Moves to the batch that contains the position, or to one shortly before it.
    private func start(in opened: SegmentFile) throws(JournalError) {
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

    private func unreadable(
        _ first: UInt64, _ following: UInt64?, _ error: JournalError
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
            Gap(
                path: error.path, offset: error.offset ?? 0, reason: error.message,
                firstMissing: missing, next: following))
    }

    /// Handles zeros: the next segment, the tail of the log, or a hole.
    private func ended(_ segment: SegmentFile, _ following: UInt64?) throws(JournalError) -> Step {
        // An epoch that begins in an empty segment replaces the file of the same name.
        if offset == UInt64(SegmentFormat.headerBytes), !reopened {
            reopened = true
            self.segment = nil
            return .again
        }
        guard let following else { return try endedLast(segment) }
        guard following == chain?.position ?? position else {
            return try skip(segment, following, "zeros in place of batches")
        }
        let before = chain
        let step = try open(following, following: try segmentBehind(following))
        if case .again = step, let before, let opened = self.segment,
            before != Chain(startOf: opened.header)
        {
            return .gap(
                gap(opened, 0, "the segment does not continue the previous one", position, position)
            )
        }
        return step
    }

    /// Handles zeros in the last segment, which may also be left by a lost write.
    private func endedLast(_ segment: SegmentFile) throws(JournalError) -> Step {
        reopened = false
        // A reader with a tail belongs to the daemon, whose recovery has already searched for lost
        // batches.
        if tail == nil, !searchedTail {
            searchedTail = true
            return try skip(segment, nil, "zeros in place of batches")
        }
        tailProblem = nil
        return .tail
    }

    private func segmentBehind(_ first: UInt64) throws(JournalError) -> UInt64? {
        if let known = known(holding: first) { return known.upperBound }
        return try JournalDirectory.segments(in: directory, fileSystem).first { $0 > first }
    }

    /// Reports a gap and continues after it, at the next whole batch or in the next segment.
    private func skip(
        _ segment: SegmentFile, _ following: UInt64?, _ reason: String
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
    ) -> Gap {
        Gap(
            path: segment.path, offset: offset, reason: reason, firstMissing: missing, next: next)
    }
}
