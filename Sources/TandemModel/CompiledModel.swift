/// A model compiled for one store: validated, with numbers and row layouts.
///
/// The daemon compiles the installed model and sends the result to every client, so that rows,
/// links and change sets have the same meaning in all processes. A compiled model is immutable and
/// can be shared freely.
///
/// If a later model is compiled with ``init(_:replacing:)``, entities, links, indexes and unique
/// keys keep their numbers, so that nothing in the store has to be renumbered.
@usableFromInline package final class CompiledModel: Sendable {
    /// The model as declared.
    @usableFromInline package let model: ManagedObjectModel
    /// The hash of the declared model.
    package let hash: StableHash
    /// The version of the model, which increases by one with every installed model and is stored in
    /// every row.
    package let version: UInt16
    /// The entities, sorted by name.
    @usableFromInline package let entities: [CompiledEntity]
    /// All numbers assigned so far, by key, including those that are no longer used.
    package let identifiers: [String: UInt16]

    private let byName: [String: CompiledEntity]
    @usableFromInline let byTag: [CompiledEntity?]

    /// Compiles a model, keeping the numbers of the model that it replaces, including those of
    /// renamed declarations.
    ///
    /// Throws ``ModelError`` with every problem of the model.
    package convenience init(
        _ model: ManagedObjectModel, replacing previous: CompiledModel? = nil
    ) throws(ModelError) {
        let version = previous?.version ?? 0
        guard version < .max else {
            throw ModelError([
                ModelProblem(
                    "the store has had \(version) models, the maximum; copy its objects to a new store"
                )
            ])
        }
        let problems = ModelCheck.problems(in: model)
        guard problems.isEmpty else { throw ModelError(problems) }
        let contradictions = ModelCheck.contradictions(in: model)
        guard contradictions.isEmpty else { throw ModelError(contradictions) }
        let identifiers =
            previous.map {
                ModelRenames(from: $0.model, to: model).applied(to: $0.identifiers, of: $0.model)
            } ?? [:]
        try self.init(model, version: version + 1, identifiers: identifiers)
    }

    init(
        _ model: ManagedObjectModel, version: UInt16, identifiers: [String: UInt16]
    ) throws(ModelError) {
        let problems = ModelCheck.problems(in: model)
        guard problems.isEmpty else { throw ModelError(problems) }
        var compiler = ModelCompiler(
            model: model, version: version, identifiers: identifiers)
        let compiled = compiler.compile()
        guard !compiler.isExhausted else {
            throw ModelError([
                ModelProblem(
                    "the model needs more than 65535 numbers for entities, links and indexes")
            ])
        }
        entities = compiled
        self.model = model
        self.version = version
        self.identifiers = compiler.identifiers
        hash = model.hash
        byName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
        var byTag = [CompiledEntity?](
            repeating: nil, count: Int(entities.map(\.tag).max() ?? 0) + 1)
        for entity in entities { byTag[Int(entity.tag)] = entity }
        self.byTag = byTag
    }

    /// Returns a model with the same content that shares no storage with this one.
    ///
    /// Threads that evaluate many rows with the same model contend for the reference counts of its
    /// parts, so each thread should use a copy. Cost: encodes and decodes the model.
    package func copy() -> CompiledModel {
        var writer = ByteWriter()
        encode(into: &writer)
        var reader = ByteReader(writer.bytes)
        do {
            return try CompiledModel(from: &reader)
        } catch {
            preconditionFailure("A model cannot be decoded from its own binary form: \(error).")
        }
    }

    /// Returns the entity with this name.
    @usableFromInline package func entity(named name: String) -> CompiledEntity? { byName[name] }

    /// Returns the entity with this tag.
    @inlinable @inline(__always)
    package func entity(tagged tag: EntityTag) -> CompiledEntity? {
        Int(tag) < byTag.count ? byTag[Int(tag)] : nil
    }

    /// Returns the printable id of a reference; an unknown tag prints as `?`.
    @usableFromInline package func id(of reference: ObjectReference) -> ObjectID {
        ObjectID(entity: entity(tagged: reference.tag)?.name ?? "?", number: reference.number)
    }

    /// Returns the reference to the object with this id, or nil if its entity is unknown.
    @usableFromInline package func reference(to id: ObjectID) -> ObjectReference? {
        entity(named: id.entity).map { ObjectReference(tag: $0.tag, number: id.number) }
    }

    /// Appends the binary form: version, numbers, and the model as JSON.
    package func encode(into writer: inout ByteWriter) {
        writer.uint16(version)
        writer.count(identifiers.count)
        for (key, value) in identifiers.sorted(by: { $0.key < $1.key }) {
            writer.string(key)
            writer.uint16(value)
        }
        writer.string(model.json.text)
    }

    /// Reads the binary form.
    ///
    /// Throws ``CodingError``.
    package convenience init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        let version = try reader.uint16()
        var identifiers: [String: UInt16] = [:]
        for _ in 0..<(try reader.count(itemBytes: 3)) {
            let key = try reader.string()
            identifiers[key] = try reader.uint16()
        }
        guard Set(identifiers.values).count == identifiers.count, identifiers.values.min() != 0
        else {
            throw CodingError(expected: "a number for each name", offset: start)
        }
        let text = try reader.string()
        do {
            try self.init(
                try ManagedObjectModel(parsing: text), version: version, identifiers: identifiers)
        } catch {
            throw CodingError(expected: "a model (\(error))", offset: start)
        }
    }
}

