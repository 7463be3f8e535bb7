extension EncodedTransaction {
    /// The entities and objects that a transaction did something to: what an index of the journal knows it by.
    public struct Touched: Hashable, Sendable {
        /// The tags of the entities, each once; 0 for a model.
        public var entities: [EntityTag]
        /// The numbers of the objects, in the order of their entities.
        public var objects: [ObjectNumber]
    }

    /// The entities and objects that it did something to.
    ///
    /// Throws ``CodingError`` wherever decoding the whole does. Cost: that of decoding it.
    public func touched() throws(CodingError) -> Touched {
        _ = try blobs()
        var objects: [ObjectNumber] = []
        var rest = changeReader
        while let change = try rest.next() { objects.append(change.object.number) }
        return Touched(
            entities: chunks.map(\.tag).filter { $0 != Self.blobsTag }, objects: objects)
    }
}
