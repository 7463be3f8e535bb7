import TandemIO

/// The layout of a segment.
///
/// The page `SegmentFormat` explains it; a test compares the two.
///
/// All numbers are little-endian. Each offset is derived from the previous one.
enum SegmentFormat {
    /// The format version that this code writes, and the only one it reads.
    static let version: UInt32 = 1

    /// The segment header fills a page, so that no batch shares one with it.
    static let headerBytes = 4_096
    /// The bytes "TANDEMJ1".
    static let segmentMagic: UInt64 = 0x314A_4D45_444E_4154

    /// The fields of the segment header.
    enum Segment {
        static let magic = 0
        static let checksum = magic + 8
        static let formatVersion = checksum + 4
        static let logID = formatVersion + 4
        static let epoch = logID + 16
        static let previousChecksum = epoch + 4
        static let firstPosition = previousChecksum + 4
        static let firstBatch = firstPosition + 8
        static let salt = firstBatch + 8
        static let reserved = salt + 4
    }

    /// The bytes "BTCH".
    static let batchMagic: UInt32 = 0x4843_5442
    /// The alignment of batches, so that a search can step by eight bytes.
    static let alignment = 8

    /// The fields of the batch header.
    enum Batch {
        static let magic = 0
        static let checksum = magic + 4
        static let length = checksum + 4
        static let count = length + 4
        static let batchNumber = count + 4
        static let firstPosition = batchNumber + 8
        static let previousChecksum = firstPosition + 8
        static let reserved = previousChecksum + 4
        static let body = reserved + 4
    }

    /// The size of the length before each payload, in bytes.
    static let payloadPrefixBytes = 4
    /// The largest position or batch number, chosen so that derived numbers can't overflow.
    static let lastPosition = UInt64(Int64.max)
    /// The longest body in bytes: lengths stay below 2³¹ after rounding.
    static let maximumBodyBytes = 1 << 30

    /// Returns the size of a batch in the file: header, body and padding.
    static func frameBytes(body: Int) -> Int {
        (Batch.body + body + alignment - 1) & ~(alignment - 1)
    }
}

/// The header of a segment.
struct SegmentHeader: Hashable {
    var identity: LogIdentity
    var previousChecksum: UInt32
    var firstPosition: UInt64
    var firstBatch: UInt64
    var salt: UInt32

    /// Returns the header page with its checksum.
    func encoded() -> [UInt8] {
        typealias Field = SegmentFormat.Segment
        var bytes = [UInt8](repeating: 0, count: SegmentFormat.headerBytes)
        bytes.withUnsafeMutableBytes { page in
            page.put(SegmentFormat.segmentMagic, at: Field.magic)
            page.put(SegmentFormat.version, at: Field.formatVersion)
            page.put(identity.high.byteSwapped, at: Field.logID)
            page.put(identity.low.byteSwapped, at: Field.logID + 8)
            page.put(identity.epoch, at: Field.epoch)
            page.put(previousChecksum, at: Field.previousChecksum)
            page.put(firstPosition, at: Field.firstPosition)
            page.put(firstBatch, at: Field.firstBatch)
            page.put(salt, at: Field.salt)
            let covered = UnsafeRawBufferPointer(rebasing: page[Field.formatVersion...])
            page.put(CRC32C.checksum(covered), at: Field.checksum)
        }
        return bytes
    }

    /// Decodes a header page; fails with a description if the page is not a valid header.
    static func decode(_ page: UnsafeRawBufferPointer) -> Result<SegmentHeader, FormatProblem> {
        typealias Field = SegmentFormat.Segment
        guard page.count == SegmentFormat.headerBytes else {
            return .failure(.damaged("the segment header is truncated"))
        }
        guard page.get(UInt64.self, at: Field.magic) == SegmentFormat.segmentMagic else {
            return .failure(.damaged("the segment does not begin with TANDEMJ1"))
        }
        let covered = UnsafeRawBufferPointer(rebasing: page[Field.formatVersion...])
        let version = page.get(UInt32.self, at: Field.formatVersion)
        let matches = CRC32C.checksum(covered) == page.get(UInt32.self, at: Field.checksum)
        guard matches else {
            return .failure(.damaged("the checksum of the segment header does not match"))
        }
        guard version == SegmentFormat.version else { return .failure(.version(version)) }
        let first = page.get(UInt64.self, at: Field.firstPosition)
        guard max(first, page.get(UInt64.self, at: Field.firstBatch)) < SegmentFormat.lastPosition
        else { return .failure(.damaged("the header has the invalid first position \(first)")) }
        guard page.get(UInt32.self, at: Field.epoch) < .max else {
            return .failure(.damaged("the header has the largest epoch, which is not used"))
        }
        let identity = LogIdentity(
            high: page.get(UInt64.self, at: Field.logID).byteSwapped,
            low: page.get(UInt64.self, at: Field.logID + 8).byteSwapped,
            epoch: page.get(UInt32.self, at: Field.epoch))
        return .success(
            SegmentHeader(
                identity: identity,
                previousChecksum: page.get(UInt32.self, at: Field.previousChecksum),
                firstPosition: first,
                firstBatch: page.get(UInt64.self, at: Field.firstBatch),
                salt: page.get(UInt32.self, at: Field.salt)))
    }
}

