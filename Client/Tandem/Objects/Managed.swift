import TandemModel

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
        get { fatalError("@Managed must be used in a subclass of ManagedObject.") }
        // The compiler requires a setter; it can't be called.
        set { fatalError("@Managed must be used in a subclass of ManagedObject.") }
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
        get { Value._read(from: owner, named: _ManagedName(owner[keyPath: storage].name)) }
        @inlinable
        set { newValue._write(to: owner, named: _ManagedName(owner[keyPath: storage].name)) }
    }
}

/// A type that ``Managed`` can expose.
public protocol ManagedValue {
    /// Reads the property named by a ``Managed``.
    static func _read(from object: ManagedObject, named name: _ManagedName) -> Self
    /// Writes the property named by a ``Managed``.
    func _write(to object: ManagedObject, named name: _ManagedName)
}

/// A type that ``Managed`` can expose as an optional.
public protocol OptionalManagedValue {
    /// Reads the property named by a ``Managed``; returns nil if it has no value.
    static func _readOptional(from object: ManagedObject, named name: _ManagedName) -> Self?
    /// Writes the property named by a ``Managed``.
    static func _writeOptional(_ value: Self?, to object: ManagedObject, named name: _ManagedName)
}

extension Optional: ManagedValue where Wrapped: OptionalManagedValue {
    /// Reads the property named by a ``Managed``.
    @inlinable
    public static func _read(from object: ManagedObject, named name: _ManagedName) -> Wrapped? {
        Wrapped._readOptional(from: object, named: name)
    }

    /// Writes the property named by a ``Managed``.
    public func _write(to object: ManagedObject, named name: _ManagedName) {
        Wrapped._writeOptional(self, to: object, named: name)
    }
}

extension ManagedObject: OptionalManagedValue {
    /// Returns the target of a to-one relationship.
    public static func _readOptional(
        from object: ManagedObject, named name: _ManagedName
    ) -> Self? {
        guard let target = object.object(object.property(name)) else {
            return object.probe?.next(Self.self)
        }
        return target as? Self
    }

    /// Sets the target of a to-one relationship.
    public static func _writeOptional(
        _ value: ManagedObject?, to object: ManagedObject, named name: _ManagedName
    ) {
        object.setObject(value, for: object.property(name).name)
    }
}

extension Set: ManagedValue where Element: ManagedObject {
    /// Returns the targets of a to-many relationship.
    public static func _read(
        from object: ManagedObject, named name: _ManagedName
    ) -> Set<Element> {
        Set(object.objects(object.property(name).name).compactMap { $0 as? Element })
    }

    /// Replaces the targets of a to-many relationship.
    public func _write(to object: ManagedObject, named name: _ManagedName) {
        let before = Set._read(from: object, named: name)
        let relationship = object.property(name).name
        for member in before.subtracting(self) { object.remove(member, from: relationship) }
        for member in subtracting(before) { object.add(member, to: relationship) }
    }
}

extension Array: ManagedValue where Element: ManagedObject {
    /// Returns the targets of an ordered to-many relationship, in order.
    public static func _read(from object: ManagedObject, named name: _ManagedName) -> [Element] {
        object.orderedObjects(object.property(name).name).compactMap { $0 as? Element }
    }

    /// Replaces the targets of an ordered to-many relationship.
    ///
    /// See ``ManagedObject/setOrderedObjects(_:for:)``.
    public func _write(to object: ManagedObject, named name: _ManagedName) {
        object.setOrderedObjects(self, for: object.property(name).name)
    }
}
