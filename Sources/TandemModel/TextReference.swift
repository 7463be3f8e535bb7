/// Stands for a text that is too long for a row: its UTF-8 lies in the store once, under its hash, as ``blob``.
///
/// Rows, transactions and keys hold it in the place of the text, which is fetched on demand. It is its own order: the first
/// 512 bytes, then a byte that no text has, then the hash. So a long text equals nothing but itself, has the index
/// keys that the whole text would have (those are cut before 512 bytes), and sorts by code point as far as 512
/// bytes tell texts apart; of those that begin alike the short ones come first.
///
///     reference := first bytes (512) FF SHA-256 (32) length (4, little-endian)
public struct TextReference: Hashable, Sendable, CustomStringConvertible {
    /// The bytes of the text that stand in the reference.
    public static let beginningBytes = 512
    /// The bytes of a reference.
    public static let byteCount = beginningBytes + 1 + 36

    /// The reference as it lies in rows and keys.
    public let bytes: [UInt8]

    /// The reference to a text of more than ``BlobReference/inlineLimit`` bytes.
    ///
    /// Cost: a SHA-256 of the text.
    public init(of text: String) { self.init(Blob(Array(text.utf8))) }

    /// The reference to a text whose UTF-8 is the content of a blob.
    public init(_ blob: Blob) {
        bytes =
            blob.content.prefix(Self.beginningBytes) + [0xff]
            + blob.reference.bytes.suffix(BlobReference.tailBytes)
    }

    /// Takes the bytes of a reference; nil when they can't be one.
    public init?(bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == Self.byteCount, bytes[Self.beginningBytes] == 0xff else { return nil }
        self.bytes = bytes
        guard length > BlobReference.inlineLimit else { return nil }
    }

    /// Reads a reference or throws ``CodingError``.
    public init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        guard let reference = TextReference(bytes: try reader.raw(Self.byteCount)) else {
            throw CodingError(expected: "a reference to a text", offset: start)
        }
        self = reference
    }

    /// What the text's UTF-8 is stored under and fetched by.
    public var blob: BlobReference { BlobReference(of: self) }

    /// The first bytes of the text; the last code point may be cut.
    public var beginning: ArraySlice<UInt8> { bytes[..<Self.beginningBytes] }

    /// The bytes of the text.
    public var length: Int { bytes.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) } }

    /// True when some bytes begin as this does and are as many; what has the right hash besides is the text.
    public func fits(_ content: [UInt8]) -> Bool {
        content.count == length && content.starts(with: beginning)
    }

    /// The hash in hexadecimal, as tools print it.
    public var description: String { blob.description }

    /// The beginning up to the last whole code point, and the hash: a name that no other text has.
    public var name: String {
        var end = Self.beginningBytes
        while end > 0, bytes[end - 1] & 0xc0 == 0x80 { end -= 1 }
        return String(decoding: bytes[..<max(0, end - 1)], as: UTF8.self) + "… \(self)"
    }
}
