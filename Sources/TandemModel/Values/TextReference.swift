/// A reference to a text that is too long for a row; its UTF-8 is stored once, as ``blob``.
///
/// Rows, transactions and keys contain the reference instead of the text, which is fetched on
/// demand. A reference begins with the first 512 bytes of the text, followed by a byte that no text
/// contains, and the hash. References are therefore equal only if the texts are, and have the same
/// index keys as the texts, because index keys are truncated before 512 bytes. A reference sorts by
/// the first 512 bytes of the text. Among texts with equal first bytes, references sort after the
/// texts that are stored in rows, and by hash.
///
///     reference := first bytes (512) FF SHA-256 (32) length (4, little-endian)
public struct TextReference: Hashable, Sendable, CustomStringConvertible {
    /// The number of bytes of the text in the reference.
    package static let beginningBytes = 512
    /// The size of a reference in bytes.
    package static let byteCount = beginningBytes + 1 + 36

    /// The reference as it is stored in rows and keys.
    package let bytes: [UInt8]

    /// Creates the reference to a text of more than ``BlobReference/inlineLimit`` bytes.
    ///
    /// Cost: a SHA-256 of the text.
    package init(of text: String) { self.init(Blob(Array(text.utf8))) }

    /// Creates the reference to a text whose UTF-8 is the content of a blob.
    package init(_ blob: Blob) {
        bytes =
            blob.content.prefix(Self.beginningBytes) + [0xff]
            + blob.reference.bytes.suffix(BlobReference.tailBytes)
    }

    /// Creates a reference from its bytes; returns nil if they can't be a reference.
    package init?(bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == Self.byteCount, bytes[Self.beginningBytes] == 0xff else { return nil }
        self.bytes = bytes
        guard length > BlobReference.inlineLimit else { return nil }
    }

    /// Reads a reference or throws ``CodingError``.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        guard let reference = TextReference(bytes: try reader.raw(Self.byteCount)) else {
            throw CodingError(expected: "a reference to a text", offset: start)
        }
        self = reference
    }

    /// The reference to the blob that has the text's UTF-8.
    package var blob: BlobReference { BlobReference(of: self) }

    /// The first bytes of the text; the last code point may be truncated.
    package var beginning: ArraySlice<UInt8> { bytes[..<Self.beginningBytes] }

    /// The length of the text in bytes.
    public var length: Int { bytes.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) } }

    /// Returns whether the length and the first bytes of `content` match the reference.
    ///
    /// Content that matches and has the right hash is the text of this reference.
    package func matches(_ content: [UInt8]) -> Bool {
        content.count == length && content.starts(with: beginning)
    }

    /// The hash in hexadecimal, as tools print it.
    public var description: String { blob.description }

    /// The beginning of the text, followed by the hash, which makes the name unique.
    package var name: String {
        var end = Self.beginningBytes
        while end > 0, bytes[end - 1] & 0xc0 == 0x80 { end -= 1 }
        return String(decoding: bytes[..<max(0, end - 1)], as: UTF8.self) + "… \(self)"
    }
}
