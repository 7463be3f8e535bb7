/// The progress of a batch up to one of its transactions, from which a retried batch resumes.
///
/// A batch processes each object once, in the order of references, so the last object describes the
/// progress. The progress is part of the transaction, so a store rebuilt from the journal has it as
/// well. For a batch insert, the progress is the number of rows, and the transaction's content hash
/// identifies these rows.
package struct BatchProgress: Hashable, Sendable {
    /// The last processed object; a retried batch continues with the next one.
    ///
    /// For a batch insert, tag and number are 0.
    package var reached: ObjectReference
    /// The number of objects, or rows, processed so far, including those of earlier transactions.
    package var done: UInt64
    /// Whether the batch is complete.
    package var hasEnded: Bool

    /// Creates the progress of a batch, by default that of a batch that has not begun.
    package init(
        reached: ObjectReference = ObjectReference(tag: 0, number: 0), done: UInt64 = 0,
        hasEnded: Bool = false
    ) {
        self.reached = reached
        self.done = done
        self.hasEnded = hasEnded
    }

    /// The size of the binary form in bytes.
    package static let byteCount = 19

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint16(reached.tag)
        writer.uint64(reached.number)
        writer.uint64(done)
        writer.bool(hasEnded)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let tag = try reader.uint16()
        reached = ObjectReference(tag: tag, number: try reader.uint64())
        done = try reader.uint64()
        hasEnded = try reader.bool()
    }
}
