import TandemIO

/// A recovered log, ready for the writer.
struct RecoveredLog {
    var sealed: [JournalSegment]
    /// The last segment, to which the writer appends.
    var current: OpenSegment
    var identity: LogIdentity
    var chain: Chain
    var index: JournalIndex
}

/// Opens a log after any interruption.
///
/// This is the only code that shortens a segment.
///
/// The rules, numbered as in the page `SegmentFormat`:
/// 1. Each segment continues the previous one: the log id is the same, the epoch is not lower, and
///    first position, first batch number and previous checksum match its end. Anything else is
///    damage.
/// 2. Only zeros follow the last batch of a segment. In a segment that is not the last, anything
///    else is damage, because a segment begins only after the previous one was flushed.
/// 3. In the last segment, the bytes after the last whole batch are a torn batch, and are cut off.
///    If a later batch is whole, however, an acknowledged batch is damaged.
/// 4. The last remaining batch is written again and flushed, because the page cache may hold data
///    that a failed flush did not write to the disk. After relaxed durability, the whole last
///    segment is written again. For the same reason, everything ever cut off the last segment is
///    cut off again.
/// 5. A damaged log is rejected, and nothing is changed.
struct Recovery {
    let place: JournalLocation
    /// Whether the log was last written with relaxed durability and then not closed.
    let wasRelaxed: Bool
    let index = JournalIndex()
    var report = RecoveryReport()
    private var sealed: [JournalSegment] = []
    private var lastBatch: (segment: UInt64, offset: UInt64, header: BatchHeader)?

    init(_ place: JournalLocation, wasRelaxed: Bool) {
        self.place = place
        self.wasRelaxed = wasRelaxed
    }

    /// Checks all segments, cuts a torn batch, and throws if it finds damage.
    mutating func run(
        _ segments: [UInt64], appliedPosition: UInt64?
    ) throws(JournalError) -> RecoveredLog {
        assert(!segments.isEmpty, "A log to recover has at least one segment.")
        let last = try checkSegments(segments)
        assert(
            sealed.count == segments.count - 1 && last.header.firstPosition == segments.last,
            "All segments but the last are sealed.")
        let stop = try walk(last)
        let torn = try tornRange(last, stop)
        if let appliedPosition { try check(stop.chain, covers: appliedPosition, last, stop.offset) }
        if let torn { try cut(last, torn) }
        try rewriteUnsyncedTail(last, end: stop.offset)
        let capacity = try last.size()
        report.bounds = LogBounds(first: segments[0], last: stop.chain.position - 1)
        return RecoveredLog(
            sealed: sealed,
            current: OpenSegment(last.file, last.header, end: stop.offset, capacity: capacity),
            identity: last.header.identity, chain: stop.chain, index: index)
    }

    private func open(
        _ first: UInt64, _ mode: OpenMode, readsAll: Bool = false
    ) throws(JournalError) -> SegmentFile {
        try SegmentFile(
            place.directory, first: first, place.fileSystem, mode: mode,
            window: readsAll ? SegmentFile.recoveryWindow : SegmentFile.readerWindow)
    }

    /// Checks that each segment continues the previous one; returns the last one, which stays open.
    private mutating func checkSegments(_ segments: [UInt64]) throws(JournalError) -> SegmentFile {
        let isFull = place.options.verification == .full
        var segment = try open(
            segments[0], segments.count == 1 ? .readWrite : .read,
            readsAll: isFull || segments.count == 1)
        guard segment.header.firstPosition > 0 else {
            throw .damaged(segment.path, at: 0, "positions begin at 1, not at 0")
        }
        for first in segments.dropFirst() {
            let isLast = first == segments[segments.count - 1]
            let next = try open(first, isLast ? .readWrite : .read, readsAll: isFull || isLast)
            try checkIdentity(next, after: segment.header)
            if isFull {
                try checkChain(next, after: try readSealedSegment(segment))
            } else {
                try checkEnd(of: segment, before: next)
            }
            sealed.append(
                JournalSegment(
                    first: segment.header.firstPosition, last: first - 1,
                    bytes: try segment.size()))
            segment.file.close()
            segment = next
        }
        return segment
    }

    // Rule 1.
    private func checkIdentity(
        _ segment: SegmentFile, after previous: SegmentHeader
    ) throws(JournalError) {
        let identity = segment.header.identity
        guard identity.isSameLog(as: previous.identity) else {
            throw .damaged(segment.path, at: 0, "the segment belongs to another log")
        }
        guard identity.epoch >= previous.identity.epoch else {
            throw .damaged(
                segment.path, at: 0,
                "the segment has epoch \(identity.epoch), but the previous segment has epoch \(previous.identity.epoch)"
            )
        }
    }

    private func checkChain(
        _ segment: SegmentFile, after chain: Chain
    ) throws(JournalError) {
        let header = segment.header
        guard chain != Chain(startOf: header) else { return }
        throw .damaged(
            segment.path, at: 0,
            "the segment begins with batch \(header.firstBatch) at position "
                + "\(header.firstPosition) after checksum \(header.previousChecksum), but the previous "
                + "segment ends before batch \(chain.batchNumber) at position \(chain.position) "
                + "with checksum \(chain.checksum)")
    }

