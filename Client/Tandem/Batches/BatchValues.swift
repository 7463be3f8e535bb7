public import TandemModel
import TandemQuery
import TandemWire

/// The values that a batch sets in an object, by property name.
///
///     let values: BatchValues = ["zone": "Africa", "wins": 0, "coach": nil]
public struct BatchValues: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// The values of attributes.
    package var attributes: [String: PropertyValue]
    /// The targets of relationships; a to-one relationship has one target or none.
    package var objects: [String: [ObjectID]]
    /// The bytes that identify a row if a batch insert is repeated, in place of its values, which
    /// may have changed.
    package var identity: [UInt8]?

    /// Creates values from attributes and relationships.
    public init(
        _ attributes: [String: PropertyValue], objects: [String: [ObjectID]] = [:]
    ) {
        self.attributes = attributes
        self.objects = objects
    }

    /// Creates values of attributes; nil becomes null, and a repeated name keeps its last value.
    public init(dictionaryLiteral elements: (String, (any AttributeConvertible)?)...) {
        self.init(
            Dictionary(
                elements.map { ($0, $1?.attributeValue ?? .null) }, uniquingKeysWith: { $1 }))
    }

    /// Resolves the names in an entity to values of slots and links of to-many relationships.
    ///
    /// Throws `unknownProperty`, `unknownEntity`, and `usage` if a to-one relationship has several
    /// targets or a relationship is given an attribute value.
    func resolved(
        in entity: CompiledEntity, _ model: CompiledModel
    ) throws(TandemError) -> (values: [SlotValue], links: [LinkChange]) {
        var values: [SlotValue] = []
        values.reserveCapacity(attributes.count + objects.count)
        var links: [LinkChange] = []
        for (name, value) in attributes {
            let property = try property(name, in: entity)
            guard !property.isToMany, value.isNull || property.relationship == nil else {
                throw TandemError(
                    .usage, "\(entity.name).\(name) is a relationship; set it in `objects`")
            }
            values.append(SlotValue(slot: property.slot, value: value))
        }
        for (name, ids) in objects {
            let property = try property(name, in: entity)
            if property.isToMany {
                let targets = try ids.map { id throws(TandemError) in try reference(id, model) }
                links += Self.links(property, to: targets)
                continue
            }
            guard property.relationship != nil, ids.count <= 1 else {
                throw TandemError(
                    .usage, "\(entity.name).\(name) refers to at most one object, not \(ids.count)")
            }
            let value =
                try ids.first.map { id throws(TandemError) in
                    PropertyValue.reference(try reference(id, model))
                } ?? .null
            values.append(SlotValue(slot: property.slot, value: value))
        }
        values.sort { $0.slot < $1.slot }
        links.sort(by: LinkChange.isBefore)
        return (values, links)
    }

    /// Returns the links that add members to a new object.
    ///
    /// In an ordered relationship a repeated member gets the rank of its first occurrence.
    private static func links(
        _ property: CompiledProperty, to targets: [ObjectReference]
    ) -> [LinkChange] {
        var seen: Set<ObjectReference> = []
        let members = targets.filter { seen.insert($0).inserted }
        let ranks =
            property.relationship?.isOrdered == true
            ? RankPlan(members.map { ($0, nil) }).changed : [:]
        return members.map {
            LinkChange(slot: property.slot, target: $0, .add, rank: ranks[$0])
        }
    }

    private func property(
        _ name: String, in entity: CompiledEntity
    ) throws(TandemError) -> CompiledProperty {
        guard let property = entity.property(named: name) else {
            throw entity.unknownProperty(name)
        }
        if let refusal = TandemError.derived(property, of: entity) { throw refusal }
        return property
    }

    private func reference(
        _ id: ObjectID, _ model: CompiledModel
    ) throws(TandemError) -> ObjectReference {
        guard let reference = model.reference(to: id) else {
            throw model.unknownEntity(id.entity)
        }
        return reference
    }
}
