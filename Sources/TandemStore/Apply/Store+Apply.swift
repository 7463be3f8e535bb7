public import TandemModel

/// The application of transactions, which is a pure function of the store and the transaction (law
/// 6).
///
/// Nothing here depends on a clock, a random number, a locale or a hash order. Transactions were
/// planned before they are applied, so a failure is caused by the store or the disk, never by a
/// client.
extension Store {
    /// Applies the next transaction to the open write transaction.
    ///
    /// Throws ``StoreError``: `overQuota` if the memory map is full, or `damaged` if the
    /// transaction doesn't fit the store. After an error, ``revert()`` must be called before the
    /// store is used again. Cost: a few microseconds per object.
    public func apply(_ encoded: EncodedTransaction) throws(StoreError) {
        guard !encoded.isModel else {
            return try apply(decoding(encoded) { e throws(CodingError) in try e.decoded() })
        }
        var transaction = try decoding(encoded) { e throws(CodingError) in
            try e.decodedHeader()
        }
        transaction.blobs = try decoding(encoded) { e throws(CodingError) in try e.blobs() }
        let model = try begin(transaction)
        let open = try current
        var applied = AppliedChanges()
        var reader = encoded.changeReader
        while let change = try decoding(
            encoded, { _ throws(CodingError) in try reader.next() })
        {
            // Bytes from the journal have to be checked; a transaction that was just planned is
            // known to be valid.
            guard let entity = model.entity(tagged: change.object.tag), change.isValid(for: entity)
            else { throw misfit(change.object, transaction.position) }
            try apply(change, transaction.position, entity, open)
            applied.record(change.kind, change.object, change.row)
        }
        try end(transaction, applied, open)
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

    private func rowless(_ object: ObjectReference) -> StoreError {
        StoreError(
            .damaged, "the store at \(path) has no row of object \(object.number) to change")
    }

    private func misfit(_ object: ObjectReference, _ position: UInt64) -> StoreError {
        StoreError(
            .damaged,
            "transaction \(position) has a change of object \(object.number) "
                + "that does not fit the model")
    }

    /// Applies the next transaction, already decoded and planned with the store's model.
    ///
    /// Throws ``StoreError``, as for an encoded transaction.
    public func apply(_ transaction: Transaction) throws(StoreError) {
        if case .model(let bytes) = transaction.content {
            try checkIsNext(transaction)
            let open = try current
            try install(bytes, at: transaction.position, open)
            return try end(transaction, AppliedChanges(), open)
        }
        let model = try begin(transaction)
        let open = try current
        var applied = AppliedChanges()
        // Changes are borrowed, because copying one updates a dozen reference counts.
        let changes = transaction.changes
        let span = changes.span
        for index in span.indices {
            let object = span[index].object
            guard let entity = model.entity(tagged: object.tag) else {
                throw misfit(object, transaction.position)
            }
            try apply(span[index], transaction.position, entity, open)
            applied.record(span[index].kind, object, span[index].row)
        }
        try end(transaction, applied, open)
    }

    private func checkIsNext(_ transaction: Transaction) throws(StoreError) {
        guard transaction.position == appliedPosition + 1 else {
            throw StoreError(
                .damaged,
                "the store at \(path) is at position \(appliedPosition), so transaction "
                    + "\(transaction.position) cannot be applied to it")
        }
    }

    /// Carries out the steps before a transaction's changes, and returns the model under which they
    /// apply.
    private func begin(_ transaction: Transaction) throws(StoreError) -> CompiledModel {
        try checkIsNext(transaction)
        guard let model else {
            throw StoreError(
                .damaged, "the store at \(path) has no model to apply objects with")
        }
        try add(transaction.blobs, at: transaction.position, try current)
        uncommittedBytes += transaction.blobs.reduce(0) { $0 + $1.content.count }
        return model
    }

    /// Carries out the steps after a transaction's changes.
    private func end(
        _ transaction: Transaction, _ applied: AppliedChanges, _ open: LMDBTransaction
    ) throws(StoreError) {
        assert(
            transaction.position == appliedPosition + 1,
            "Transactions are applied in order and each once.")
        assert(openTransaction === open, "All changes go into the open transaction.")
        uncommittedChanges += applied.count
        uncommittedBytes += applied.bytes
        appliedChanges += UInt64(applied.count)
        if !transaction.saveID.isEmpty {
            // The answer to a batch is its progress, without the inserted objects.
            let outcomes =
                transaction.batch == nil
                ? transaction.outcomes(inserted: applied.inserted.sorted()) : []
            try remember(transaction, outcomes, open)
        }
        try forget(transaction.position, open)
        appliedPosition = transaction.position
        checkInvariants()
    }

    private func apply(
        _ change: Change, _ position: UInt64, _ entity: CompiledEntity, _ open: LMDBTransaction
    ) throws(StoreError) {
        let object = change.object
        switch change.kind {
        case .insert: try insert(change.row, of: object, entity, position, open)
        case .update where try isLost(object):
            try insert(change.row, of: object, entity, position, open)
        case .delete where try isLost(object): break
        case .update:
            let version = try version(of: change, position, entity)
            // The old row is needed only if an indexed property or a value stored outside the row
            // changes.
            guard
                !change.changed.intersection(entity.keyed).isEmpty || change.hasBlobs(in: entity)
            else {
                try replace(change.row, of: object, version, open)
                break
            }
            let old = try stored(object)?.row
            try unindex(old, object, entity, replacedBy: change.row, open)
            try write(
                change.row, replacing: old, of: object, entity, position, version: version, open)
        case .delete:
            let old = try stored(object)?.row
            try unindex(old, object, entity, replacedBy: nil, open)
            try countBlobs(nil, replacing: old, entity, at: position, open)
            try open.delete(tables.rows, SmallKey(row: object))
            writtenRows.remove(object)
        case .touch: break
        }
        for link in change.links { try apply(link, of: object, entity, open) }
    }

    private func insert(
        _ row: Row?, of object: ObjectReference, _ entity: CompiledEntity, _ position: UInt64,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let next = object.number.successor else { throw misfit(object, position) }
        try open.put(tables.numbers, SmallKey(number: object.number), tag: object.tag)
        nextNumber = max(nextNumber, next)
        try write(row, of: object, entity, position, open)
    }

    /// Whether an object's row is missing from a store that may have lost objects.
    private func isLost(_ object: ObjectReference) throws(StoreError) -> Bool {
        guard options.acceptsLosses else { return false }
        return try stored(object) == nil
    }

    /// Returns the new version of an updated row.
    ///
    /// The version is unchanged if only derived attributes changed. An edit of an object therefore
    /// doesn't conflict with additions to a relationship that the object counts.
    private func version(
        of change: Change, _ position: UInt64, _ entity: CompiledEntity
    ) throws(StoreError) -> UInt64 {
        guard !entity.derived.isEmpty, change.changed.intersection(entity.settable).isEmpty else {
            return position
        }
        return try stored(change.object)?.version ?? position
    }

    private func write(
        _ row: Row?, replacing old: Row? = nil, of object: ObjectReference,
        _ entity: CompiledEntity, _ position: UInt64, version: UInt64? = nil,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let row else { return }
        try put(row, of: object, version ?? position, open)
        try index(row, object, entity, unlessSameAs: old, open)
        try countBlobs(row, replacing: old, entity, at: position, open)
    }

    func put(
        _ row: Row?, of object: ObjectReference, _ position: UInt64, _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let row else { return }
        try open.put(tables.rows, SmallKey(row: object), count: 8 + row.bytes.count) { value in
            Store.fill(value, row, position)
        }
        writtenRows.record(row, of: object, at: position)
    }

    /// Replaces the row of an object; throws `damaged` if there is none.
    private func replace(
        _ row: Row?, of object: ObjectReference, _ position: UInt64, _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let row else { return }
        if writtenRows.contains(object) {
            assert(
                writtenRows[object].map(isStored) ?? false, "A cached row exists in the store.")
            return try put(row, of: object, position, open)
        }
        let isThere = try open.replace(
            tables.rows, SmallKey(row: object), count: 8 + row.bytes.count
        ) { value in
            Store.fill(value, row, position)
        }
        guard isThere else { throw rowless(object) }
        writtenRows.record(row, of: object, at: position)
    }

    private static func fill(
        _ value: UnsafeMutableRawBufferPointer, _ row: Row, _ position: UInt64
    ) {
        assert(value.count == versionBytes + row.bytes.count, "The row fills its space.")
        value.storeBytes(of: position.littleEndian, as: UInt64.self)
        UnsafeMutableRawBufferPointer(rebasing: value[8...]).copyBytes(from: row.bytes)
    }

    /// Adds a row to its indexes and unique keys, except to those for which `old` has the same
    /// values.
    func index(
        _ row: Row, _ object: ObjectReference, _ entity: CompiledEntity, unlessSameAs old: Row?,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        for index in entity.indexes where !isSame(row, old, index, entity) {
            let key = StoreKey.index(index, row, entity, object.number)
            try open.put(tables.indexes, key, tag: object.tag)
        }
        for index in entity.uniqueness where !isSame(row, old, index, entity) {
            guard let key = StoreKey.unique(index, row, entity) else { continue }
            try open.put(
                tables.unique, key, StoreKey.tag(object.tag) + StoreKey.number(object.number))
        }
    }

    /// Removes a row from the indexes for which `new` has different values, or from all if `new` is
    /// nil.
    private func unindex(
        _ old: Row?, _ object: ObjectReference, _ entity: CompiledEntity, replacedBy new: Row?,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let old else { throw rowless(object) }
        for index in entity.indexes where !isSame(old, new, index, entity) {
            try open.delete(
                tables.indexes, StoreKey.index(index, old, entity, object.number))
        }
        for index in entity.uniqueness where !isSame(old, new, index, entity) {
            guard let key = StoreKey.unique(index, old, entity) else { continue }
            // Another object may have taken over the key earlier in the same transaction.
            let owner = try open.get(tables.unique, key).map { value throws(StoreError) in
                try holder(value).number
            }
            if owner == object.number { try open.delete(tables.unique, key) }
        }
    }

    private func isSame(
        _ row: Row, _ other: Row?, _ index: CompiledIndex, _ entity: CompiledEntity
    ) -> Bool {
        guard let other else { return false }
        return index.slots.allSatisfy { row.hasSameValue(as: other, $0, in: entity) }
    }

    private func apply(
        _ link: LinkChange, of object: ObjectReference, _ entity: CompiledEntity,
        _ open: LMDBTransaction
    ) throws(StoreError) {
        guard let relationship = entity.properties[link.slot].relationship else { return }
        let key = SmallKey(link: relationship.linkID, object.number, link.target.number)
        guard link.isAdded else {
            lastRanks.remove(link.rank, relationship.linkID, of: object.number)
            return _ = try open.delete(tables.links, key)
        }
        guard let rank = link.rank else {
            return try open.put(tables.links, key, tag: link.target.tag)
        }
        lastRanks.add(rank, relationship.linkID, of: object.number)
        try open.put(tables.links, key, count: 2 + rank.bytes.count) { value in
            value.storeBytes(of: link.target.tag.bigEndian, as: UInt16.self)
            UnsafeMutableRawBufferPointer(rebasing: value[2...]).copyBytes(from: rank.bytes)
        }
    }
}

/// The totals of a transaction's applied changes.
private struct AppliedChanges {
    var count = 0
    /// The size of the rows.
    var bytes = 0
    var inserted: [ObjectReference] = []

    mutating func record(_ kind: Change.Kind, _ object: ObjectReference, _ row: Row?) {
        count += 1
        bytes += row?.bytes.count ?? 0
        if kind == .insert { inserted.append(object) }
    }
}
