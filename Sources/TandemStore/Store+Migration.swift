package import TandemModel

/// Installing a model: the first one, or one that replaces another, with every row rewritten that has another layout.
extension Store {
    func install(
        _ bytes: [UInt8], at position: UInt64, _ open: LMDBTransaction
    ) throws(StoreError) {
        var reader = ByteReader(bytes)
        let installed: CompiledModel
        do {
            installed = try CompiledModel(from: &reader)
        } catch {
            throw StoreError(
                .damaged, "the model in transaction \(position) can't be read: \(error)")
        }
        try open.put(tables.meta, MetaKey.model.key, bytes)
        if let model {
            for entity in installed.entities {
                guard let old = model.entity(tagged: entity.tag) else { continue }
                try rewrite(old, as: entity, installed.version, open)
            }
        }
        model = installed
        modelPosition = position
    }

    private func rewrite(
        _ old: CompiledEntity, as new: CompiledEntity, _ version: UInt16, _ open: LMDBTransaction
    ) throws(StoreError) {
        let plan = RowMigration(from: old, to: new)
        writtenRows.removeAll()
        var objects: [Stored] = []
        try open.scan(tables.rows, prefix: StoreKey.tag(old.tag)) {
            (key, value) throws(StoreError) -> Bool in
            objects.append(try stored(try object(old.tag, key, in: .rows), at: value))
            return true
        }
        for stored in objects {
            let row = Row(plan.values(of: stored.row), of: new, version: version)
            var value = ByteWriter(capacity: 8 + row.bytes.count)
            value.uint64(stored.version)
            value.raw(row.bytes)
            try open.put(tables.rows, StoreKey.row(stored.object), value.bytes)
            // Indexes keep their numbers; putting an entry that is there already changes nothing.
            try index(row, stored.object, new, unlessSameAs: nil, open)
        }
        uncommittedChanges += objects.count
    }
}

/// Where each value of a new row comes from.
package struct RowMigration {
    private let old: CompiledEntity
    private let defaults: [Value]
    private let sources: [Int?]

    package init(from old: CompiledEntity, to new: CompiledEntity) {
        self.old = old
        defaults = new.defaults
        sources = new.properties.map { property in
            let earlier =
                property.attribute?.renamedFrom ?? property.relationship?.declaration.renamedFrom
            return old.slot(of: property.name) ?? earlier.flatMap { old.slot(of: $0) }
        }
    }

    package func values(of row: Row) -> [Value] {
        sources.enumerated().map { slot, source in
            guard let source else { return defaults[slot] }
            return row.value(source, in: old)
        }
    }
}
