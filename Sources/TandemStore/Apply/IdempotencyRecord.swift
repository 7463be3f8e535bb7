package import TandemModel

/// The answer to a save, kept so that a retry gets the same answer.
package struct IdempotencyRecord: Hashable, Sendable {
    /// The position of the transaction, or the journal's tail at the time if there was none.
    package var position: UInt64
    /// The hash that the client declared for the content of the save.
    package var contentHash: StableHash
    /// Whether the save wrote a transaction.
    package var wrote: Bool
    /// The object of each insert, in the order of the request; nil if the insert had no effect.
    package var inserted: [ObjectReference?]
    /// The progress of a batch; nil for a save.
    package var batch: BatchProgress?

    /// Creates a record.
    package init(
        position: UInt64, contentHash: StableHash, wrote: Bool, inserted: [ObjectReference?],
        batch: BatchProgress? = nil
    ) {
        self.position = position
        self.contentHash = contentHash
        self.wrote = wrote
        self.inserted = inserted
        self.batch = batch
    }

    /// The encoded record; an insert without effect has tag and number 0.
    var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { bytes, count in
            write(to: UnsafeMutableRawBufferPointer(bytes))
            count = byteCount
        }
    }

    /// The size of the encoded record.
    var byteCount: Int {
        // Position, content hash, number of inserts as a varint, inserts, `wrote`, progress of a
        // batch.
        24 + (70 - (UInt64(inserted.count) | 1).leadingZeroBitCount) / 7 + 10 * inserted.count + 1
            + (batch == nil ? 0 : BatchProgress.byteCount)
    }

    /// Encodes the record into a buffer of ``byteCount`` bytes.
    func write(to bytes: UnsafeMutableRawBufferPointer) {
        var at = 0
        defer { assert(at == bytes.count, "The record fills the buffer.") }
        func put<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
            bytes.storeBytes(of: value.littleEndian, toByteOffset: at, as: T.self)
            at += MemoryLayout<T>.size
        }
        put(position)
        put(contentHash.first)
        put(contentHash.second)
        var rest = inserted.count
        while rest >= 0x80 {
            put(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        put(UInt8(rest))
        for object in inserted {
            put(object?.tag ?? 0)
            put(object?.number ?? 0)
        }
        put(UInt8(wrote ? 1 : 0))
        guard let batch else { return }
        put(batch.reached.tag)
        put(batch.reached.number)
        put(batch.done)
        put(UInt8(batch.hasEnded ? 1 : 0))
    }

    /// Decodes a record; records of an earlier release end before `wrote`.
    init(bytes: [UInt8]) throws(CodingError) {
        var reader = ByteReader(bytes)
        position = try reader.uint64()
        contentHash = StableHash(first: try reader.uint64(), second: try reader.uint64())
        inserted = []
        for _ in 0..<(try reader.count(itemBytes: 10)) {
            let object = ObjectReference(
                tag: try reader.uint16(), number: try reader.uint64())
            inserted.append(object.number == 0 ? nil : object)
        }
        wrote = reader.isAtEnd ? true : try reader.bool()
        batch = reader.isAtEnd ? nil : try BatchProgress(from: &reader)
    }
}
