/// A compiler that assigns numbers and slots to a validated model.
///
/// Entities, links and indexes without a number are numbered in order of their names, so the result
/// depends only on the model and the numbers assigned before.
struct ModelCompiler {
    let model: ManagedObjectModel
    let version: UInt16
    private(set) var identifiers: [String: UInt16]
    private var lastIdentifier: UInt16
    /// Whether the numbers were exhausted, which makes the result unusable.
    private(set) var isExhausted = false

    init(model: ManagedObjectModel, version: UInt16, identifiers: [String: UInt16]) {
        self.model = model
        self.version = version
        self.identifiers = identifiers
        lastIdentifier = identifiers.values.max() ?? 0
    }

    mutating func compile() -> [CompiledEntity] {
        let names = model.entities.keys.sorted()
        for name in names { _ = tag(name) }
        return names.compactMap { compile($0) }
    }

    private mutating func compile(_ name: String) -> CompiledEntity? {
        guard let lineage = model.lineage(of: name) else { return nil }
        let descendants = model.entities.keys.filter { other in
            model.lineage(of: other)?.contains { $0.name == name } ?? false
        }
        var uniqueness: [CompiledIndex] = []
        var indexes: [CompiledIndex] = []
        for entity in lineage.reversed() {
            uniqueness += entity.uniqueness.map {
                index(Self.key(unique: $0, of: entity.name), entity, $0)
            }
            indexes += entity.indexes.map {
                index(Self.key(index: $0, of: entity.name), entity, $0)
            }
        }
        return CompiledEntity(
            name: name, tag: tag(name), version: version, ancestors: lineage.map { tag($0.name) },
            descendants: descendants.map { tag($0) }.sorted(), properties: properties(lineage),
            uniqueness: uniqueness, indexes: indexes)
    }

    private mutating func properties(_ lineage: [Entity]) -> [CompiledProperty] {
        var result: [CompiledProperty] = []
        for entity in lineage.reversed() {
            for name in entity.ownNames.sorted() {
                guard let kind = kind(entity, name) else { continue }
                result.append(CompiledProperty(slot: result.count, name: name, kind: kind))
            }
        }
        return result
    }

    private mutating func kind(_ entity: Entity, _ name: String) -> CompiledProperty.Kind? {
        if let attribute = entity.attributes[name] { return .attribute(attribute) }
        guard let relationship = entity.relationships[name],
            let destination = model.entities[relationship.destination],
            let inverse = destination.relationships[relationship.inverse]
        else { return nil }
        return .relationship(
            CompiledRelationship(
                declaration: relationship, destination: tag(destination.name),
                inverseSlot: slot(of: inverse.name, in: destination), inverseToMany: inverse.toMany,
                linkID: relationship.toMany
                    ? identifier(Self.key(link: name, of: entity.name)) : 0))
    }

    private func slot(of property: String, in entity: Entity) -> Int {
        let lineage = model.lineage(of: entity.name) ?? []
        let names = lineage.reversed().flatMap { $0.ownNames.sorted() }
        return names.firstIndex(of: property) ?? 0
    }

    private mutating func index(
        _ key: String, _ entity: Entity, _ names: [String]
    ) -> CompiledIndex {
        CompiledIndex(
            id: identifier(key),
            entity: tag(entity.name), slots: names.map { slot(of: $0, in: entity) },
            properties: names)
    }

    private mutating func tag(_ name: String) -> EntityTag { identifier(Self.key(entity: name)) }

    // MARK: Keys of numbers

    static func key(entity name: String) -> String { "entity:\(name)" }

    static func key(link name: String, of entity: String) -> String { "link:\(entity).\(name)" }

    static func key(unique names: [String], of entity: String) -> String {
        "unique:\(entity)(\(names.joined(separator: ",")))"
    }

    static func key(index names: [String], of entity: String) -> String {
        "index:\(entity)(\(names.joined(separator: ",")))"
    }

    private mutating func identifier(_ key: String) -> UInt16 {
        if let known = identifiers[key] { return known }
        guard lastIdentifier < .max else {
            isExhausted = true
            return 0
        }
        lastIdentifier += 1
        identifiers[key] = lastIdentifier
        return lastIdentifier
    }
}
