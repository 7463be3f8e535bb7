/// A decoder of a transaction's changes, one at a time, so that they need not all be in memory.
package struct ChangeReader: Sendable {
    private let bytes: [UInt8]
    private var chunks: ArraySlice<EncodedTransaction.Chunk>
    private var tag: EntityTag = 0
    private var left = 0
    private var reader = ByteReader([])

    init(_ bytes: [UInt8], _ chunks: [EncodedTransaction.Chunk]) {
        self.bytes = bytes
        self.chunks = chunks[...]
    }

    /// Returns the next change, or nil at the end.
    ///
    /// Throws ``CodingError``.
    package mutating func next() throws(CodingError) -> Change? {
        while left == 0 {
            if tag != 0 { try reader.expectEnd("the chunk") }
            guard let chunk = chunks.popFirst() else {
                tag = 0
                return nil
            }
            tag = chunk.tag
            reader = ByteReader(bytes, in: chunk.range)
            left = try reader.count(itemBytes: 12)
        }
        left -= 1
        return try Change(tag: tag, from: &reader)
    }
}
