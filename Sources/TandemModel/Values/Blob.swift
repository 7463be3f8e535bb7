/// A reference to data or text that is too long for a row; the content is stored once, under its
/// hash.
///
/// Rows, transactions and keys contain the reference instead of the content, which is fetched on
/// demand. A reference begins with the first 64 bytes of the content, followed by the hash. Two
/// references are therefore equal if and only if the contents are, and sort by the first 64 bytes
/// of the contents.
///
///     reference := first bytes (64) SHA-256 (32) length (4, little-endian)
public struct BlobReference: Hashable, Sendable, CustomStringConvertible {
    /// The size in bytes above which data or a text is stored outside the row.
    package static let inlineLimit = 64 << 10
    /// The size of a reference in bytes.
    package static let byteCount = BlobReference.prefixBytes + BlobReference.tailBytes
    private static let prefixBytes = 64
    /// The size of hash and length, in bytes.
    static let tailBytes = 36

    /// The reference as it is stored in rows and keys.
    package let bytes: [UInt8]

    /// Creates the reference to content of more than ``inlineLimit`` bytes.
    ///
    /// Cost: a SHA-256 of the content.
    package init(of content: [UInt8]) {
        precondition(content.count > Self.inlineLimit, "Short content is stored in the row.")
        precondition(content.count <= UInt32.max, "A blob has at most 4 GiB.")
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.raw(content.prefix(Self.prefixBytes))
        writer.raw(SHA256.digest(of: content))
        writer.uint32(UInt32(content.count))
        bytes = writer.bytes
    }

    /// Creates the reference to the UTF-8 of a text.
    init(of text: TextReference) {
        bytes = text.beginning.prefix(Self.prefixBytes) + text.bytes.suffix(Self.tailBytes)
    }

    /// Creates a reference from its bytes; returns nil if they can't be a reference.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Array(bytes)
        guard length > Self.inlineLimit else { return nil }
    }

    /// Reads a reference or throws ``CodingError``.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        guard let reference = BlobReference(bytes: try reader.raw(Self.byteCount)) else {
            throw CodingError(expected: "a reference to a blob", offset: start)
        }
        self = reference
    }

    /// The SHA-256 of the content, which is its key in the store.
    package var hash: [UInt8] { Array(bytes[Self.prefixBytes..<(Self.prefixBytes + 32)]) }

    /// The length of the content in bytes.
    public var length: Int {
        bytes.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Returns whether the length and the first bytes of `content` match the reference.
    ///
    /// Content that matches and has the right hash is the content of this reference.
    package func matches(_ content: UnsafeRawBufferPointer) -> Bool {
        content.count == length && content.starts(with: bytes[..<Self.prefixBytes])
    }

    /// Returns whether this is the reference to `content`.
    ///
    /// Cost: a SHA-256 of the content.
    package func isReference(to content: [UInt8]) -> Bool {
        content.count == length && content.count > Self.inlineLimit
            && BlobReference(of: content) == self
    }

    /// The hash in hexadecimal, as tools print it.
    public var description: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: hash.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

/// The content of a blob, and the reference to it that rows contain.
package struct Blob: Hashable, Sendable {
    /// The reference that rows contain.
    package let reference: BlobReference
    /// The content.
    package let content: [UInt8]

    /// Creates a blob from its content, which is hashed.
    package init(_ content: [UInt8]) {
        reference = BlobReference(of: content)
        self.content = content
    }

    init(reference: BlobReference, content: [UInt8]) {
        self.reference = reference
        self.content = content
    }

    func encode(into writer: inout ByteWriter) {
        writer.raw(reference.bytes)
        writer.blob(content)
    }

    /// Reads a blob without hashing its content again, because the surrounding bytes have a
    /// checksum.
    init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        let reference = try BlobReference(from: &reader)
        let content = try reader.blob()
        guard content.count == reference.length else {
            throw CodingError(expected: "\(reference.length) bytes of a blob", offset: start)
        }
        self.init(reference: reference, content: content)
    }
}