    // Rules 1 and 2, checked only at the end of the segment.
    private mutating func checkEnd(
        of segment: SegmentFile, before next: SegmentFile
    ) throws(JournalError) {
        guard let last = try segment.lastBatch(before: next.header) else {
            throw .damaged(
                next.path, at: 0,
                "the segment begins with batch \(next.header.firstBatch) at position "
                    + "\(next.header.firstPosition) after checksum "
                    + "\(next.header.previousChecksum), but \(segment.path) does not end there")
        }
        lastBatch = (segment.header.firstPosition, last.offset, last.header)
    }

    private typealias Stop = (offset: UInt64, chain: Chain, problem: String?)

    /// Reads the batches of a segment up to the first that is not whole.
    private mutating func walk(_ segment: SegmentFile) throws(JournalError) -> Stop {
        var chain = Chain(startOf: segment.header)
        var offset = UInt64(SegmentFormat.headerBytes)
        while true {
            switch try segment.readBatch(at: offset, after: chain) {
            case .end: return (offset, chain, nil)
            case .bad(let problem): return (offset, chain, problem)
            case .batch(let header):
                assert(
                    header.batchNumber == chain.batchNumber
                        && header.firstPosition == chain.position,
                    "A batch that is read with a chain continues that chain.")
                let first = segment.header.firstPosition
                index.addMark(segment: first, position: header.firstPosition, offset: offset)
                lastBatch = (first, offset, header)
                chain = Chain(after: header)
                offset += UInt64(header.frameBytes)
            }
        }
    }

    // Rule 2.
    private mutating func readSealedSegment(_ segment: SegmentFile) throws(JournalError) -> Chain {
        let stop = try walk(segment)
        if let problem = stop.problem {
            throw .damaged(segment.path, at: stop.offset, problem)
        }
        if try segment.endOfContent(from: stop.offset) != nil {
            throw .damaged(
                segment.path, at: stop.offset,
                "expected zeros up to the end of the segment, or batch \(stop.chain.batchNumber)")
        }
        return stop.chain
    }

    // Rule 3.
    private func tornRange(
        _ segment: SegmentFile, _ stop: Stop
    ) throws(JournalError) -> Range<UInt64>? {
        guard let end = try segment.endOfContent(from: stop.offset) else { return nil }
        let later = try segment.nextBatch(above: stop.offset, number: stop.chain.batchNumber)
        if let later, !wasRelaxed {
            throw .damaged(
                segment.path, at: stop.offset,
                "\(stop.problem ?? "zeros in place of batch \(stop.chain.batchNumber)"), but batch "
                    + "\(later.header.batchNumber) at offset \(later.offset) is complete")
        }
        return stop.offset..<end
    }

    private func check(
        _ chain: Chain, covers applied: UInt64, _ segment: SegmentFile, _ offset: UInt64
    ) throws(JournalError) {
        guard applied >= chain.position else { return }
        throw JournalError(
            .missing, segment.path, at: offset,
            "the log ends at position \(chain.position - 1), but the store is at position \(applied)",
            remedy: JournalError.salvage)
    }

    private mutating func cut(
        _ segment: SegmentFile, _ range: Range<UInt64>
    ) throws(JournalError) {
        report.cutOffset = range.lowerBound
        report.tornCopy = try TornTail(place, segment).cut(range)
    }

    // Rule 4.
    private func rewriteUnsyncedTail(_ last: SegmentFile, end: UInt64) throws(JournalError) {
        last.refresh()
        try converting(JournalError.failed) { () throws(IOError) in
            try place.fileSystem.syncDirectory(place.directory)
            // An append that found no space may have ended the segment here.
            if try last.file.size() == end { try last.file.truncate(to: end) }
            try TornTail(place, last).repeatErasures(from: end)
        }
        if wasRelaxed { try rewriteAll(last, end: end) } else { try rewriteLastBatch(last) }
    }

    /// Writes the whole segment again, because with relaxed durability a failed flush may have lost
    /// any of its batches.
    private func rewriteAll(_ segment: SegmentFile, end: UInt64) throws(JournalError) {
        var offset: UInt64 = 0
        while offset < end, let range = try segment.loadWindow(at: offset) {
            let count = min(range.count, Int(end - offset))
            let bytes = segment.bytes(range.lowerBound, count)
            try converting(JournalError.failed) { () throws(IOError) in
                try segment.file.write(bytes, at: offset)
            }
            offset += UInt64(count)
        }
        assert(offset == end, "The whole segment was written again, and nothing beyond its end.")
        try converting(JournalError.failed) { () throws(IOError) in try segment.file.sync() }
    }

    private func rewriteLastBatch(_ last: SegmentFile) throws(JournalError) {
        guard let lastBatch else {
            try rewrite(last, 0, last.header.encoded())
            return
        }
        let holder =
            lastBatch.segment == last.header.firstPosition
            ? last : try open(lastBatch.segment, .readWrite)
        guard let frame = try holder.frame(at: lastBatch.offset, lastBatch.header) else { return }
        try rewrite(holder, lastBatch.offset, frame)
        if holder !== last { try rewrite(last, 0, last.header.encoded()) }
    }

    private func rewrite(
        _ segment: SegmentFile, _ offset: UInt64, _ bytes: [UInt8]
    ) throws(JournalError) {
        try converting(JournalError.failed) { () throws(IOError) in
            try segment.file.write(bytes, at: offset)
            try segment.file.sync()
        }
    }
}
