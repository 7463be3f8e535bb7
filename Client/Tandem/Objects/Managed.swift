public import TandemModel

/// A property of a ``ManagedObject`` subclass that exposes a property of the entity.
///
///     @Managed("wins") var wins: Int
///     @Managed("captain") var captain: Player?
///     @Managed("players") var players: Set<Player>
///     @Managed("lineup") var lineup: [Player]             // of an ordered relationship
///
/// If the store has no value, a non-optional property returns a zero value: 0, "", false, or the
/// epoch.
@propertyWrapper
public struct Managed<Value: ManagedValue> {
    @usableFromInline let name: String

    /// Creates a wrapper for the property with this name.
    public init(_ name: String) { self.name = name }

    /// Unavailable outside a subclass of ``ManagedObject``.
    @available(*, unavailable, message: "@Managed must be used in a subclass of ManagedObject")
    public var wrappedValue: Value {
        get { preconditionFailure("@Managed must be used in a subclass of ManagedObject.") }
        // The compiler requires a setter; it can't be called.
        set { preconditionFailure("@Managed must be used in a subclass of ManagedObject.") }
    }

    /// Reads and writes the property of the enclosing object.
    public static subscript<Owner: ManagedObject>(
        _enclosingInstance owner: Owner,
        wrapped _: ReferenceWritableKeyPath<Owner, Value>,
        storage storage: ReferenceWritableKeyPath<Owner, Managed<Value>>
    ) -> Value {
        // With inlining, the key paths are known statically: no key path is created, and the name
        // is read in place.
        @inlinable
        get { Value.read(from: owner, named: ManagedName(owner[keyPath: storage].name)) }
        @inlinable
        set { newValue.write(to: owner, owner.property(owner[keyPath: storage].name)) }
    }
}

/// A type that ``Managed`` can expose.
public protocol ManagedValue {
    /// Reads the property of an object.
    static func read(from object: ManagedObject, _ property: CompiledProperty) -> Self
    /// Reads the property named by a ``Managed``.
    ///
    /// The default implementation looks the property up by name.
    static func read(from object: ManagedObject, named name: ManagedName) -> Self
    /// Writes the property of an object.
    func write(to object: ManagedObject, _ property: CompiledProperty)
}

/// A type that ``Managed`` can expose as an optional.
public protocol OptionalManagedValue {
    /// Reads the property of an object; returns nil if it has no value.
    static func readOptional(from object: ManagedObject, _ property: CompiledProperty) -> Self?
    /// Reads the property named by a ``Managed``; returns nil if it has no value.
    ///
    /// The default implementation looks the property up by name.
    static func readOptional(from object: ManagedObject, named name: ManagedName) -> Self?
    /// Writes the property of an object.
    static func writeOptional(
        _ value: Self?, to object: ManagedObject, _ property: CompiledProperty)
}

extension ManagedValue {
    /// Reads the property named by a ``Managed``.
    @inlinable
    public static func read(from object: ManagedObject, named name: ManagedName) -> Self {
        read(from: object, object.property(name))
    }
}

extension OptionalManagedValue {
    /// Reads the property named by a ``Managed``; returns nil if it has no value.
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

    /// Reads the property named by a ``Managed``.
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
    /// Returns the target of a to-one relationship.
    public static func readOptional(
        from object: ManagedObject, _ property: CompiledProperty
    ) -> Self? {
        guard let target = object.object(property) else { return object.probe?.next(Self.self) }
        return target as? Self
    }

    /// Sets the target of a to-one relationship.
    public static func writeOptional(
        _ value: ManagedObject?, to object: ManagedObject, _ property: CompiledProperty
    ) {
        object.setObject(value, for: property.name)
    }
}

extension Set: ManagedValue where Element: ManagedObject {
    /// Returns the targets of a to-many relationship.
    public static func read(
        from object: ManagedObject, _ property: CompiledProperty
    ) -> Set<Element> {
        Set(object.objects(property.name).compactMap { $0 as? Element })
    }

    /// Replaces the targets of a to-many relationship.
    public func write(to object: ManagedObject, _ property: CompiledProperty) {
        let before = Set.read(from: object, property)
        for member in before.subtracting(self) { object.remove(member, from: property.name) }
        for member in subtracting(before) { object.add(member, to: property.name) }
    }
}

extension Array: ManagedValue where Element: ManagedObject {
    /// Returns the targets of an ordered to-many relationship, in order.
    public static func read(from object: ManagedObject, _ property: CompiledProperty) -> [Element] {
        object.orderedObjects(property.name).compactMap { $0 as? Element }
    }

    /// Replaces the targets of an ordered to-many relationship.
    ///
    /// See ``ManagedObject/setOrderedObjects(_:for:)``.
    public func write(to object: ManagedObject, _ property: CompiledProperty) {
        object.setOrderedObjects(self, for: property.name)
    }
}
