package import TandemModel

/// The operations of a save in their binary form.
package struct EncodedOperations: Hashable, Sendable {
    /// The number of operations.
    package let count: Int
    /// The new objects, in the order of insertion.
    package let inserts: [ObjectReference]
    /// The number of operations and the operations, as in a ``SaveRequest``.
    package let bytes: [UInt8]

    /// Returns the operations as values.
    ///
    /// Throws `CodingError` only for bytes that do not encode operations.
    package func decoded() throws(CodingError) -> [SaveOperation] {
        var reader = ByteReader(bytes)
        return try reader.list(of: SaveOperation.self, itemBytes: SaveOperation.minimumBytes)
    }
}

/// A writer that encodes the operations of a save directly, without creating them as values.
///
/// After an insert or an update, write as many values as announced, and then the links.
///
///     var writer = SaveOperationWriter(count: 1)
///     writer.update(team, baseVersion: 7, values: 1)
///     writer.value(2, .int(5), base: .int(4))
///     writer.links([])
///     let request = SaveRequest(…, encoded: writer.finish())
package struct SaveOperationWriter: Sendable {
    private var writer: ByteWriter
    private let count: Int
    private var written = 0
    private var inserts: [ObjectReference] = []

    /// Creates a writer of `count` operations.
    package init(count: Int) {
        self.count = count
        writer = ByteWriter(capacity: 8 + 64 * count)
        writer.count(count)
    }

    /// Begins an insert with a number of values.
    package mutating func insert(_ object: ObjectReference, values: Int) {
        written += 1
        inserts.append(object)
        writer.beginInsert(object)
        writer.count(values)
    }

    /// Begins an update with a number of values; see
    /// ``SaveOperation/update(object:baseVersion:values:links:)``.
    package mutating func update(_ object: ObjectReference, baseVersion: UInt64, values: Int) {
        written += 1
        writer.beginUpdate(object, baseVersion)
        writer.count(values)
    }

    /// Writes a deletion, which has no values or links.
    package mutating func delete(_ object: ObjectReference, baseVersion: UInt64) {
        written += 1
        writer.delete(object, baseVersion)
    }

    /// Writes a value of the current insert.
    package mutating func value(_ slot: Int, _ value: PropertyValue) {
        writer.count(slot)
        value.encode(into: &writer)
    }

    /// Writes a value of the current update, and the base value of the change.
    package mutating func value(_ slot: Int, _ value: PropertyValue, base: PropertyValue?) {
        writer.saveValue(slot, value, base: base)
    }

    /// Writes the links, which complete an insert or update.
    package mutating func links(_ links: [LinkChange]) { writer.list(links) { $0.link($1) } }

    /// Returns the operations written.
    ///
    /// Traps if the number of operations written differs from the announced one.
    package consuming func finish() -> EncodedOperations {
        precondition(written == count, "\(count) operations were announced, \(written) written.")
        return EncodedOperations(count: count, inserts: inserts, bytes: writer.bytes)
    }
}

// MARK: The form of an operation

extension ByteWriter {
    /// Writes the kind byte of an insert, and its object.
    mutating func beginInsert(_ object: ObjectReference) {
        filled(11) {
            $0.storeBytes(of: 1, as: UInt8.self)
            $0.storeBytes(of: object.tag.littleEndian, toByteOffset: 1, as: UInt16.self)
            $0.storeBytes(of: object.number.littleEndian, toByteOffset: 3, as: UInt64.self)
        }
    }

    mutating func beginUpdate(_ object: ObjectReference, _ baseVersion: UInt64) {
        versioned(2, object, baseVersion)
    }

    mutating func delete(_ object: ObjectReference, _ baseVersion: UInt64) {
        versioned(3, object, baseVersion)
    }

    private mutating func versioned(
        _ kind: UInt8, _ object: ObjectReference, _ baseVersion: UInt64
    ) {
        filled(19) {
            $0.storeBytes(of: kind, as: UInt8.self)
            $0.storeBytes(of: object.tag.littleEndian, toByteOffset: 1, as: UInt16.self)
            $0.storeBytes(of: object.number.littleEndian, toByteOffset: 3, as: UInt64.self)
            $0.storeBytes(of: baseVersion.littleEndian, toByteOffset: 11, as: UInt64.self)
        }
    }

    /// Writes a value that an update sets, and its base value.
    mutating func saveValue(_ slot: Int, _ value: PropertyValue, base: PropertyValue?) {
        count(slot)
        value.encode(into: &self)
        optional(base) { $1.encode(into: &$0) }
    }
}
