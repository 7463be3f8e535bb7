/// How far a batch had come with a transaction: what a repeat goes on behind.
///
/// The objects of a batch are worked off in the order of their references, each once. So where it stands is one object, and it stands in
/// the transaction itself: whoever has that knows this too, also a store that is rebuilt from the journal. Of a batch insert it is
/// the number of rows; the transaction's content hash stands for these rows then.
public struct BatchProgress: Hashable, Sendable {
    /// The last object that was looked at: none up to it is looked at again; of an insert tag and number 0.
    public var reached: ObjectReference
    /// How many objects, or rows, are done, those of earlier transactions included.
    public var done: UInt64
    /// Whether there are no more.
    public var hasEnded: Bool

    /// The progress of a batch that has come so far.
    public init(
        reached: ObjectReference = ObjectReference(tag: 0, number: 0), done: UInt64 = 0,
        hasEnded: Bool = false
    ) {
        self.reached = reached
        self.done = done
        self.hasEnded = hasEnded
    }

    /// The bytes of its binary form.
    public static let byteCount = 19

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint16(reached.tag)
        writer.uint64(reached.number)
        writer.uint64(done)
        writer.bool(hasEnded)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        let tag = try reader.uint16()
        reached = ObjectReference(tag: tag, number: try reader.uint64())
        done = try reader.uint64()
        hasEnded = try reader.bool()
    }
}
