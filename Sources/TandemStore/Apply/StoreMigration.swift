import TandemModel

/// Migrates a store from one model to the next, in one transaction and a bounded number of keys at
/// a time.
///
/// The result depends only on the two models and the store (law 6). The caller has checked that the
/// stored objects satisfy the new rules.
final class StoreMigration {
    private let view: StoreView
    private let writer: ChangeWriter
    private let tables: StoreTables
    private let old: CompiledModel
    private let new: CompiledModel
    private let position: UInt64
    private let open: LMDBTransaction
    private let dropped: Set<EntityTag>
    /// The number of rows written or removed; a blob counts as several.
    private(set) var written = 0

    /// Creates the migration of a view that still uses the old model.
    init(
        _ view: StoreView, _ writer: ChangeWriter, from old: CompiledModel, to new: CompiledModel,
        at position: UInt64, _ open: LMDBTransaction
    ) {
        assert(view.model?.hash == old.hash, "The view still decodes rows with the old model.")
        self.view = view
        self.writer = writer
        tables = view.tables
        self.old = old
        self.new = new
        self.position = position
        self.open = open
        dropped = StoreMigration.dropped(from: old, to: new)
    }

    /// Returns the tags of the entities that the new model doesn't have.
    static func dropped(from old: CompiledModel, to new: CompiledModel) -> Set<EntityTag> {
        Set(old.entities.map(\.tag).filter { new.entity(tagged: $0) == nil })
    }

    func run() throws(StoreError) {
        for entity in old.entities where dropped.contains(entity.tag) { try remove(entity) }
        for entity in new.entities {
            guard let before = old.entity(tagged: entity.tag) else { continue }
            try rewrite(before, as: entity)
        }
        try removeKeys(
            tables.indexes, Self.ids(old) { $0.indexes }, Self.ids(new) { $0.indexes })
        try removeKeys(
            tables.unique, Self.ids(old) { $0.uniqueness }, Self.ids(new) { $0.uniqueness })
        try removeKeys(tables.links, Self.links(old), Self.links(new))
    }

    private static func ids(
        _ model: CompiledModel, _ indexes: (CompiledEntity) -> [CompiledIndex]
    ) -> Set<UInt16> {
        Set(model.entities.flatMap { indexes($0).map(\.id) })
    }

    private static func links(_ model: CompiledModel) -> Set<UInt16> {
        Set(model.entities.flatMap { $0.properties.compactMap { $0.relationship?.linkID } })
            .subtracting([0])
    }

    /// Removes the keys that begin with an id that the new model no longer uses.
    private func removeKeys(
        _ table: LMDBTable, _ old: Set<UInt16>, _ new: Set<UInt16>
    ) throws(StoreError) {
        for id in old.subtracting(new).sorted() {
            let prefix = StoreKey.tag(id)
            var step: [[UInt8]] = []
            repeat {
                step.removeAll(keepingCapacity: true)
                try open.scan(table, from: prefix) { key, _ in
                    guard key.starts(with: prefix) else { return false }
                    step.append(Array(key))
                    return step.count < StoreLimits.migrationStep
                }
                for key in step { try open.delete(table, key) }
            } while step.count == StoreLimits.migrationStep
        }
    }

    // MARK: Dropped entities

    private func remove(_ entity: CompiledEntity) throws(StoreError) {
        try view.rows(of: entity.tag) { (stored) throws(StoreError) in
            try writer.indexes.remove(
                stored.row, stored.object, entity, replacedBy: nil, open)
            for property in entity.properties { try removeLinks(of: stored, property, entity) }
            for blob in stored.row.blobs(in: entity) {
                try writer.blobs.count(blob, -1, position, open)
            }
            try writer.rows.delete(stored.object, open)
            written += 1
        }
    }

    /// Removes the links of a dropped object's relationship, in both directions.
    private func removeLinks(
        of stored: StoredObject, _ property: CompiledProperty, _ entity: CompiledEntity
    ) throws(StoreError) {
        guard let relationship = property.relationship else { return }
        let inverse =
            old.entity(tagged: relationship.destination)?
            .properties[relationship.inverseSlot].relationship?.linkID ?? 0
        let number = stored.object.number
        guard relationship.toMany else {
            guard inverse != 0,
                let target = stored.row.uncheckedValue(property.slot, in: entity).reference
            else { return }
            return try writer.links.remove(inverse, from: target.number, to: number, open)
        }
        for member in try view.members(of: number, relationship) {
            try writer.links.remove(relationship.linkID, from: number, to: member.number, open)
            guard inverse != 0 else { continue }
            try writer.links.remove(inverse, from: member.number, to: number, open)
        }
    }

    private func release(
        _ index: CompiledIndex, _ stored: StoredObject, _ entity: CompiledEntity
    ) throws(StoreError) {
        try writer.indexes.release(index, stored.row, stored.object.number, entity, open)
    }

    // MARK: Kept entities

    private func rewrite(
        _ old: CompiledEntity, as new: CompiledEntity
    ) throws(StoreError) {
        let plan = RowMigration(from: old, to: new, dropped: dropped)
        let indexes = Pairs(old.indexes, new.indexes, plan)
        let uniqueness = Pairs(old.uniqueness, new.uniqueness, plan)
        let hasBlobs = !old.layout.hasNoLongColumns || !new.layout.hasNoLongColumns
        try view.rows(of: old.tag) { (stored) throws(StoreError) in
            let values = try deriving(plan.derives, plan.values(of: stored.row), stored, new)
            let row = Row(values, of: new, version: self.new.version)
            let (object, number) = (stored.object, stored.object.number)
            for pair in indexes.moved {
                try writer.indexes.move(
                    object, open,
                    from: pair.old.map { StoreKey.index($0, stored.row, old, number) },
                    to: StoreKey.index(pair.new, row, new, number))
            }
            for pair in uniqueness.moved {
                if let before = pair.old { try release(before, stored, old) }
                try writer.indexes.claim(pair.new, row, object, new, open)
            }
            if hasBlobs { try count(stored.row.blobs(in: old), row.blobs(in: new)) }
            try writer.rows.put(row, of: object, version: stored.version, open)
            written += 1
        }
        writer.forgetCached()
    }

    /// Returns the values of a row with its derived attributes, for an entity of the new model.
    private func deriving(
        _ derivations: [CompiledDerivation], _ values: [PropertyValue], _ stored: StoredObject,
        _ entity: CompiledEntity
    ) throws(StoreError) -> [PropertyValue] {
        var values = values
        for derivation in derivations {
            let value = try view.derived(
                derivation, of: stored.object.number, entity, from: values[derivation.source])
            if case .string(let text) = value, value.inRow.outside != nil {
                written += try writer.blobs.add([Blob(Array(text.utf8))], at: position, open)
            }
            values[derivation.slot] = value.inRow
        }
        return values
    }

    private func count(
        _ lost: [BlobReference], _ gained: [BlobReference]
    ) throws(StoreError) {
        guard Set(lost) != Set(gained) || lost.count != gained.count else { return }
        for blob in gained { try writer.blobs.count(blob, 1, position, open) }
        for blob in lost { try writer.blobs.count(blob, -1, position, open) }
    }
}

/// The indexes of an entity whose keys may have changed.
private struct Pairs {
    var moved: [(old: CompiledIndex?, new: CompiledIndex)] = []

    init(_ old: [CompiledIndex], _ new: [CompiledIndex], _ plan: RowMigration) {
        for index in new {
            let before = old.first { $0.id == index.id }
            guard before == nil || !index.mask.intersection(plan.changed).isEmpty else { continue }
            moved.append((before, index))
        }
    }
}
