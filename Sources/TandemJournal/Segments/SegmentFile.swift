import TandemIO

/// The data at an offset of a segment.
enum BatchRead {
    /// A batch whose checksum matches and that continues the given chain.
    case batch(BatchHeader)
    /// Zeros instead of a header, or too few bytes for one.
    case end
    /// Anything else, with a description.
    case bad(String)
}

/// A segment opened for reading through a window of bytes.
///
/// It reports damage, and leaves decisions to its callers.
final class SegmentFile {
    /// The read-ahead of readers, in bytes.
    static let readerWindow = 65_536
    /// The read-ahead of recovery, which reads whole segments.
    static let recoveryWindow = 1 << 20

    let file: any File
    let header: SegmentHeader
    var path: String { file.path }
    let windowBytes: Int
    /// The buffer of the window; it grows to the largest batch read.
    private var buffer: UnsafeMutableRawBufferPointer
    private var windowStart: UInt64 = 0
    private var windowCount = 0

    /// Opens a segment and reads its header, which must agree with its name.
    init(
        _ directory: String, first: UInt64, _ fileSystem: any FileSystem, mode: OpenMode = .read,
        window: Int = SegmentFile.readerWindow
    ) throws(JournalError) {
        let path = directory + "/" + JournalDirectory.name(of: first)
        let file = try converting(JournalError.unreadable) { () throws(IOError) in
            try fileSystem.open(path, mode)
        }
        let page = try converting(JournalError.unreadable) { () throws(IOError) in
            try file.read(count: SegmentFormat.headerBytes, at: 0)
        }
        switch page.withUnsafeBytes({ SegmentHeader.decode($0) }) {
        case .success(let header):
            guard header.firstPosition == first else {
                throw .damaged(
                    path, at: UInt64(SegmentFormat.Segment.firstPosition),
                    "the header has first position \(header.firstPosition), but the name has \(first)"
                )
            }
            self.file = file
            self.header = header
            windowBytes = window
            buffer = .allocate(byteCount: window, alignment: 8)
        case .failure(.damaged(let message)): throw .damaged(path, at: 0, message)
        case .failure(.version(let version)):
            throw JournalError(
                .unsupportedVersion, path, at: UInt64(SegmentFormat.Segment.formatVersion),
                "the segment has format version \(version), but this program supports \(SegmentFormat.version)",
                remedy: "Use the version of Tandem that wrote it.")
        }
    }

    deinit { buffer.deallocate() }

    /// Discards the window, so that the next read returns the file's current bytes.
    func refresh() { windowCount = 0 }

    /// Reads the batch at an offset; if a chain is given, the batch must continue it.
    func readBatch(at offset: UInt64, after chain: Chain?) throws(JournalError) -> BatchRead {
        let headerBytes = SegmentFormat.Batch.body
        guard let start = try load(offset, headerBytes) else { return .end }
        let head = bytes(start, headerBytes)
        if head.isZero { return .end }
        guard let header = BatchHeader(head) else {
            return .bad("the batch does not begin with BTCH")
        }
        guard Int(header.length) <= SegmentFormat.maximumBodyBytes else {
            return .bad("the batch header has the invalid length \(header.length)")
        }
        guard try fileContains(offset, header.frameBytes) else {
            return .bad("the batch of \(header.length) bytes is truncated")
        }
        guard let frame = try load(offset, header.frameBytes) else {
            return .bad("the batch of \(header.length) bytes is truncated")
        }
        let checksum = BatchHeader.checksum(
            of: bytes(frame, header.frameBytes), salt: self.header.salt)
        guard checksum == header.checksum else {
            return .bad("the checksum of batch \(header.batchNumber) does not match")
        }
        guard header.count > 0 else { return .bad("batch \(header.batchNumber) is empty") }
        guard header.firstPosition <= SegmentFormat.lastPosition - UInt64(header.count),
            header.batchNumber < SegmentFormat.lastPosition
        else {
            return .bad(
                "batch \(header.batchNumber) at position \(header.firstPosition) is out of range")
        }
        return Self.check(header, chain)
    }

    private static func check(_ header: BatchHeader, _ chain: Chain?) -> BatchRead {
        guard let chain else { return .batch(header) }
        guard header.batchNumber == chain.batchNumber else {
            return .bad("found batch \(header.batchNumber), expected \(chain.batchNumber)")
        }
        guard header.firstPosition == chain.position else {
            return .bad("found position \(header.firstPosition), expected \(chain.position)")
        }
        guard header.previousChecksum == chain.checksum else {
            return .bad("batch \(header.batchNumber) does not continue the previous one")
        }
        return .batch(header)
    }

    /// Returns a copy of the bytes of a batch just read.
    func frame(at offset: UInt64, _ header: BatchHeader) throws(JournalError) -> [UInt8]? {
        guard let start = try load(offset, header.frameBytes) else { return nil }
        return Array(bytes(start, header.frameBytes))
    }

    /// Returns the offset after the last non-zero byte at or above `offset`; nil if there is none.
    func endOfContent(from offset: UInt64) throws(JournalError) -> UInt64? {
        var end: UInt64?
        var offset = offset
        while let range = try loadWindow(at: offset) {
            if let last = bytes(range.lowerBound, range.count).lastNonZero {
                end = offset + UInt64(last) + 1
            }
            offset += UInt64(range.count)
        }
        return end
    }

    /// Whether the file has `count` bytes at an offset; checked before memory is allocated for
    /// them.
    private func fileContains(_ offset: UInt64, _ count: Int) throws(JournalError) -> Bool {
        if isLoaded(offset, count) { return true }
        return offset + UInt64(count) <= (try size())
    }

    /// Returns the file's current size in bytes.
    func size() throws(JournalError) -> UInt64 {
        try converting(JournalError.unreadable) { () throws(IOError) in try file.size() }
    }

    /// Returns the index in the window of `count` bytes at an offset, or nil if the file ends
    /// first.
    private func load(_ offset: UInt64, _ count: Int) throws(JournalError) -> Int? {
        if isLoaded(offset, count) { return Int(offset - windowStart) }
        let wanted = max(count, windowBytes)
        if wanted > buffer.count {
            buffer.deallocate()
            buffer = .allocate(byteCount: wanted, alignment: 8)
        }
        windowCount = 0
        windowStart = offset
        windowCount = try converting(JournalError.unreadable) { () throws(IOError) in
            try file.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
        }
        assert(windowCount <= buffer.count, "The window fits into its buffer.")
        return windowCount >= count ? 0 : nil
    }

    private func isLoaded(_ offset: UInt64, _ count: Int) -> Bool {
        offset >= windowStart && offset + UInt64(count) <= windowStart + UInt64(windowCount)
    }

    /// Loads the bytes at an offset into the window, and returns their indices; nil at the end of
    /// the file.
    func loadWindow(at offset: UInt64) throws(JournalError) -> Range<Int>? {
        guard let start = try load(offset, 1) else { return nil }
        return start..<windowCount
    }

    /// Returns bytes of the window, valid until the next read.
    func bytes(_ start: Int, _ count: Int) -> UnsafeRawBufferPointer {
        assert(start + count <= windowCount, "Only bytes that were just read are returned.")
        return UnsafeRawBufferPointer(rebasing: buffer[start..<start + count])
    }

    /// Calls `body` with `count` bytes at an offset; returns nil if the file ends first.
    func withBytes<Result>(
        at offset: UInt64, count: Int, _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(JournalError) -> Result? {
        guard let start = try load(offset, count) else { return nil }
        return body(bytes(start, count))
    }
}