/// One entity of a ``CompiledModel``: its properties by slot, and its row layout.
///
/// Slots are numbered from the root entity down, and by name within an entity. An inherited
/// property therefore has the same slot in every subentity.
@usableFromInline package final class CompiledEntity: Sendable {
    /// The name.
    @usableFromInline package let name: String
    /// The number that identifies the entity in the store.
    @usableFromInline package let tag: EntityTag
    /// The version of the entity's model, which is stored in every row.
    package let version: UInt16
    /// This entity and its ancestors, nearest first.
    package let ancestors: [EntityTag]
    /// This entity and its subentities at all levels, sorted by tag.
    package let descendants: [EntityTag]
    /// The properties, inherited ones included; the index is the slot.
    @usableFromInline package let properties: [CompiledProperty]
    /// The layout of a row.
    package let layout: RowLayout
    /// The uniqueness constraints on objects of this entity.
    package let uniqueness: [CompiledIndex]
    /// The indexes that contain objects of this entity.
    package let indexes: [CompiledIndex]
    /// The properties that are part of an index or a uniqueness constraint.
    package let keyed: PropertyMask
    /// The attributes and to-one relationships that require a value.
    package let required: PropertyMask
    /// The attributes with limited values and the to-many relationships with a limited number of
    /// members.
    package let limited: PropertyMask
    /// The slots of the to-many relationships.
    package let toManySlots: [Int]
    /// All slots.
    package let allSlots: PropertyMask
    /// The derivations of the derived attributes, by slot.
    package let derivations: [CompiledDerivation]
    /// The derived attributes.
    package let derived: PropertyMask
    /// The properties in the row that can be set: all except derived attributes and to-many
    /// relationships.
    package let settable: PropertyMask
    /// The values of a new object: its defaults, and null for the rest.
    package let defaults: [PropertyValue]
    /// The type of each attribute by slot; nil for a relationship.
    private let types: [AttributeType?]

    private let slots: [String: Int]
    private let family: Set<EntityTag>

    init(
        name: String, tag: EntityTag, version: UInt16, ancestors: [EntityTag],
        descendants: [EntityTag], properties: [CompiledProperty], uniqueness: [CompiledIndex],
        indexes: [CompiledIndex]
    ) {
        self.name = name
        self.tag = tag
        self.version = version
        self.ancestors = ancestors
        self.descendants = descendants
        self.properties = properties
        self.uniqueness = uniqueness
        self.indexes = indexes
        keyed = (uniqueness + indexes).reduce(PropertyMask()) { $0.union($1.mask) }
        required = PropertyMask(properties.filter(\.needsValue).map(\.slot))
        limited = PropertyMask(properties.filter(\.hasLimits).map(\.slot))
        toManySlots = properties.filter(\.isToMany).map(\.slot)
        allSlots = PropertyMask(properties.indices)
        let derivations = CompiledEntity.derivations(properties)
        self.derivations = derivations
        derived = PropertyMask(derivations.map(\.slot))
        settable = PropertyMask(
            properties.filter { !$0.isToMany && $0.derivation == nil }.map(\.slot))
        defaults = properties.map { $0.initialValue }
        types = properties.map(\.type)
        layout = RowLayout(properties)
        slots = Dictionary(uniqueKeysWithValues: properties.map { ($0.name, $0.slot) })
        family = Set(descendants)
    }

    private static func derivations(_ properties: [CompiledProperty]) -> [CompiledDerivation] {
        properties.compactMap { property in
            guard let derivation = property.derivation,
                let source = properties.first(where: { $0.name == derivation.source })
            else { return nil }
            return CompiledDerivation(
                slot: property.slot, kind: derivation.kind, source: source.slot)
        }
    }

    /// Returns the slot of a property.
    @usableFromInline package func slot(of property: String) -> Int? { slots[property] }

    /// Returns the property with this name.
    @usableFromInline package func property(named name: String) -> CompiledProperty? {
        slots[name].map { properties[$0] }
    }

    /// Returns whether `tag` is this entity's or that of a subentity.
    @usableFromInline package func includes(_ tag: EntityTag) -> Bool {
        tag == self.tag || family.count > 1 && family.contains(tag)
    }

    /// Returns whether `slot` is an attribute and `value` is null or of its type.
    ///
    /// Limits are not checked.
    @inline(__always)
    package func holds(_ value: PropertyValue, inAttribute slot: Int) -> Bool {
        slot < types.count && types[slot].map { value.isNull || value.fits($0) } ?? false
    }

    /// Returns whether all values of an attribute or to-one relationship have the same size in a
    /// row.
    @inline(__always)
    @usableFromInline package func isFixed(_ slot: Int) -> Bool { layout.fixed.contains(slot) }
}

