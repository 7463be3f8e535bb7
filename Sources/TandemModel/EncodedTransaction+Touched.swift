extension EncodedTransaction {
    /// What an index of the journal finds a transaction by: the entities and objects that it did something to, and its time.
    public struct Touched: Hashable, Sendable {
        /// The tags of the entities, each once; 0 for a model.
        public var entities: [EntityTag]
        /// The numbers of the objects, in the order of their entities.
        public var objects: [ObjectNumber]
        /// Microseconds since 1970.
        public var time: Int64
    }

    /// What a transaction is found by, from its bytes; nil for bytes that are none.
    ///
    /// Cost: that of decoding the whole.
    public static func touched(by bytes: [UInt8]) -> Touched? {
        guard let transaction = try? EncodedTransaction(bytes: bytes) else { return nil }
        return try? transaction.touched()
    }

    private func touched() throws(CodingError) -> Touched {
        _ = try blobs()
        var objects: [ObjectNumber] = []
        var rest = changeReader
        while let change = try rest.next() { objects.append(change.object.number) }
        return Touched(
            entities: chunks.map(\.tag).filter { $0 != Self.blobsTag }, objects: objects,
            time: time)
    }
}
