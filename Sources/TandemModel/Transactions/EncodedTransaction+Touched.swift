extension EncodedTransaction {
    /// The keys of a transaction in the journal's indexes: its entities, its objects and its time.
    package struct Touched: Hashable, Sendable {
        /// The tags of the changed entities, without duplicates; 0 for a model.
        package var entities: [EntityTag]
        /// The numbers of the changed objects, grouped by entity.
        package var objects: [ObjectNumber]
        /// The time of the save, in microseconds since 1970.
        package var time: Int64
    }

    /// Returns the index keys of an encoded transaction; nil if the bytes are not a transaction.
    ///
    /// Cost: decodes the whole transaction.
    package static func touched(by bytes: [UInt8]) -> Touched? {
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