/// One property of a ``CompiledEntity``.
@usableFromInline package final class CompiledProperty: Sendable {
    /// The kind of a property.
    package enum Kind: Sendable {
        /// A value in the row.
        case attribute(Attribute)
        /// A reference in the row, or links.
        case relationship(CompiledRelationship)
    }

    /// The index among the entity's properties.
    @usableFromInline package let slot: Int
    /// The name.
    @usableFromInline package let name: String
    /// The kind.
    package let kind: Kind
    /// The relationship; nil for an attribute.
    package let relationship: CompiledRelationship?
    /// Whether the property is a to-many relationship, which is not in the row.
    @usableFromInline package let isToMany: Bool
    /// The type of an attribute; nil for a relationship.
    let type: AttributeType?
    /// Whether an attribute may be null; true for relationships.
    package let allowsNull: Bool
    /// The pattern that a text has to match; nil if there is none.
    let pattern: TextPattern?
    /// Whether values of the right type can be invalid, because of limits, allowed values or a
    /// length.
    package let limitsValues: Bool

    init(slot: Int, name: String, kind: Kind) {
        self.slot = slot
        self.name = name
        self.kind = kind
        switch kind {
        case .attribute(let attribute):
            relationship = nil
            isToMany = false
            type = attribute.type
            // For a derived attribute, `optional: false` is guaranteed to readers but not enforced
            // on saves.
            allowsNull = attribute.optional || attribute.derived != nil
            // The pattern is valid, because a model with an invalid pattern is rejected.
            pattern = attribute.pattern.flatMap { try? TextPattern($0) }
            let hasLength = [.string, .url, .data].contains(attribute.type)
            limitsValues =
                hasLength || attribute.minimum != nil || attribute.maximum != nil
                || attribute.allowedValues != nil || attribute.pattern != nil
        case .relationship(let relationship):
            self.relationship = relationship
            isToMany = relationship.toMany
            type = nil
            allowsNull = true
            pattern = nil
            limitsValues = false
        }
    }

    /// Whether the property is stored in the row and must not be null.
    package var needsValue: Bool { !allowsNull || (!isToMany && relationship?.isOptional == false) }

    /// Whether a non-null value, or the number of members, can be invalid.
    var hasLimits: Bool { limitsValues || (relationship?.limitsCount ?? false) }

    /// The attribute; nil for a relationship.
    @usableFromInline package var attribute: Attribute? {
        if case .attribute(let value) = kind { value } else { nil }
    }
}

/// A relationship whose other end is resolved.
@usableFromInline package final class CompiledRelationship: Sendable {
    /// The relationship as declared.
    package let declaration: Relationship
    /// The entity at the other end; objects of its subentities are included.
    package let destination: EntityTag
    /// The slot of the inverse relationship in the destination and its subentities.
    package let inverseSlot: Int
    /// Whether the inverse is to-many.
    package let inverseToMany: Bool
    /// The id of the relationship's links in the store; 0 for a to-one relationship, which is
    /// stored in the row.
    package let linkID: UInt16

    /// Whether the relationship is to-many.
    package let toMany: Bool
    /// Whether the members are ordered, in which case each of them has a ``Rank``.
    package let isOrdered: Bool
    /// Whether the relationship may be empty.
    package let isOptional: Bool
    /// Whether the number of members is limited.
    package let limitsCount: Bool
    /// The effect of the owner's deletion on the objects at the other end.
    package let deleteRule: DeleteRule

    init(
        declaration: Relationship, destination: EntityTag, inverseSlot: Int, inverseToMany: Bool,
        linkID: UInt16
    ) {
        self.declaration = declaration
        self.destination = destination
        self.inverseSlot = inverseSlot
        self.inverseToMany = inverseToMany
        self.linkID = linkID
        toMany = declaration.toMany
        isOrdered = declaration.toMany && declaration.ordered
        isOptional = declaration.optional
        limitsCount =
            toMany
            && (!isOptional || declaration.minimum != nil || declaration.maximum != nil)
        deleteRule = declaration.deleteRule
    }
}

/// A uniqueness constraint or an index over one or more properties.
package struct CompiledIndex: Hashable, Sendable {
    /// The number with which keys of the index begin in the store.
    package let id: UInt16
    /// The entity that declares the index; objects of its subentities are included.
    package let entity: EntityTag
    /// The properties by slot.
    package let slots: [Int]
    /// The properties by name.
    package let properties: [String]
    /// The properties as a set.
    package let mask: PropertyMask

    init(id: UInt16, entity: EntityTag, slots: [Int], properties: [String]) {
        self.id = id
        self.entity = entity
        self.slots = slots
        self.properties = properties
        mask = PropertyMask(slots)
    }
}
