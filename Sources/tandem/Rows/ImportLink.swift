import Tandem

/// A link of a row: the object's id in the store from which the file was exported, and its unique
/// key if it has one.
struct ImportLink: Hashable {
    var id: ObjectID
    var key: UniqueKey?
    /// The link's JSON in the file.
    private let json: JSON
    /// The link's text in the file.
    var text: String { json.text }
}

extension ImportLink {
    /// Reads `"Team/3"` or `{"id": "Team/3", "key": {"name": "Qatar"}}`.
    init(
        _ json: JSON, _ property: CompiledProperty, _ model: CompiledModel
    ) throws(ImportValues.RowError) {
        let text = json.string ?? json["id"]?.string
        guard let id = text.flatMap({ ObjectID($0) }),
            let destination = property.relationship?.destination
        else {
            throw ImportValues.RowError(
                reason: "\(property.name): " + CommandFailure.notAnObjectID(json.text))
        }
        guard let entity = model.entity(named: id.entity),
            entity.tag == destination || entity.ancestors.contains(destination)
        else {
            let expected = model.entity(tagged: destination)?.name ?? ""
            throw ImportValues.RowError(
                reason: "\(property.name) refers to objects of \(expected), not to \(id)")
        }
        self.id = id
        self.json = json
        key = try json["key"].map { json throws(ImportValues.RowError) in
            try Self.key(json, entity, property)
        }
    }

    private static func key(
        _ json: JSON, _ entity: CompiledEntity, _ property: CompiledProperty
    ) throws(ImportValues.RowError) -> UniqueKey {
        let names = Set((json.object ?? [:]).keys)
        let constraint = UniqueKey.constraints(of: entity).first { Set($0.properties) == names }
        let key = constraint.flatMap { constraint in
            UniqueKey(constraint) { name in
                guard let type = entity.property(named: name)?.attribute?.type else { return .null }
                return json[name].flatMap { PropertyValue(json: $0, type: type) } ?? .null
            }
        }
        guard let key else {
            throw ImportValues.RowError(
                reason: "\(property.name): \(json.text) is not a unique key of \(entity.name)")
        }
        return key
    }
}
