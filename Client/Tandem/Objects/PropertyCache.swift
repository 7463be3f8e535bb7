import TandemModel

/// Finds the properties of names that a program spells without comparing text each time.
///
/// Such a name is the same string for good, so its sixteen bytes are enough: strings with the same ones are equal, be it that they are
/// short and lie in these, or that both are at one place in memory. The latest of those that fall together counts; what is held is bounded
/// by ``size``.
final class PropertyCache {
    private final class Entry {
        // Both are kept, so that nothing else can have their identities.
        let name: String
        let entity: CompiledEntity
        let property: CompiledProperty
        let words: Words

        init(_ name: String, _ entity: CompiledEntity, _ property: CompiledProperty) {
            self.name = name
            self.entity = entity
            self.property = property
            words = Words(name)
        }
    }

    /// The bytes of a string's value, not of its text.
    private struct Words: Equatable {
        let low: UInt64
        let high: UInt64

        @inline(__always)
        init(_ name: String) { (low, high) = unsafeBitCast(name, to: (UInt64, UInt64).self) }
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

    /// The property of an entity by its name.
    ///
    /// A name of no property of the entity traps.
    func property(_ name: String, of entity: CompiledEntity) -> CompiledProperty {
        let words = Words(name)
        let index = Self.index(words, entity)
        if let entry = entries[index], entry.words == words, entry.entity === entity {
            return entry.property
        }
        let property = entity.declared(name)
        if let follower {
            follower.note(property)
            return property
        }
        entries[index] = Entry(name, entity, property)
        return property
    }

    /// What stands for a property in registrars: equal for one slot, whatever the object.
    func observed(_ slot: Int) -> KeyPath<ManagedObject, Bool> {
        while observed.count <= slot { observed.append(\.[observed: observed.count]) }
        return observed[slot]
    }

    @inline(__always)
    private static func index(_ words: Words, _ entity: CompiledEntity) -> Int {
        let mixed =
            UInt(truncatingIfNeeded: words.low ^ (words.high &* 0x2545_F491_4F6C_DD1D))
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
