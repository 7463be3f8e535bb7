/// Where everything lies in the index of a segment.
///
/// The page `IndexFormat` explains it; a test compares.
enum IndexFormat {
    /// The format this code writes, and the only one it reads.
    static let version: UInt32 = 1
    /// "TANDEMI1" as it stands in the file.
    static let magic: UInt64 = 0x3149_4D45_444E_4154
    /// Header and every page of the body have this size.
    static let pageBytes = 4_096
    /// So much of a page is the body's, the rest its checksum.
    static let pageBody = pageBytes - 4
    /// A record of directory or marks: two numbers.
    static let recordBytes: UInt64 = 16
    /// A leaf ends behind the entry with which it has so many bytes.
    static let leafBytes = 512
    /// Marks lie so far apart in the segment, but where a batch is longer.
    static let markSpacing: UInt64 = 16_384
    /// Members of more than so many payloads of one segment are not told apart: making the index takes 16 bytes for each.
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

    /// Set where members are not told apart.
    static let withoutMembers: UInt32 = 1
    /// Set where no payload has a stamp.
    static let withoutStamps: UInt32 = 2

    /// The checksum of a page of the body; it begins with the segment's salt and the page's number, so that a page of another
    /// index or another place does not pass.
    static func checksum(
        ofPage number: UInt64, _ page: UnsafeRawBufferPointer, salt: UInt32
    ) -> UInt32 {
        CRC32C.checksum(
            UnsafeRawBufferPointer(rebasing: page[..<pageBody]),
            salt: salt &+ UInt32(truncatingIfNeeded: number))
    }
}

/// Which segment an index is of: all that would differ if it were another.
struct IndexedSegment: Hashable {
    var identity: LogIdentity
    var salt: UInt32
    var firstPosition: UInt64
    /// The position behind its last.
    var nextPosition: UInt64
    /// The checksum of its last batch.
    var endChecksum: UInt32

    /// The segment with a header, which is sealed by the one that follows it.
    init(_ header: SegmentHeader, before next: SegmentHeader) {
        identity = header.identity
        salt = header.salt
        firstPosition = header.firstPosition
        nextPosition = next.firstPosition
        endChecksum = next.previousChecksum
    }

    /// Reads the fields of an index's header.
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

    /// Its positions.
    var positions: Range<UInt64> { firstPosition..<nextPosition }
}

/// The head of an index.
struct IndexHeader: Hashable {
    var segment: IndexedSegment
    /// Whether members are told apart.
    var hasMembers = true
    /// The lowest and the highest stamp; nil where no payload has one.
    var stamps: ClosedRange<Int64>?
    /// How many records the directory has.
    var leaves: UInt64 = 0
    /// How many records the marks have.
    var marks: UInt64 = 0
    /// How long the body is: entries, directory, marks.
    var bodyBytes: UInt64 = 0

    /// Where the marks begin in the body.
    var marksStart: UInt64 { bodyBytes - marks * IndexFormat.recordBytes }
    /// Where the directory begins in the body, and the entries end.
    var leavesStart: UInt64 { marksStart - leaves * IndexFormat.recordBytes }
    /// How big the file is.
    var fileBytes: UInt64 {
        let pages = (bodyBytes + UInt64(IndexFormat.pageBody) - 1) / UInt64(IndexFormat.pageBody)
        return (pages + 1) * UInt64(IndexFormat.pageBytes)
    }

    init(_ segment: IndexedSegment) { self.segment = segment }

    /// The header page with its checksum.
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

    /// Reads a header page.
    init(page bytes: [UInt8]) throws(IndexDamage) {
        typealias Field = IndexFormat.Header
        guard bytes.count == IndexFormat.pageBytes else {
            throw IndexDamage("the header is cut off")
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

    /// What is wrong with a page that is to be a header.
    private static func problem(_ page: UnsafeRawBufferPointer) -> String? {
        typealias Field = IndexFormat.Header
        guard page.get(UInt64.self, at: Field.magic) == IndexFormat.magic else {
            return "it does not begin with TANDEMI1"
        }
        guard page.get(UInt32.self, at: Field.checksum) == checksum(page) else {
            return "the checksum of its header does not match"
        }
        let version = page.get(UInt32.self, at: Field.formatVersion)
        guard version == IndexFormat.version else {
            return "format version \(version), this program reads \(IndexFormat.version)"
        }
        let (first, next) = (
            page.get(UInt64.self, at: Field.firstPosition),
            page.get(UInt64.self, at: Field.nextPosition)
        )
        guard first > 0, first < next, next < SegmentFormat.lastPosition else {
            return "it claims positions from \(first) to before \(next)"
        }
        let counts = [Field.leaves, Field.marks, Field.bodyBytes].map {
            page.get(UInt64.self, at: $0)
        }
        guard counts.allSatisfy({ $0 < 1 << 40 }),
            (counts[0] + counts[1]) * IndexFormat.recordBytes <= counts[2]
        else { return "it claims parts that don't fit into it" }
        return nil
    }

    private static func checksum(_ page: UnsafeRawBufferPointer) -> UInt32 {
        CRC32C.checksum(
            UnsafeRawBufferPointer(rebasing: page[IndexFormat.Header.formatVersion...]))
    }
}
