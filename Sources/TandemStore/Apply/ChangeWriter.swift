import TandemModel

/// Applies single changes: writes rows and everything that follows from them.
final class ChangeWriter {
    let rows: RowTable
    let indexes: IndexWriter
    let links: LinkWriter
    let blobs: BlobTable
    let numbers: UsedNumbers
    private let acceptsLosses: Bool

    init(_ tables: StoreTables, _ options: StoreOptions, path: String, _ decoder: EntryDecoder) {
        rows = RowTable(tables.rows, decoder)
        indexes = IndexWriter(tables, decoder)
        links = LinkWriter(tables.links)
        blobs = BlobTable(tables, path: path, acceptsLosses: options.acceptsLosses)
        numbers = UsedNumbers(tables.numbers)
        acceptsLosses = options.acceptsLosses
    }

    /// Empties the caches; required after a transaction was aborted or tables were written
    /// directly.
    func forgetCached() {
        rows.forgetCached()
        links.forgetCached()
    }

    /// Writes a change of the transaction at `position` to the open LMDB transaction.
    ///
    /// Throws `damaged` if the change doesn't fit the store.
    func apply(
        _ change: Change, _ position: UInt64, _ entity: CompiledEntity, _ open: LMDBTransaction
    ) throws(StoreError) {
        assert(change.object.tag == entity.tag, "A change is applied with its object's entity.")
        let object = change.object
        switch change.kind {
        case .insert: try insert(change.row, of: object, entity, position, open)
        case .update where try isLost(object, entity, open):
            try insert(change.row, of: object, entity, position, open)
        case .delete where try isLost(object, entity, open): break
        case .update:
            let version = try version(of: change, position, entity, open)
            // The old row is needed only if an indexed property or a value stored outside the row
            // changes.
            guard
                !change.changed.intersection(entity.keyed).isEmpty || change.hasBlobs(in: entity)
            else {
                if let row = change.row {
                    try rows.replace(row, of: object, version: version, open)
                }
                break
            }
            let old = try rows.stored(object, entity, open)?.row
            try indexes.remove(old, object, entity, replacedBy: change.row, open)
            try write(
                change.row, replacing: old, of: object, entity, position, version: version, open)
        case .delete:
            let old = try rows.stored(object, entity, open)?.row
            try indexes.remove(old, object, entity, replacedBy: nil, open)
            try blobs.count(nil, replacing: old, entity, at: position, open)
            try rows.delete(object, open)
        case .touch: break
        }
        for link in change.links { try links.apply(link, of: object, entity, open) }
    }

    private func insert(
        _ row: Row?, of object: ObjectReference, _ entity: CompiledEntity, _ position: UInt64,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        guard try numbers.use(object, open) else {
            throw ChangeWriter.misfit(object, position)
        }
        try write(row, of: object, entity, position, version: position, open)
    }

    /// Whether an object's row is missing from a store that may have lost objects.
    private func isLost(
        _ object: ObjectReference, _ entity: CompiledEntity, _ open: LMDBTransaction
    ) throws(StoreError) -> Bool {
        guard acceptsLosses else { return false }
        return try rows.stored(object, entity, open) == nil
    }

    /// Returns the new version of an updated row.
    ///
    /// The version is unchanged if only derived attributes changed. An edit of an object therefore
    /// doesn't conflict with additions to a relationship that the object counts.
    private func version(
        of change: Change, _ position: UInt64, _ entity: CompiledEntity, _ open: LMDBTransaction
    ) throws(StoreError) -> UInt64 {
        guard !entity.derived.isEmpty, change.changed.intersection(entity.settable).isEmpty else {
            return position
        }
        return try rows.stored(change.object, entity, open)?.version ?? position
    }

    private func write(
        _ row: Row?, replacing old: Row? = nil, of object: ObjectReference,
        _ entity: CompiledEntity, _ position: UInt64, version: UInt64, _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let row else { return }
        try rows.put(row, of: object, version: version, open)
        try indexes.add(row, object, entity, unlessSameAs: old, open)
        try blobs.count(row, replacing: old, entity, at: position, open)
    }

    /// Returns the error for a change of an object that doesn't fit the model.
    static func misfit(_ object: ObjectReference, _ position: UInt64) -> StoreError {
        StoreError(
            .damaged,
            "transaction \(position) has a change of object \(object.number) "
                + "that does not fit the model")
    }
}
