import TandemModel

/// A reader of the store that is checked, which returns nil for a malformed entry instead of
/// throwing.
struct CheckedGraph {
    let model: CompiledModel?
    /// The position of the store.
    let position: UInt64
    /// The to-many relationships by link id.
    let relationships: [UInt16: (owner: CompiledEntity, property: CompiledProperty)]
    private let tables: StoreTables
    private let open: LMDBTransaction

    init(_ store: StoreView) throws(StoreError) {
        tables = store.tables
        open = try store.current
        model = store.model
        position = store.appliedPosition
        relationships = Self.relationships(of: store.model)
    }

    private static func relationships(
        of model: CompiledModel?
    ) -> [UInt16: (owner: CompiledEntity, property: CompiledProperty)] {
        var relationships: [UInt16: (owner: CompiledEntity, property: CompiledProperty)] = [:]
        for entity in model?.entities ?? [] {
            for property in entity.properties where property.isToMany {
                guard let link = property.relationship?.linkID else { continue }
                // Subentities share the link id; the entity that declares the relationship includes
                // them.
                let known = relationships[link]?.owner
                if known.map({ entity.includes($0.tag) }) ?? true {
                    relationships[link] = (entity, property)
                }
            }
        }
        return relationships
    }

    /// Calls `body` with each key and value of a table, in key order.
    func scan(
        _ table: StoreTable, _ body: ([UInt8], [UInt8]) throws(StoreError) -> Void
    ) throws(StoreError) {
        try open.scan(tables[table], from: []) { (key, value) throws(StoreError) -> Bool in
            try body(Array(key), Array(value))
            return true
        }
    }

    /// Returns the value of a key, or nil if the key doesn't exist.
    func get(_ table: StoreTable, _ key: [UInt8]) throws(StoreError) -> [UInt8]? {
        try open.get(tables[table], key).map { Array($0) }
    }

    /// Returns the row of an object, or nil if it is missing or unreadable.
    func row(_ object: ObjectReference) throws(StoreError) -> Row? {
        guard let entity = model?.entity(tagged: object.tag),
            let value = try open.get(tables.rows, StoreKey.row(object)),
            let row = EntryDecoder.stored(object, value)?.row
        else { return nil }
        return row.isValid(for: entity) ? row : nil
    }

    /// Returns whether an object has a row.
    func exists(_ object: ObjectReference) throws(StoreError) -> Bool {
        try open.get(tables.rows, StoreKey.row(object)) != nil
    }

    /// Returns the object with a number in an entity or its subentities, or nil if there is none.
    func object(
        _ number: ObjectNumber, in entity: EntityTag
    ) throws(StoreError) -> ObjectReference? {
        for tag in model?.entity(tagged: entity)?.descendants ?? [] {
            let object = ObjectReference(tag: tag, number: number)
            if try exists(object) { return object }
        }
        return nil
    }

    /// Returns the id of an object, or nil if the model has no such entity.
    func id(_ object: ObjectReference) -> ObjectID? { model?.id(of: object) }
}
