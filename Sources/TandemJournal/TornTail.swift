import TandemIO

/// Cuts a torn batch off a segment, and keeps a copy of it.
///
/// The copy also records which range must be zero on the disk: see ``repeatErasures(from:)``.
struct TornTail {
    private static let chunkBytes = 1 << 20
    /// The largest number of copies at one offset; more indicate another problem.
    private static let maximumCopies = 100

    private let place: JournalLocation
    private let segment: SegmentFile

    init(_ place: JournalLocation, _ segment: SegmentFile) {
        self.place = place
        self.segment = segment
    }

    /// Copies the range into a `.torn` file and fills the range with zeros, both durably on return.
    ///
    /// Returns the copy's path.
    func cut(_ range: Range<UInt64>) throws(JournalError) -> String {
        assert(
            range.lowerBound >= UInt64(SegmentFormat.headerBytes), "The header is never cut.")
        let path = try freeName(range.lowerBound)
        do throws(IOError) {
            try copy(range, to: path)
        } catch {
            // Nothing was cut, and an incomplete copy would only take up scarce space.
            try? place.fileSystem.remove(path)
            throw error.isOutOfSpace ? .noSpace(error) : .failed(error)
        }
        try converting(JournalError.failed) { () throws(IOError) in try erase(range) }
        segment.refresh()
        return path
    }

    /// Erases again the ranges after `end` that earlier recoveries cut off, durably on return.
    ///
    /// A recovery may have failed while flushing its zeros. In that case, the page cache has the
    /// zeros, but the disk may still have the torn batch, and no later flush would write the zeros.
    /// Each cut has a copy, which is durable before anything is erased, so the copies determine the
    /// ranges.
    func repeatErasures(from end: UInt64) throws(IOError) {
        let copies = try JournalDirectory.tornCopies(
            of: segment.header.firstPosition, in: place.directory, place.fileSystem)
        let size = try segment.file.size()
        for copy in copies {
            let file = try place.fileSystem.open(copy.path, .read)
            defer { file.close() }
            let upper = min(copy.offset + (try file.size()), size)
            let lower = max(copy.offset, end)
            if lower < upper { try erase(lower..<upper) }
        }
    }

    private func freeName(_ offset: UInt64) throws(JournalError) -> String {
        let base = "\(segment.path).\(JournalDirectory.hexadecimal(offset))"
        let suffix = JournalDirectory.tornSuffix
        for number in 1...Self.maximumCopies {
            let path = number == 1 ? base + suffix : "\(base).\(number)\(suffix)"
            if !place.fileSystem.exists(path) { return path }
        }
        throw .damaged(
            segment.path, at: offset,
            "there are already \(Self.maximumCopies) copies of torn batches")
    }

    private func copy(_ range: Range<UInt64>, to path: String) throws(IOError) {
        let copy = try place.fileSystem.open(path, .createNew)
        defer { copy.close() }
        try eachChunk(of: range) { (offset, count) throws(IOError) in
            let bytes = try segment.file.read(count: count, at: offset)
            try copy.write(bytes, at: offset - range.lowerBound)
        }
        try copy.sync()
        try place.fileSystem.syncDirectory(place.directory)
    }

    // A power cut at this point leaves a torn batch again, but the copy is complete.
    private func erase(_ range: Range<UInt64>) throws(IOError) {
        try writeZeros(range)
        try segment.file.sync()
    }

    private func writeZeros(_ range: Range<UInt64>) throws(IOError) {
        try eachChunk(of: range) { (offset, count) throws(IOError) in
            try segment.file.write([UInt8](repeating: 0, count: count), at: offset)
        }
    }

    private func eachChunk(
        of range: Range<UInt64>, _ body: (UInt64, Int) throws(IOError) -> Void
    ) throws(IOError) {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = Int(min(UInt64(Self.chunkBytes), range.upperBound - offset))
            try body(offset, count)
            offset += UInt64(count)
        }
        assert(offset == range.upperBound, "The chunks end where the range ends.")
    }
}
