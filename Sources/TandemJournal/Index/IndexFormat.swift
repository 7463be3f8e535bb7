/// The layout of a segment's index.
///
/// The page `IndexFormat` explains it; a test compares the two.
enum IndexFormat {
    /// The format version that this code writes, and the only one it reads.
    static let version: UInt32 = 1
    /// The bytes "TANDEMI1".
    static let magic: UInt64 = 0x3149_4D45_444E_4154
    /// The size of the header and of each page of the body, in bytes.
    static let pageBytes = 4_096
    /// The number of a page's bytes that belong to the body; the rest is the page's checksum.
    static let pageBody = pageBytes - 4
    /// The size of a record of the directory or the marks: two numbers.
    static let recordBytes: UInt64 = 16
    /// The size at which a leaf is full: it ends with the entry that reaches this size.
    static let leafBytes = 512
    /// The distance between marks in the segment, in bytes, unless a batch is longer.
    static let markSpacing: UInt64 = 16_384
    /// The largest number of indexed members of one segment's payloads; building an index takes 16
    /// bytes of memory for each.
    ///
    /// A segment with more members is indexed by groups only.
    static let maximumPostings = 1 << 22

    /// The fields of the header.
    enum Header {
        static let magic = 0
        static let checksum = magic + 8
        static let formatVersion = checksum + 4
        static let logID = formatVersion + 4
        static let epoch = logID + 16
        static let salt = epoch + 4
        static let firstPosition = salt + 4
        static let nextPosition = firstPosition + 8
        static let endChecksum = nextPosition + 8
        static let flags = endChecksum + 4
        static let lowestStamp = flags + 4
        static let highestStamp = lowestStamp + 8
        static let leaves = highestStamp + 8
        static let marks = leaves + 8
        static let bodyBytes = marks + 8
        static let end = bodyBytes + 8
    }

    /// The flag of an index without members.
    static let withoutMembers: UInt32 = 1
    /// The flag of a segment in which no payload has a stamp.
    static let withoutStamps: UInt32 = 2

    /// Returns the checksum of a page of the body.
    ///
    /// The checksum begins with the segment's salt plus the page's number, so that a page from
    /// another index or at another offset fails the check.
    static func checksum(
        ofPage number: UInt64, _ page: UnsafeRawBufferPointer, salt: UInt32
    ) -> UInt32 {
        CRC32C.checksum(
            UnsafeRawBufferPointer(rebasing: page[..<pageBody]),
            salt: salt &+ UInt32(truncatingIfNeeded: number))
    }
}

/// The identity of an indexed segment, consisting of all values that differ between segments.
struct IndexedSegment: Hashable {
    var identity: LogIdentity
    var salt: UInt32
    var firstPosition: UInt64
    /// The position after the segment's last one.
    var nextPosition: UInt64
    /// The checksum of the segment's last batch.
    var endChecksum: UInt32

    /// Creates the identity of a segment that is sealed by the next one.
    init(_ header: SegmentHeader, before next: SegmentHeader) {
        identity = header.identity
        salt = header.salt
        firstPosition = header.firstPosition
        nextPosition = next.firstPosition
        assert(firstPosition < nextPosition, "A sealed segment has positions.")
        endChecksum = next.previousChecksum
    }

    /// Decodes the fields of an index's header.
    fileprivate init(_ page: UnsafeRawBufferPointer) {
        typealias Field = IndexFormat.Header
        identity = LogIdentity(
            high: page.get(UInt64.self, at: Field.logID).byteSwapped,
            low: page.get(UInt64.self, at: Field.logID + 8).byteSwapped,
            epoch: page.get(UInt32.self, at: Field.epoch))
        salt = page.get(UInt32.self, at: Field.salt)
        firstPosition = page.get(UInt64.self, at: Field.firstPosition)
        nextPosition = page.get(UInt64.self, at: Field.nextPosition)
        endChecksum = page.get(UInt32.self, at: Field.endChecksum)
    }

    /// The positions of the segment.
    var positions: Range<UInt64> { firstPosition..<nextPosition }
}

/// The header of an index.
struct IndexHeader: Hashable {
    var segment: IndexedSegment
    /// Whether the index has members.
    var hasMembers = true
    /// The lowest and highest stamps; nil if no payload has one.
    var stamps: ClosedRange<Int64>?
    /// The number of records in the directory.
    var leaves: UInt64 = 0
    /// The number of marks.
    var marks: UInt64 = 0
    /// The size of the body in bytes: entries, directory, marks.
    var bodyBytes: UInt64 = 0

