/// A transaction in its one binary form, as the journal stores it and sessions send it.
///
/// The form is a header, a directory of chunks, and one self-contained chunk for each entity; so what a session gets that
/// follows only some entities is a gather of chunks (``filtered(_:)``), never a new encoding:
///
///     header    := length of header and directory (4) format (1) kind (1) position (8) time (8)
///                  uid (4) gid (4) pid (4) author context host unit save-id content-hash (16)
///                  [exceptions] [progress]
///     exceptions := count { index has-object (1) [tag (2) number (8)] }
///     progress  := tag (2) number (8) done (8) has-ended (1)
///     directory := count { tag (2) length (4) }
///     chunk     := count change*, count blob* under the tag 65535
///
/// Format 1 has neither exceptions nor progress, format 2 has the exceptions (``Transaction/exceptions``), and format 3, of a part of a
/// batch, both (``Transaction/batch``); each is written where it is the shortest form.
public struct EncodedTransaction: Hashable, Sendable {
    /// The bytes.
    public let bytes: [UInt8]
    /// The chunks by entity, as ranges of ``bytes``.
    public let chunks: [Chunk]
    /// Where the directory begins.
    private let directoryOffset: Int

    /// Where the changes of one entity lie.
    public struct Chunk: Hashable, Sendable {
        /// The entity; 0 for a model.
        public var tag: EntityTag
        /// The part of the bytes.
        public var range: Range<Int>
    }

    /// The versions of this form.
    static let formats: ClosedRange<UInt8> = 1...3
    /// Stands in the directory for the chunk of blobs; no entity has it.
    static let blobsTag: EntityTag = .max
    private static let positionOffset = 6
    private static let timeOffset = 14

    /// The number in the journal.
    public var position: UInt64 {
        bytes.withUnsafeBytes {
            UInt64(
                littleEndian: $0.loadUnaligned(
                    fromByteOffset: Self.positionOffset, as: UInt64.self))
        }
    }

    /// Wall clock time of the save, microseconds since 1970.
    public var time: Int64 {
        bytes.withUnsafeBytes {
            Int64(littleEndian: $0.loadUnaligned(fromByteOffset: Self.timeOffset, as: Int64.self))
        }
    }

    /// The self-declared name of who saved it.
    ///
    /// Cost: decodes the header. Throws ``CodingError``.
    public func author() throws(CodingError) -> String {
        var reader = ByteReader(bytes)
        var header = TransactionHeader()
        try header.decode(from: &reader)
        return header.transaction.principal.author
    }

    /// Encodes a transaction; its changes are sorted by entity and number first.
    public init(_ transaction: Transaction) { self = transaction.encoded() }

    /// Puts a header, a new directory and the chunks together, which lie one after the other in `body`.
    private init(
        header: [UInt8], body: ArraySlice<UInt8>, sizes: [(tag: EntityTag, count: Int)]
    ) {
        var writer = ByteWriter(capacity: header.count + 10 + 6 * sizes.count + body.count)
        writer.raw(header)
        directoryOffset = header.count
        writer.count(sizes.count)
        for size in sizes {
            writer.uint16(size.tag)
            writer.uint32(UInt32(size.count))
        }
        var at = writer.count
        writer.set(UInt32(at), at: 0)
        chunks = sizes.map { size in
            defer { at += size.count }
            return Chunk(tag: size.tag, range: at..<(at + size.count))
        }
        writer.raw(body)
        bytes = writer.bytes
    }

    /// Takes bytes that came from the journal or the wire; checks header and directory, not the chunks.
    ///
    /// Throws ``CodingError``. Cost: independent of the size of the changes.
    public init(bytes: [UInt8]) throws(CodingError) {
        var reader = ByteReader(bytes)
        var header = TransactionHeader()
        try header.decode(from: &reader)
        directoryOffset = reader.offset
        var sizes: [(EntityTag, Int)] = []
        for _ in 0..<(try reader.count(itemBytes: 6)) {
            sizes.append((try reader.uint16(), Int(try reader.uint32())))
        }
        guard reader.offset == header.length else {
            throw CodingError(expected: "\(header.length) bytes of header", offset: reader.offset)
        }
        var chunks: [Chunk] = []
        for (tag, size) in sizes {
            chunks.append(Chunk(tag: tag, range: try reader.take(size, "a chunk of \(size) bytes")))
        }
        try reader.expectEnd("the transaction")
        self.bytes = bytes
        self.chunks = chunks
    }

    /// The same transaction at a position and time, which are known last.
    public func placed(at position: UInt64, time: Int64) -> EncodedTransaction {
        var copy = bytes
        withUnsafeBytes(of: position.littleEndian) {
            copy.replaceSubrange(Self.positionOffset..<(Self.positionOffset + 8), with: $0)
        }
        withUnsafeBytes(of: time.littleEndian) {
            copy.replaceSubrange(Self.timeOffset..<(Self.timeOffset + 8), with: $0)
        }
        return EncodedTransaction(bytes: copy, chunks: chunks, directoryOffset: directoryOffset)
    }

