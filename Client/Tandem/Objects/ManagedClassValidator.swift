import FoundationEssentials
import TandemModel

/// Validates the ``Managed`` properties of a class against an entity of the model.
enum ManagedClassValidator {
    /// Returns the first error of a class: a property that the entity lacks or that has a different
    /// type.
    ///
    /// Returns nil if the class is valid.
    static func problem(
        of type: ManagedObject.Type, for entity: CompiledEntity
    ) -> TandemError? {
        // Property wrappers can only be inspected in an object; this object belongs to no context.
        let record = ObjectRecord(ObjectReference(tag: entity.tag, number: 0), entity)
        let object = type.init(binding: ObjectBinding(context: nil, record: record))
        var mirror: Mirror? = Mirror(reflecting: object)
        while let current = mirror {
            for case let declaration as any ManagedDeclaration in current.children.map(\.value) {
                if let problem = problem(of: type, declaration, entity) { return problem }
            }
            mirror = current.superclassMirror
        }
        return nil
    }

    private static func problem(
        of type: ManagedObject.Type, _ declaration: any ManagedDeclaration, _ entity: CompiledEntity
    ) -> TandemError? {
        guard let property = entity.property(named: declaration.name) else {
            return TandemError(
                .unknownProperty,
                "the class \(type) declares \(entity.name).\(declaration.name), which the model does not have"
            )
        }
        guard let mismatch = mismatch(declaration.type, property) else { return nil }
        return TandemError(
            .usage,
            "the class \(type) declares \(entity.name).\(declaration.name) as \(declaration.type), but the model has "
                + mismatch)
    }

    /// Returns a description of a property that values of a type can't represent, or nil if they
    /// can.
    private static func mismatch(_ type: Any.Type, _ property: CompiledProperty) -> String? {
        if let optional = type as? any OptionalDeclaration.Type {
            return mismatch(optional.wrapped, property)
        }
        if type is any ArrayDeclaration.Type, property.isToMany {
            let isOrdered = property.relationship?.isOrdered == true
            return isOrdered ? nil : "an unordered to-many relationship"
        }
        if type is any SetDeclaration.Type { return property.isToMany ? nil : what(property) }
        if type is ManagedObject.Type {
            return property.relationship != nil && !property.isToMany ? nil : what(property)
        }
        let wanted: AttributeType? =
            if let convertible = type as? any AttributeConvertible.Type {
                convertible.zero.attributeValue.type
            } else {
                type is URL.Type ? .url : nil
            }
        guard let wanted else { return nil }
        return property.attribute?.type == wanted ? nil : what(property)
    }

    private static func what(_ property: CompiledProperty) -> String {
        if let attribute = property.attribute { return "an attribute of type \(attribute.type)" }
        return "a to-\(property.isToMany ? "many" : "one") relationship"
    }
}

/// A ``Managed`` with any value type.
protocol ManagedDeclaration {
    var name: String { get }
    var type: Any.Type { get }
    /// Reads an object's value of the property.
    func read(from object: ManagedObject) -> Any
}

extension Managed: ManagedDeclaration {
    var type: Any.Type { Value.self }

    func read(from object: ManagedObject) -> Any {
        Value._read(from: object, named: _ManagedName(name))
    }
}

extension ManagedDeclaration {
    /// Whether the value type represents a to-many relationship.
    var isSet: Bool { type is any SetDeclaration.Type }
}

/// An optional type with any wrapped type.
protocol OptionalDeclaration {
    static var wrapped: Any.Type { get }
}

extension Optional: OptionalDeclaration {
    static var wrapped: Any.Type { Wrapped.self }
}

private protocol SetDeclaration {}

extension Set: SetDeclaration {}

private protocol ArrayDeclaration: SetDeclaration {}

extension Array: SetDeclaration, ArrayDeclaration where Element: ManagedObject {}
