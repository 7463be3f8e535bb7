import Tandem

/// The values of a uniqueness constraint, all of them non-null, which identify an object in any
/// store.
struct UniqueKey: Hashable {
    /// The id of the constraint.
    let constraint: UInt16
    private let values: [LinkKey]

    /// Creates the key of an object for a constraint; nil if a value is null.
    init?(_ constraint: CompiledIndex, _ value: (String) -> PropertyValue) {
        self.constraint = constraint.id
        values = constraint.properties.map { LinkKey(value: value($0)) }
        guard !values.contains(where: \.value.isNull) else { return nil }
    }

    /// Creates the key of an object for the first constraint of its entity whose values are all
    /// non-null; nil if there is none.
    init?(of entity: CompiledEntity, _ value: (String) -> PropertyValue) {
        for constraint in Self.constraints(of: entity) {
            if let key = Self(constraint, value) {
                self = key
                return
            }
        }
        return nil
    }

    /// Returns the values by property name.
    func json(_ constraint: CompiledIndex, _ model: CompiledModel) -> JSON {
        let pairs = zip(constraint.properties, values.map { ValueText.json($0.value, model) })
        return .object(Dictionary(uniqueKeysWithValues: pairs))
    }

    /// Returns the uniqueness constraints of an entity that contain only settable attributes.
    static func constraints(of entity: CompiledEntity) -> [CompiledIndex] {
        entity.uniqueness.filter { constraint in
            constraint.slots.allSatisfy {
                let property = entity.properties[$0]
                return property.attribute != nil && property.derivation == nil
            }
        }
    }
}

/// The objects to which a uniqueness constraint applies, by key and by id, at one position.
///
/// All of them are in memory, at about 200 bytes each.
struct UniqueKeys {
    private(set) var objects: [UniqueKey: ObjectID] = [:]
    private(set) var keys: [ObjectID: UniqueKey] = [:]

    @MainActor init(
        _ constraint: CompiledIndex, _ model: CompiledModel, _ context: ManagedObjectContext,
        at position: Position
    ) throws {
        guard let entity = model.entity(tagged: constraint.entity) else { return }
        let rows = ExportRows(context, at: position, label: "read \(entity.name)")
        try rows.each(FetchRequest(entity: entity.name), []) { object in
            if let key = UniqueKey(constraint, { object[$0] }) {
                objects[key] = object.id
                keys[object.id] = key
            }
            return MemoryLayout<PropertyValue>.stride * object.values.count
        } before: {
        }
    }
}
