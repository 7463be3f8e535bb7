import TandemModel

extension FuzzTarget {
    /// Encoded transactions, as in the journal and on the wire.
    static let transactions = FuzzTarget("transactions", seeds: transactionSeeds) { input in
        guard let transaction = try? EncodedTransaction(bytes: input) else { return }
        try TransactionProperties.check(transaction)
    }

    @Sendable private static func transactionSeeds() -> [[UInt8]] {
        var maker = MessageMaker(seed: 3)
        var seeds = (0..<20).map { _ in maker.transaction().bytes }
        guard let graph = SampleGraph.shared else { return seeds }
        let inserts = graph.objects.map { object in
            Change(
                .insert, object, changed: PropertyMask(low: 3, high: 0), row: graph.rows[object])
        }
        seeds.append(EncodedTransaction(Transaction(position: 1, content: .objects(inserts))).bytes)
        var update = inserts[1]
        update.kind = .update
        update.before = [SlotValue(slot: 9, value: .int(2)), SlotValue(slot: 5, value: .null)]
        update.links = [LinkChange(slot: 8, target: inserts[4].object, isAdded: false)]
        let deleted = Change(
            .delete, inserts[2].object, changed: PropertyMask(), deleted: inserts[2].row)
        seeds.append(
            EncodedTransaction(
                Transaction(position: 2, saveID: [1, 2], content: .objects([update, deleted]))
            ).bytes)
        var model = ByteWriter()
        graph.model.encode(into: &model)
        seeds.append(EncodedTransaction(Transaction(content: .model(model.bytes))).bytes)
        return seeds
    }
}

/// The properties of transactions.
enum TransactionProperties {
    static func check(_ encoded: EncodedTransaction) throws {
        let header = try? encoded.decodedHeader()
        try hold(header?.position == encoded.position, "the position is read in two ways")
        try checkParts(encoded)
        _ = try? encoded.blobs()
        let changes = try? encoded.changes()
        if let changes { try checkChanges(changes) }
        guard let decoded = try? encoded.decoded() else { return }
        let second = EncodedTransaction(decoded)
        guard let bytes = try? EncodedTransaction(bytes: second.bytes), bytes == second,
            let again = try? bytes.decoded()
        else { throw FuzzFinding("an encoded transaction cannot be decoded") }
        try hold(
            EncodedTransaction(again) == second,
            "a transaction changes when it is decoded and encoded")
        try hold(
            again.changes.count == decoded.changes.count,
            "a change is lost when a transaction is decoded and encoded")
    }

    /// Checks that filters remove whole chunks and leave a readable transaction.
    private static func checkParts(_ encoded: EncodedTransaction) throws {
        try hold(encoded.filtered { _ in true }?.bytes != [], "the filter removed all chunks")
        let parts = [
            encoded.withoutBlobs, encoded.filtered { $0 % 2 == 1 }, encoded.placed(at: 9, time: -1),
        ]
        for case .some(let part) in parts {
            guard let read = try? EncodedTransaction(bytes: part.bytes) else {
                throw FuzzFinding("a filtered transaction cannot be read")
            }
            try hold(read == part, "a filtered transaction changes when it is decoded and encoded")
        }
        try hold(encoded.placed(at: 9, time: -1).position == 9, "the position was not set")
        try hold(encoded.blobBytes >= 0, "a negative size")
    }

    private static func checkChanges(_ changes: [Change]) throws {
        let graph = try SampleGraph.get()
        for change in changes {
            guard let entity = graph.model.entity(tagged: change.object.tag),
                change.isValid(for: entity)
            else { continue }
            for case .some(let row) in [change.row, change.deleted] {
                try RowProperties.check(row, entity)
            }
            guard let before = change.rowBefore(in: entity) else { continue }
            try hold(before.isValid(for: entity), "the row before a valid change is not valid")
        }
    }
}