    /// The start of the marks in the body.
    var marksStart: UInt64 { bodyBytes - marks * IndexFormat.recordBytes }
    /// The start of the directory in the body, which is the end of the entries.
    var leavesStart: UInt64 { marksStart - leaves * IndexFormat.recordBytes }
    /// The size of the file in bytes.
    var fileBytes: UInt64 {
        let pages = (bodyBytes + UInt64(IndexFormat.pageBody) - 1) / UInt64(IndexFormat.pageBody)
        return (pages + 1) * UInt64(IndexFormat.pageBytes)
    }

    init(_ segment: IndexedSegment) { self.segment = segment }

    /// Returns the header page with its checksum.
    func encoded() -> [UInt8] {
        typealias Field = IndexFormat.Header
        var bytes = [UInt8](repeating: 0, count: IndexFormat.pageBytes)
        let flags =
            (hasMembers ? 0 : IndexFormat.withoutMembers)
            | (stamps == nil ? IndexFormat.withoutStamps : 0)
        bytes.withUnsafeMutableBytes { page in
            page.put(IndexFormat.magic, at: Field.magic)
            page.put(IndexFormat.version, at: Field.formatVersion)
            page.put(segment.identity.high.byteSwapped, at: Field.logID)
            page.put(segment.identity.low.byteSwapped, at: Field.logID + 8)
            page.put(segment.identity.epoch, at: Field.epoch)
            page.put(segment.salt, at: Field.salt)
            page.put(segment.firstPosition, at: Field.firstPosition)
            page.put(segment.nextPosition, at: Field.nextPosition)
            page.put(segment.endChecksum, at: Field.endChecksum)
            page.put(flags, at: Field.flags)
            page.put(stamps?.lowerBound ?? 0, at: Field.lowestStamp)
            page.put(stamps?.upperBound ?? 0, at: Field.highestStamp)
            page.put(leaves, at: Field.leaves)
            page.put(marks, at: Field.marks)
            page.put(bodyBytes, at: Field.bodyBytes)
            page.put(Self.checksum(UnsafeRawBufferPointer(page)), at: Field.checksum)
        }
        return bytes
    }

    /// Decodes a header page.
    init(page bytes: [UInt8]) throws(IndexDamage) {
        typealias Field = IndexFormat.Header
        guard bytes.count == IndexFormat.pageBytes else {
            throw IndexDamage("the header is truncated")
        }
        let problem = bytes.withUnsafeBytes { Self.problem($0) }
        if let problem { throw IndexDamage(problem) }
        self = bytes.withUnsafeBytes { page in
            var header = IndexHeader(IndexedSegment(page))
            let flags = page.get(UInt32.self, at: Field.flags)
            header.hasMembers = flags & IndexFormat.withoutMembers == 0
            let stamps = (
                page.get(Int64.self, at: Field.lowestStamp),
                page.get(Int64.self, at: Field.highestStamp)
            )
            if flags & IndexFormat.withoutStamps == 0, stamps.0 <= stamps.1 {
                header.stamps = stamps.0...stamps.1
            }
            header.leaves = page.get(UInt64.self, at: Field.leaves)
            header.marks = page.get(UInt64.self, at: Field.marks)
            header.bodyBytes = page.get(UInt64.self, at: Field.bodyBytes)
            return header
        }
    }

    /// Returns the problem found in a header page, or nil if the page is valid.
    private static func problem(_ page: UnsafeRawBufferPointer) -> String? {
        typealias Field = IndexFormat.Header
        guard page.get(UInt64.self, at: Field.magic) == IndexFormat.magic else {
            return "the file does not begin with TANDEMI1"
        }
        guard page.get(UInt32.self, at: Field.checksum) == checksum(page) else {
            return "the checksum of the header does not match"
        }
        let version = page.get(UInt32.self, at: Field.formatVersion)
        guard version == IndexFormat.version else {
            return
                "the index has format version \(version), but this program supports \(IndexFormat.version)"
        }
        let (first, next) = (
            page.get(UInt64.self, at: Field.firstPosition),
            page.get(UInt64.self, at: Field.nextPosition)
        )
        guard first > 0, first < next, next < SegmentFormat.lastPosition else {
            return "the header has the invalid positions \(first)..<\(next)"
        }
        let counts = [Field.leaves, Field.marks, Field.bodyBytes].map {
            page.get(UInt64.self, at: $0)
        }
        guard counts.allSatisfy({ $0 < 1 << 40 }),
            (counts[0] + counts[1]) * IndexFormat.recordBytes <= counts[2]
        else { return "the directory and the marks do not fit into the file" }
        return nil
    }

    private static func checksum(_ page: UnsafeRawBufferPointer) -> UInt32 {
        CRC32C.checksum(
            UnsafeRawBufferPointer(rebasing: page[IndexFormat.Header.formatVersion...]))
    }
}
