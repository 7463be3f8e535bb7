import TandemModel

/// Finds the properties that key paths stand for without looking at their names each time.
///
/// A key path that the compiler makes is one object for good, so its identity is enough. The latest of those that fall together
/// counts; what is held is bounded by ``size``.
final class PropertyCache {
    private struct Entry {
        // Both are kept, so that nothing else can have their identities.
        let keyPath: AnyKeyPath
        let entity: CompiledEntity
        let property: CompiledProperty
    }

    private static let size = 128
    private var entries = [Entry?](repeating: nil, count: size)

    /// The property of an entity; `name` is asked where the key path was not seen lately.
    ///
    /// A name of no property of the entity traps.
    func property(
        _ keyPath: AnyKeyPath, of entity: CompiledEntity, name: () -> String
    ) -> CompiledProperty {
        let index = Self.index(keyPath, entity)
        if let entry = entries[index], entry.keyPath === keyPath, entry.entity === entity {
            return entry.property
        }
        let property = entity.declared(name())
        entries[index] = Entry(keyPath: keyPath, entity: entity, property: property)
        return property
    }

    private static func index(_ keyPath: AnyKeyPath, _ entity: CompiledEntity) -> Int {
        let mixed =
            UInt(bitPattern: ObjectIdentifier(keyPath)) / 16
            &+ UInt(bitPattern: ObjectIdentifier(entity)) / 16 &* 31
        return Int((mixed &* 0x9E37_79B9_7F4A_7C15) >> 57)
    }
}

extension CompiledEntity {
    /// The property of a name that the program spells; traps when there is none.
    func declared(_ name: String) -> CompiledProperty {
        guard let property = property(named: name) else {
            preconditionFailure("\(self.name) has no property \(name).")
        }
        return property
    }
}