extension SegmentHeader {
    /// Returns the header of the segment at a position; nil if it is unreadable or belongs to
    /// another segment.
    static func read(
        _ directory: String, first: UInt64, _ fileSystem: any FileSystem
    ) -> SegmentHeader? {
        let path = directory + "/" + JournalDirectory.name(of: first)
        guard let file = try? fileSystem.open(path, .read) else { return nil }
        defer { file.close() }
        guard let page = try? file.read(count: SegmentFormat.headerBytes, at: 0),
            case .success(let header) = page.withUnsafeBytes({ decode($0) }),
            header.firstPosition == first
        else { return nil }
        return header
    }
}

/// A violation of the format.
enum FormatProblem: Error, Hashable {
    case damaged(String)
    case version(UInt32)
}

/// The header of a batch.
struct BatchHeader: Hashable {
    var checksum: UInt32 = 0
    var length: UInt32
    var count: UInt32
    var batchNumber: UInt64
    var firstPosition: UInt64
    var previousChecksum: UInt32

    /// The size of the batch in the file.
    var frameBytes: Int { SegmentFormat.frameBytes(body: Int(length)) }

    /// The position of the batch's last payload.
    var lastPosition: UInt64 { firstPosition &+ UInt64(count) &- 1 }

    /// Decodes a header; checks only its magic.
    init?(_ bytes: UnsafeRawBufferPointer) {
        typealias Field = SegmentFormat.Batch
        guard bytes.count >= Field.body,
            bytes.get(UInt32.self, at: Field.magic) == SegmentFormat.batchMagic
        else { return nil }
        checksum = bytes.get(UInt32.self, at: Field.checksum)
        length = bytes.get(UInt32.self, at: Field.length)
        count = bytes.get(UInt32.self, at: Field.count)
        batchNumber = bytes.get(UInt64.self, at: Field.batchNumber)
        firstPosition = bytes.get(UInt64.self, at: Field.firstPosition)
        previousChecksum = bytes.get(UInt32.self, at: Field.previousChecksum)
    }

    init(
        length: Int, count: Int, batchNumber: UInt64, firstPosition: UInt64,
        previousChecksum: UInt32
    ) {
        assert(count > 0, "A batch has at least one payload.")
        assert(
            length >= count * SegmentFormat.payloadPrefixBytes,
            "The body has a length for each payload.")
        self.length = UInt32(length)
        self.count = UInt32(count)
        self.batchNumber = batchNumber
        self.firstPosition = firstPosition
        self.previousChecksum = previousChecksum
    }

    /// Writes the header before a frame's body, and returns the checksum.
    func seal(_ frame: UnsafeMutableRawBufferPointer, salt: UInt32) -> UInt32 {
        typealias Field = SegmentFormat.Batch
        assert(frame.count == frameBytes, "The frame is the header, the body and the padding.")
        frame.put(SegmentFormat.batchMagic, at: Field.magic)
        frame.put(length, at: Field.length)
        frame.put(count, at: Field.count)
        frame.put(batchNumber, at: Field.batchNumber)
        frame.put(firstPosition, at: Field.firstPosition)
        frame.put(previousChecksum, at: Field.previousChecksum)
        frame.put(UInt32(0), at: Field.reserved)
        let checksum = Self.checksum(of: UnsafeRawBufferPointer(frame), salt: salt)
        frame.put(checksum, at: Field.checksum)
        return checksum
    }

    /// Returns the checksum that a whole frame, including padding, should have.
    static func checksum(of frame: UnsafeRawBufferPointer, salt: UInt32) -> UInt32 {
        CRC32C.checksum(
            UnsafeRawBufferPointer(rebasing: frame[SegmentFormat.Batch.length...]), salt: salt)
    }
}

extension UnsafeRawBufferPointer {
    func get<Value: FixedWidthInteger & BitwiseCopyable>(_: Value.Type, at offset: Int) -> Value {
        Value(littleEndian: loadUnaligned(fromByteOffset: offset, as: Value.self))
    }
}

extension UnsafeMutableRawBufferPointer {
    func get<Value: FixedWidthInteger & BitwiseCopyable>(_: Value.Type, at offset: Int) -> Value {
        Value(littleEndian: loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    func put<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
        storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
    }
}
