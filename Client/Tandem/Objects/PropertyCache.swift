import TandemModel

/// Finds the properties of names that a program spells without comparing text each time.
///
/// Such a name is the same string for good, so its sixteen bytes (``ManagedName``) are enough: strings with the same ones are equal, be it
/// that they are short and lie in these, or that both are at one place in memory. What is held is bounded by ``limit``; a program that spells
/// more has them found anew from time to time.
///
/// A hash table by open addressing with linear probing, at most half full (Knuth, The Art of Computer Programming 3, 6.4), whose places hold
/// all that reading a row takes.
final class PropertyCache {
    /// What is known of a name.
    struct Place: Sendable {
        let name: ManagedName
        /// The entity; nil in an empty place.
        let entity: ObjectIdentifier?
        let slot: Int
        /// Where it lies in rows; nil for a to-many relationship.
        let column: RowColumn?
    }

    private static let limit = 256
    private static let empty = Place(name: ManagedName(""), entity: nil, slot: 0, column: nil)

    /// Who wants to know which properties are read; then nothing is kept.
    var follower: Follower?
    /// Names and entities are kept, so that nothing else can have their identities.
    private var held: [(name: String, entity: CompiledEntity)] = []
    // Both change together, when something is added, and nobody is called meanwhile.
    @exclusivity(unchecked) private var places: UnsafeMutableBufferPointer<Place>
    @exclusivity(unchecked) private var mask: Int

    init() {
        places = Self.room(16)
        mask = 15
    }

    deinit { places.deallocate() }

    private static func room(_ count: Int) -> UnsafeMutableBufferPointer<Place> {
        let room = UnsafeMutableBufferPointer<Place>.allocate(capacity: count)
        room.initialize(repeating: empty)
        return room
    }

    /// What is known of a name in an entity; nil if it was not asked for lately.
    @inline(__always)
    func place(_ name: ManagedName, in entity: CompiledEntity) -> Place? {
        let wanted = ObjectIdentifier(entity)
        var index = Self.hash(name, wanted) & mask
        while true {
            let place = places[index]
            if place.name == name, place.entity == wanted { return place }
            if place.entity == nil { return nil }
            index = (index &+ 1) & mask
        }
    }

    /// The property of an entity by its name.
    ///
    /// A name of no property of the entity traps.
    func property(_ name: ManagedName, of entity: CompiledEntity) -> CompiledProperty {
        if let place = place(name, in: entity) { return entity.properties[place.slot] }
        let property = entity.declared(name.text)
        if let follower { follower.note(property) } else { add(name, entity, property.slot) }
        return property
    }

    // MARK: Adding

    private func add(_ name: ManagedName, _ entity: CompiledEntity, _ slot: Int) {
        makeRoom()
        held.append((name.text, entity))
        insert(
            Place(
                name: name, entity: ObjectIdentifier(entity), slot: slot,
                column: entity.column(slot)))
    }

    private func insert(_ place: Place) {
        guard let entity = place.entity else { return }
        var index = Self.hash(place.name, entity) & mask
        while places[index].entity != nil { index = (index &+ 1) & mask }
        places[index] = place
    }

    /// Keeps half of the places empty; forgets all when they are too many.
    private func makeRoom() {
        guard (held.count + 1) * 2 > places.count else { return }
        let old = places
        defer { old.deallocate() }
        guard held.count < Self.limit else {
            held = []
            return places = Self.room(old.count)
        }
        places = Self.room(old.count * 2)
        mask = places.count - 1
        for place in old { insert(place) }
    }

    @inline(__always)
    private static func hash(_ name: ManagedName, _ entity: ObjectIdentifier) -> Int {
        let mixed =
            UInt(truncatingIfNeeded: name.low ^ (name.high &* 0x2545_F491_4F6C_DD1D))
            &+ UInt(bitPattern: entity) / 16 &* 31
        return Int((mixed &* 0x9E37_79B9_7F4A_7C15) >> 48)
    }
}

/// The name of a property as a ``Managed`` has it, for one read.
///
/// It is the sixteen bytes of the string's value, not of its text: valid only while whoever made it has the string.
public struct ManagedName: Sendable, BitwiseCopyable, Equatable {
    @usableFromInline let low: UInt64
    @usableFromInline let high: UInt64

    @inlinable @inline(__always)
    init(_ name: String) { (low, high) = unsafeBitCast(name, to: (UInt64, UInt64).self) }

    /// The name; guarded by whoever made this, who has the string.
    var text: String { unsafeBitCast((low, high), to: String.self) }
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
