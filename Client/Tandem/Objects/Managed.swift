public import TandemModel

/// A property of a ``ManagedObject`` subclass that shows a property of the entity.
///
///     @Managed("wins") var wins: Int
///     @Managed("captain") var captain: Player?
///     @Managed("players") var players: Set<Player>
///     @Managed("lineup") var lineup: [Player]             // of an ordered relationship
///
/// A type without nil shows its zero (0, "", false, the epoch) where the store has no value.
@propertyWrapper
public struct Managed<Value: ManagedValue> {
    @usableFromInline let name: String

    /// Shows the property of that name.
    public init(_ name: String) { self.name = name }

    /// Only usable in a subclass of ``ManagedObject``.
    @available(*, unavailable, message: "@Managed belongs into a subclass of ManagedObject")
    public var wrappedValue: Value {
        get { preconditionFailure("@Managed belongs into a subclass of ManagedObject.") }
        // The compiler wants a setter; it can't be called.
        set { preconditionFailure("@Managed belongs into a subclass of ManagedObject.") }
    }

    /// Reads and writes through the object that holds the property.
    public static subscript<Owner: ManagedObject>(
        _enclosingInstance owner: Owner,
        wrapped _: ReferenceWritableKeyPath<Owner, Value>,
        storage storage: ReferenceWritableKeyPath<Owner, Managed<Value>>
    ) -> Value {
        // Where it is inlined the key paths are known, so that none is made and the name is read where it lies.
        @inlinable
        get { Value.read(from: owner, named: ManagedName(owner[keyPath: storage].name)) }
        @inlinable
        set { newValue.write(to: owner, owner.property(owner[keyPath: storage].name)) }
    }
}

/// A type that ``Managed`` can show.
public protocol ManagedValue {
    /// Reads the property of an object.
    static func read(from object: ManagedObject, _ property: CompiledProperty) -> Self
    /// Reads the property that a ``Managed`` names.
    ///
    /// Without one of its own a type reads by the property of that name.
    static func read(from object: ManagedObject, named name: ManagedName) -> Self
    /// Writes the property of an object.
    func write(to object: ManagedObject, _ property: CompiledProperty)
}

/// A type that ``Managed`` can show as an optional.
public protocol OptionalManagedValue {
    /// Reads the property of an object; nil when there is no value.
    static func readOptional(from object: ManagedObject, _ property: CompiledProperty) -> Self?
    /// Reads the property that a ``Managed`` names; nil when there is no value.
    ///
    /// Without one of its own a type reads by the property of that name.
    static func readOptional(from object: ManagedObject, named name: ManagedName) -> Self?
    /// Writes the property of an object.
    static func writeOptional(
        _ value: Self?, to object: ManagedObject, _ property: CompiledProperty)
}

extension ManagedValue {
    /// Reads the property that a ``Managed`` names.
    @inlinable
    public static func read(from object: ManagedObject, named name: ManagedName) -> Self {
        read(from: object, object.property(name))
    }
}

extension OptionalManagedValue {
    /// Reads the property that a ``Managed`` names; nil when there is no value.
    @inlinable
    public static func readOptional(from object: ManagedObject, named name: ManagedName) -> Self? {
        readOptional(from: object, object.property(name))
    }
}

extension Optional: ManagedValue where Wrapped: OptionalManagedValue {
    /// Reads the property of an object.
    @inlinable
    public static func read(
        from object: ManagedObject, _ property: CompiledProperty
    ) -> Wrapped? {
        Wrapped.readOptional(from: object, property)
    }

    /// Reads the property that a ``Managed`` names.
    @inlinable
    public static func read(from object: ManagedObject, named name: ManagedName) -> Wrapped? {
        Wrapped.readOptional(from: object, named: name)
    }

    /// Writes the property of an object.
    public func write(to object: ManagedObject, _ property: CompiledProperty) {
        Wrapped.writeOptional(self, to: object, property)
    }
}

extension ManagedObject: OptionalManagedValue {
    /// The object at the end of a to-one relationship.
    public static func readOptional(
        from object: ManagedObject, _ property: CompiledProperty
    ) -> Self? {
        guard let target = object.object(property) else { return object.follower?.next(Self.self) }
        return target as? Self
    }

    /// The object at the end of the to-one relationship that a ``Managed`` names.
    public static func readOptional(from object: ManagedObject, named name: ManagedName) -> Self? {
        if let target = object.passedTarget(name) { return target as? Self }
        return readOptional(from: object, object.property(name))
    }

    /// Sets the object at the end of a to-one relationship.
    public static func writeOptional(
        _ value: ManagedObject?, to object: ManagedObject, _ property: CompiledProperty
    ) {
        object.setObject(value, for: property.name)
    }
}

extension Set: ManagedValue where Element: ManagedObject {
    /// The objects at the end of a to-many relationship.
    public static func read(
        from object: ManagedObject, _ property: CompiledProperty
    ) -> Set<Element> {
        Set(object.objects(property.name).compactMap { $0 as? Element })
    }

    /// Replaces the objects at the end of a to-many relationship.
    public func write(to object: ManagedObject, _ property: CompiledProperty) {
        let before = Set.read(from: object, property)
        for member in before.subtracting(self) { object.remove(member, from: property.name) }
        for member in subtracting(before) { object.add(member, to: property.name) }
    }
}

extension Array: ManagedValue where Element: ManagedObject {
    /// The objects at the end of an ordered to-many relationship, in their order.
    public static func read(from object: ManagedObject, _ property: CompiledProperty) -> [Element] {
        object.orderedObjects(property.name).compactMap { $0 as? Element }
    }

    /// Replaces the objects at the end of an ordered to-many relationship; see ``ManagedObject/setOrderedObjects(_:for:)``.
    public func write(to object: ManagedObject, _ property: CompiledProperty) {
        object.setOrderedObjects(self, for: property.name)
    }
}
