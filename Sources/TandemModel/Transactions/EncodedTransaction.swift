/// A transaction in its binary form, which is stored in the journal and sent to clients.
///
/// The form consists of a header, a directory of chunks, and one self-contained chunk for each
/// entity. A transaction can therefore be reduced to some entities by selecting chunks
/// (``filtered(_:)``), without encoding it again.
///
///     header    := length of header and directory (4) format (1) kind (1) position (8) time (8)
///                  uid (4) gid (4) pid (4) author context host unit save-id content-hash (16)
///                  [exceptions] [progress]
///     exceptions := count { index has-object (1) [tag (2) number (8)] }
///     progress  := tag (2) number (8) done (8) has-ended (1)
///     directory := count { tag (2) length (4) }
///     chunk     := count change*, count blob* under the tag 65535
///
/// Format 1 has neither exceptions nor progress. Format 2 has the exceptions
/// (``Transaction/exceptions``). Format 3, for a transaction of a batch, has both
/// (``Transaction/batch``). The writer chooses the lowest format that is sufficient for the
/// transaction.
@usableFromInline package struct EncodedTransaction: Hashable, Sendable {
    /// The bytes.
    package let bytes: [UInt8]
    /// The chunks by entity, as ranges of ``bytes``.
    package let chunks: [Chunk]
    /// The offset of the directory.
    private let directoryOffset: Int

    /// The location of one entity's changes.
    package struct Chunk: Hashable, Sendable {
        /// The entity; 0 for a model.
        package var tag: EntityTag
        /// The range of the chunk in the bytes.
        package var range: Range<Int>
    }

    /// The versions of this form.
    static let formats: ClosedRange<UInt8> = 1...3
    /// The directory's tag for the chunk of blobs; no entity has it.
    static let blobsTag: EntityTag = .max
    private static let positionOffset = 6
    private static let timeOffset = 14

    /// The position in the journal.
    @usableFromInline package var position: UInt64 {
        bytes.withUnsafeBytes {
            UInt64(
                littleEndian: $0.loadUnaligned(
                    fromByteOffset: Self.positionOffset, as: UInt64.self))
        }
    }

    /// The wall-clock time of the save, in microseconds since 1970.
    @usableFromInline package var time: Int64 {
        bytes.withUnsafeBytes {
            Int64(littleEndian: $0.loadUnaligned(fromByteOffset: Self.timeOffset, as: Int64.self))
        }
    }

    /// Decodes the self-declared name of the client that made the save.
    ///
    /// Cost: decodes the header. Throws ``CodingError``.
    package func author() throws(CodingError) -> String {
        var reader = ByteReader(bytes)
        var header = TransactionHeader()
        try header.decode(from: &reader)
        return header.transaction.principal.author
    }

    /// Encodes a transaction; its changes are sorted by entity and number first.
    package init(_ transaction: Transaction) { self = transaction.encoded() }

    /// Joins a header, a new directory and the chunks, which are contiguous in `body`.
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

    /// Creates a transaction from bytes of the journal or the wire; checks header and directory,
    /// not the chunks.
    ///
    /// Throws ``CodingError``. The cost does not depend on the size of the changes.
    package init(bytes: [UInt8]) throws(CodingError) {
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
            chunks.append(
                Chunk(tag: tag, range: try reader.consume(size, "a chunk of \(size) bytes")))
        }
        try reader.expectEnd("the transaction")
        self.bytes = bytes
        self.chunks = chunks
    }

    /// Returns the transaction with its position and time, which are assigned after encoding.
    package func placed(at position: UInt64, time: Int64) -> EncodedTransaction {
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

    /// Returns the transaction reduced to the entities that `isWanted` accepts, or nil if no chunk
    /// is left.
    ///
    /// A model (tag 0) is always kept, blobs never are.
    package func filtered(_ isWanted: (EntityTag) -> Bool) -> EncodedTransaction? {
        let wanted = chunks.filter {
            $0.tag == 0 || ($0.tag != Self.blobsTag && isWanted($0.tag))
        }
        // The last transaction of a batch has no changes and concerns no session.
        if wanted.isEmpty { return nil }
        if wanted.count == chunks.count { return self }
        var body: [UInt8] = []
        for chunk in wanted { body += bytes[chunk.range] }
        return EncodedTransaction(
            header: Array(bytes[..<directoryOffset]), body: body[...],
            sizes: wanted.map { ($0.tag, $0.range.count) })
    }

    /// The transaction as sessions receive it: without the contents of blobs.
    package var withoutBlobs: EncodedTransaction {
        chunks.last?.tag == Self.blobsTag ? filtered { _ in true } ?? self : self
    }

    /// The same transaction without spare capacity, for long-lived copies.
    ///
    /// A newly encoded transaction can occupy twice its size. Cost: a copy of the bytes, if the
    /// spare capacity exceeds an eighth of them.
    package var fitted: EncodedTransaction {
        guard bytes.capacity - bytes.count > bytes.count / 8 + 16 else { return self }
        return EncodedTransaction(
            bytes: bytes.withUnsafeBufferPointer { Array($0) }, chunks: chunks,
            directoryOffset: directoryOffset)
    }

    /// The size of the blobs' contents in bytes.
    package var blobBytes: Int {
        chunks.last.map { $0.tag == Self.blobsTag ? $0.range.count : 0 } ?? 0
    }

    /// Decodes the whole transaction.
    ///
    /// Throws ``CodingError``.
    @usableFromInline package func decoded() throws(CodingError) -> Transaction {
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

    /// Whether the transaction installs a model.
    package var isModel: Bool { bytes[5] == 1 }

    /// Decodes the header only; the content of the result is empty.
    ///
    /// Throws ``CodingError``.
    package func decodedHeader() throws(CodingError) -> Transaction {
        var reader = ByteReader(bytes)
        var header = TransactionHeader()
        try header.decode(from: &reader)
        return header.transaction
    }

    /// Decodes the changes of all chunks.
    ///
    /// Throws ``CodingError``.
    package func changes() throws(CodingError) -> [Change] {
        var changes: [Change] = []
        var rest = changeReader
        while let change = try rest.next() { changes.append(change) }
        return changes
    }

    /// A reader of the changes of all chunks.
    package var changeReader: ChangeReader {
        ChangeReader(bytes, chunks.filter { $0.tag != 0 && $0.tag != Self.blobsTag })
    }

    /// Decodes the blobs.
    ///
    /// Throws ``CodingError``.
    package func blobs() throws(CodingError) -> [Blob] {
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
