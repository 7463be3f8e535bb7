/// An object with its row and the row's version, as stored.
@usableFromInline package struct StoredObject: Hashable, Sendable {
    /// The object.
    package var object: ObjectReference
    /// The position of the transaction that last changed the row.
    package var version: UInt64
    /// The row.
    ///
    /// Check a row from the wire with ``Row/isValid(for:)`` before reading columns.
    package var row: Row

    /// Creates an object with its row.
    @usableFromInline package init(object: ObjectReference, version: UInt64, row: Row) {
        self.object = object
        self.version = version
        self.row = row
    }

    /// The minimum encoded size in bytes: reference, version, and the length of the row.
    package static let minimumBytes = 19

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint16(object.tag)
        writer.uint64(object.number)
        writer.uint64(version)
        writer.blob(row.bytes)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let tag = try reader.uint16()
        object = ObjectReference(tag: tag, number: try reader.uint64())
        version = try reader.uint64()
        row = Row(bytes: try reader.blob())
    }
}
