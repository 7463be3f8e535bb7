import TandemModel

/// Finds the properties that key paths stand for without looking at their names each time.
///
/// A key path that the compiler makes is one object for good, so its identity is enough. The latest of those that fall together
/// counts; what is held is bounded by ``size``.
final class PropertyCache {
    private final class Entry {
        // Both are kept, so that nothing else can have their identities.
        let keyPath: AnyKeyPath
        let entity: CompiledEntity
        let property: CompiledProperty

        init(_ keyPath: AnyKeyPath, _ entity: CompiledEntity, _ property: CompiledProperty) {
            self.keyPath = keyPath
            self.entity = entity
            self.property = property
        }
    }

    private static let size = 128
    /// What stands for properties where objects are observed, by slot.
    private var observed: [KeyPath<ManagedObject, Bool>] = []
    /// Who wants to know which properties are read; then nothing is kept.
    var follower: Follower?
    private let entries = UnsafeMutablePointer<Entry?>.allocate(capacity: size)

    init() { entries.initialize(repeating: nil, count: Self.size) }

    deinit {
        entries.deinitialize(count: Self.size)
        entries.deallocate()
    }

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
        if let follower {
            follower.note(property)
            return property
        }
        entries[index] = Entry(keyPath, entity, property)
        return property
    }

    /// What stands for a property in registrars: equal for one slot, whatever the object.
    func observed(_ slot: Int) -> KeyPath<ManagedObject, Bool> {
        while observed.count <= slot { observed.append(\.[observed: observed.count]) }
        return observed[slot]
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
