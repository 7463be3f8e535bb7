import TandemModel

/// Migrates a store from one model to the next, in one open transaction and in steps of keys.
///
/// The result depends only on the two models and the store (law 6). Compliance with the new rules
/// has already been checked.
final class StoreMigration {
    private let store: Store
    private let old: CompiledModel
    private let new: CompiledModel
    private let position: UInt64
    private let open: LMDBTransaction
    private let dropped: Set<EntityTag>
    /// The number of rows written or removed.
    private(set) var written = 0

    init(
        _ store: Store, from old: CompiledModel, to new: CompiledModel, at position: UInt64,
        _ open: LMDBTransaction
    ) {
        self.store = store
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
            store.tables.indexes, Self.ids(old) { $0.indexes }, Self.ids(new) { $0.indexes })
        try removeKeys(
            store.tables.unique, Self.ids(old) { $0.uniqueness }, Self.ids(new) { $0.uniqueness })
        try removeKeys(store.tables.links, Self.links(old), Self.links(new))
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

    /// Removes the keys that begin with an id that the new model doesn't use.
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
        try store.rows(of: entity.tag) { (stored) throws(StoreError) in
            for index in entity.indexes {
                try open.delete(
                    store.tables.indexes,
                    StoreKey.index(index, stored.row, entity, stored.object.number))
            }
            for index in entity.uniqueness { try free(index, stored, entity) }
            for property in entity.properties { try removeLinks(of: stored, property, entity) }
            for blob in stored.row.blobs(in: entity) { try store.count(blob, -1, position, open) }
            try open.delete(store.tables.rows, SmallKey(row: stored.object))
            written += 1
        }
    }

    /// Removes the links of a dropped object's relationship, in both directions.
    private func removeLinks(
        of stored: Store.Stored, _ property: CompiledProperty, _ entity: CompiledEntity
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
            return _ = try open.delete(
                store.tables.links, SmallKey(link: inverse, target.number, number))
        }
        for member in try store.members(of: number, relationship) {
            try open.delete(
                store.tables.links, SmallKey(link: relationship.linkID, number, member.number))
            guard inverse != 0 else { continue }
            try open.delete(store.tables.links, SmallKey(link: inverse, member.number, number))
        }
    }

    /// Removes a row's unique key if the row holds it.
    private func free(
        _ index: CompiledIndex, _ stored: Store.Stored, _ entity: CompiledEntity
    ) throws(StoreError) {
        guard let key = StoreKey.unique(index, stored.row, entity),
            let value = try open.get(store.tables.unique, key),
            try store.holder(value).number == stored.object.number
        else { return }
        try open.delete(store.tables.unique, key)
    }

    // MARK: Kept entities

    private func rewrite(
        _ old: CompiledEntity, as new: CompiledEntity
    ) throws(StoreError) {
        let plan = RowMigration(from: old, to: new, dropped: dropped)
        let indexes = Pairs(old.indexes, new.indexes, plan)
        let uniqueness = Pairs(old.uniqueness, new.uniqueness, plan)
        let hasBlobs = !old.layout.hasNoLongColumns || !new.layout.hasNoLongColumns
        try store.rows(of: old.tag) { (stored) throws(StoreError) in
            let values = try store.deriving(
                plan.derives, plan.values(of: stored.row), of: stored, new, at: position, open)
            let row = Row(values, of: new, version: self.new.version)
            let (object, number) = (stored.object, stored.object.number)
            for pair in indexes.moved {
                let key = StoreKey.index(pair.new, row, new, number)
                if let before = pair.old.map({ StoreKey.index($0, stored.row, old, number) }) {
                    if before == key { continue }
                    try open.delete(store.tables.indexes, before)
                }
                try open.put(store.tables.indexes, key, tag: object.tag)
            }
            for pair in uniqueness.moved {
                if let before = pair.old { try free(before, stored, old) }
                guard let key = StoreKey.unique(pair.new, row, new) else { continue }
                try open.put(
                    store.tables.unique, key, StoreKey.tag(object.tag) + StoreKey.number(number))
            }
            if hasBlobs { try count(stored.row.blobs(in: old), row.blobs(in: new)) }
            try store.put(row, of: object, stored.version, open)
            written += 1
        }
        store.writtenRows.removeAll()
        store.lastRanks.removeAll()
    }

    private func count(
        _ lost: [BlobReference], _ gained: [BlobReference]
    ) throws(StoreError) {
        guard Set(lost) != Set(gained) || lost.count != gained.count else { return }
        for blob in gained { try store.count(blob, 1, position, open) }
        for blob in lost { try store.count(blob, -1, position, open) }
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