    init(bytes: [UInt8], chunks: [Chunk], directoryOffset: Int) {
        self.bytes = bytes
        self.chunks = chunks
        self.directoryOffset = directoryOffset
    }

    /// The chunks of the entities that `isWanted` picks; self when that is all, nil when it is none.
    ///
    /// A model (tag 0) is always wanted, blobs never are.
    public func filtered(_ isWanted: (EntityTag) -> Bool) -> EncodedTransaction? {
        let wanted = chunks.filter {
            $0.tag == 0 || ($0.tag != Self.blobsTag && isWanted($0.tag))
        }
        // One without changes, a batch's end, concerns nobody.
        if wanted.isEmpty { return nil }
        if wanted.count == chunks.count { return self }
        var body: [UInt8] = []
        for chunk in wanted { body += bytes[chunk.range] }
        return EncodedTransaction(
            header: Array(bytes[..<directoryOffset]), body: body[...],
            sizes: wanted.map { ($0.tag, $0.range.count) })
    }

    /// The transaction as sessions see it: without the contents of blobs.
    public var withoutBlobs: EncodedTransaction {
        chunks.last?.tag == Self.blobsTag ? filtered { _ in true } ?? self : self
    }

    /// The same in storage of about its own size, for who keeps it: what was just encoded may lie in twice as much.
    ///
    /// Cost: a copy of the bytes, if they lie in more than an eighth too much.
    public var fitted: EncodedTransaction {
        guard bytes.capacity - bytes.count > bytes.count / 8 + 16 else { return self }
        return EncodedTransaction(
            bytes: bytes.withUnsafeBufferPointer { Array($0) }, chunks: chunks,
            directoryOffset: directoryOffset)
    }

    /// The bytes of the blobs' contents.
    public var blobBytes: Int {
        chunks.last.map { $0.tag == Self.blobsTag ? $0.range.count : 0 } ?? 0
    }

    /// Decodes the whole.
    ///
    /// Throws ``CodingError``.
    public func decoded() throws(CodingError) -> Transaction {
        var reader = ByteReader(bytes)
        var header = TransactionHeader()
        try header.decode(from: &reader)
        var transaction = header.transaction
        if header.isModel {
            guard let chunk = chunks.first else {
                throw CodingError(expected: "a model", offset: reader.offset)
            }
            transaction.content = .model(Array(bytes[chunk.range]))
        } else {
            transaction.content = .objects(try changes())
            transaction.blobs = try blobs()
        }
        return transaction
    }

    /// True when this installs a model.
    public var isModel: Bool { bytes[5] == 1 }

    /// Decodes the header alone; the content is empty.
    ///
    /// Throws ``CodingError``.
    public func decodedHeader() throws(CodingError) -> Transaction {
        var reader = ByteReader(bytes)
        var header = TransactionHeader()
        try header.decode(from: &reader)
        return header.transaction
    }

    /// Decodes the changes of all chunks.
    ///
    /// Throws ``CodingError``.
    public func changes() throws(CodingError) -> [Change] {
        var changes: [Change] = []
        var rest = changeReader
        while let change = try rest.next() { changes.append(change) }
        return changes
    }

    /// Reads the changes of all chunks one after the other.
    public var changeReader: ChangeReader {
        ChangeReader(bytes, chunks.filter { $0.tag != 0 && $0.tag != Self.blobsTag })
    }

    /// Decodes the blobs.
    ///
    /// Throws ``CodingError``.
    public func blobs() throws(CodingError) -> [Blob] {
        guard let chunk = chunks.last, chunk.tag == Self.blobsTag else { return [] }
        var reader = ByteReader(bytes, in: chunk.range)
        var blobs: [Blob] = []
        for _ in 0..<(try reader.count(itemBytes: BlobReference.byteCount)) {
            blobs.append(try Blob(from: &reader))
        }
        try reader.expectEnd("the chunk")
        return blobs
    }
}

/// The decoded header of a transaction.
private struct TransactionHeader {
    var length = 0
    var isModel = false
    var transaction = Transaction(content: .objects([]))

    mutating func decode(from reader: inout ByteReader) throws(CodingError) {
        length = Int(try reader.uint32())
        let format = try reader.uint8()
        guard EncodedTransaction.formats.contains(format) else {
            throw CodingError(expected: "transaction format 1, 2 or 3", offset: 4)
        }
        isModel = try reader.bool()
        transaction.position = try reader.uint64()
        transaction.time = try reader.int64()
        transaction.principal.uid = try reader.uint32()
        transaction.principal.gid = try reader.uint32()
        transaction.principal.pid = try reader.uint32()
        transaction.principal.author = try reader.string()
        transaction.principal.context = try reader.string()
        transaction.principal.host = try reader.string()
        transaction.principal.unit = try reader.string()
        transaction.saveID = try reader.blob()
        transaction.contentHash = StableHash(
            first: try reader.uint64(), second: try reader.uint64())
        if format >= 2 { transaction.exceptions = try InsertException.list(from: &reader) }
        if format == 3 { transaction.batch = try BatchProgress(from: &reader) }
        if isModel { transaction.content = .model([]) }
    }
}
