import TandemModel

/// Applies whole transactions to the open write transaction of a store.
///
/// The result is a pure function of the store and the transaction (law 6). Nothing here depends on
/// a clock, a random number, a locale or a hash order. Transactions are planned before they are
/// applied, so a failure is caused by the store or the disk, never by a client.
final class TransactionWriter {
    private let writer: ChangeWriter
    private let saveIDs: SaveIDTable
    private let models: ModelTable
    private let path: String
    /// The changes applied since the last checkpoint.
    private(set) var uncommitted = AppliedTotals()
    /// The number of changes applied since the store was opened.
    private(set) var appliedChanges: UInt64 = 0

    init(_ writer: ChangeWriter, _ saveIDs: SaveIDTable, _ models: ModelTable, path: String) {
        self.writer = writer
        self.saveIDs = saveIDs
        self.models = models
        self.path = path
    }

    /// Records a checkpoint or a revert to one: no change is uncommitted.
    func didCheckpoint() {
        uncommitted = AppliedTotals()
        saveIDs.didCheckpoint()
    }

    /// Applies the next transaction, and moves the view to its position.
    ///
    /// Throws `overQuota` if the memory map is full, or `damaged` if the transaction doesn't fit
    /// the store. After an error, the open transaction must be aborted.
    func apply(
        _ encoded: EncodedTransaction, to view: StoreView, _ open: LMDBTransaction
    ) throws(StoreError) {
        guard !encoded.isModel else {
            let decoded = try decoding(encoded) { e throws(CodingError) in try e.decoded() }
            return try apply(decoded, to: view, open)
        }
        var transaction = try decoding(encoded) { e throws(CodingError) in
            try e.decodedHeader()
        }
        transaction.blobs = try decoding(encoded) { e throws(CodingError) in try e.blobs() }
        let model = try begin(transaction, view, open)
        var applied = AppliedChanges()
        var reader = encoded.changeReader
        while let change = try decoding(
            encoded, { _ throws(CodingError) in try reader.next() })
        {
            // Changes decoded from the journal have to be checked; a transaction that was just
            // planned is known to be valid.
            guard let entity = model.entity(tagged: change.object.tag), change.isValid(for: entity)
            else { throw ChangeWriter.misfit(change.object, transaction.position) }
            try writer.apply(change, transaction.position, entity, open)
            applied.record(change.kind, change.object, change.row)
        }
        try end(transaction, applied, view, open)
    }

    private func decoding<Result>(
        _ encoded: EncodedTransaction,
        _ body: (EncodedTransaction) throws(CodingError) -> Result
    ) throws(StoreError) -> Result {
        do {
            return try body(encoded)
        } catch {
            throw StoreError(
                .damaged, "transaction \(encoded.position) cannot be decoded: \(error)")
        }
    }

    /// Applies the next transaction, already decoded and planned with the view's model.
    ///
    /// Throws as for an encoded transaction.
    func apply(
        _ transaction: Transaction, to view: StoreView, _ open: LMDBTransaction
    ) throws(StoreError) {
        if case .model(let bytes) = transaction.content {
            try checkIsNext(transaction, view)
            uncommitted.changes += try models.install(
                bytes, at: transaction.position, in: view, writer, open)
            return try end(transaction, AppliedChanges(), view, open)
        }
        let model = try begin(transaction, view, open)
        var applied = AppliedChanges()
        // Changes are borrowed, because copying one updates a dozen reference counts.
        let changes = transaction.changes
        let span = changes.span
        for index in span.indices {
            let object = span[index].object
            guard let entity = model.entity(tagged: object.tag) else {
                throw ChangeWriter.misfit(object, transaction.position)
            }
            try writer.apply(span[index], transaction.position, entity, open)
            applied.record(span[index].kind, object, span[index].row)
        }
        try end(transaction, applied, view, open)
    }

    private func checkIsNext(
        _ transaction: Transaction, _ view: StoreView
    ) throws(StoreError) {
        guard transaction.position == view.appliedPosition + 1 else {
            throw StoreError(
                .damaged,
                "the store at \(path) is at position \(view.appliedPosition), so transaction "
                    + "\(transaction.position) cannot be applied to it")
        }
    }

    /// Carries out the steps before a transaction's changes, and returns the model under which they
    /// apply.
    private func begin(
        _ transaction: Transaction, _ view: StoreView, _ open: LMDBTransaction
    ) throws(StoreError) -> CompiledModel {
        try checkIsNext(transaction, view)
        guard let model = view.model else {
            throw StoreError(
                .damaged, "the store at \(path) has no model, so objects cannot be applied to it")
        }
        uncommitted.changes += try writer.blobs.add(
            transaction.blobs, at: transaction.position, open)
        uncommitted.bytes += transaction.blobs.reduce(0) { $0 + $1.content.count }
        return model
    }

    /// Carries out the steps after a transaction's changes.
    private func end(
        _ transaction: Transaction, _ applied: AppliedChanges, _ view: StoreView,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        assert(
            transaction.position == view.appliedPosition + 1,
            "Transactions are applied in order, and each only once.")
        assert(view.openTransaction === open, "All changes go into the open transaction.")
        uncommitted.changes += applied.count
        uncommitted.bytes += applied.bytes
        appliedChanges += UInt64(applied.count)
        if !transaction.saveID.isEmpty {
            // The answer to a batch is its progress, without the inserted objects.
            let outcomes =
                transaction.batch == nil
                ? transaction.outcomes(inserted: applied.inserted.sorted()) : []
            try saveIDs.remember(transaction, outcomes, open)
        }
        try saveIDs.forget(transaction.position, open)
        view.show(transaction.position)
    }
}

/// The totals of a transaction's applied changes.
private struct AppliedChanges {
    var count = 0
    /// The size of the rows, in bytes.
    var bytes = 0
    var inserted: [ObjectReference] = []

    mutating func record(_ kind: Change.Kind, _ object: ObjectReference, _ row: Row?) {
        count += 1
        bytes += row?.bytes.count ?? 0
        if kind == .insert { inserted.append(object) }
    }
}
