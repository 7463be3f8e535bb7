import TandemModel

/// A cache of properties by the names and key paths in a program's source; look-ups compare no
/// strings.
///
/// Such a name is always the same string, so its sixteen bytes (``_ManagedName``) identify it.
/// Strings with equal bytes are equal: either both are short and stored in these bytes, or both are
/// at the same address. A key-path literal is always the same object, identified by its address.
/// The number of entries is bounded by ``limit``. When the cache is full, it is emptied.
///
/// The cache is a hash table with linear probing, at most half full (Knuth, The Art of Computer
/// Programming 3, 6.4). An entry contains everything that is needed to read a row.
final class PropertyCache {
    /// A cached property.
    struct CachedProperty: Sendable {
        let name: _ManagedName
        /// The entity; nil in an empty slot of the table.
        let entity: ObjectIdentifier?
        let slot: Int
        /// The location in rows; nil for a to-many relationship.
        let column: RowColumn?
    }

    private static let limit = 256
    private static let empty = CachedProperty(
        name: _ManagedName(""), entity: nil, slot: 0, column: nil)

    /// The probe that records which properties are read; while it is set, nothing is cached.
    var probe: (any PropertyProbe)?
    /// The names, key paths and entities in the cache, retained so that their identities stay
    /// unique.
    private var held: [(named: Any, entity: CompiledEntity)] = []
    private var table: UnsafeMutableBufferPointer<CachedProperty>
    private var mask: Int

    init() {
        table = Self.room(16)
        mask = 15
    }

    deinit { table.deallocate() }

    private static func room(_ count: Int) -> UnsafeMutableBufferPointer<CachedProperty> {
        let room = UnsafeMutableBufferPointer<CachedProperty>.allocate(capacity: count)
        room.initialize(repeating: empty)
        return room
    }

    /// Returns the cached property of an entity by name, or nil if it isn't cached.
    @inline(__always)
    func entry(_ name: _ManagedName, in entity: CompiledEntity) -> CachedProperty? {
        let wanted = ObjectIdentifier(entity)
        var index = Self.hash(name, wanted) & mask
        while true {
            let entry = table[index]
            if entry.name == name, entry.entity == wanted { return entry }
            if entry.entity == nil { return nil }
            index = (index &+ 1) & mask
        }
    }

    /// Returns the property of an entity by name.
    ///
    /// Traps if the entity has no such property.
    func property(_ name: _ManagedName, of entity: CompiledEntity) -> CompiledProperty {
        if let entry = entry(name, in: entity) { return entity.properties[entry.slot] }
        let property = entity.declared(name.text)
        if let probe {
            probe.record(property)
        } else {
            add(name, of: name.text, entity, property.slot)
        }
        return property
    }

    /// Caches the property of an entity that a key path reads; traps if there is none.
    func cache(_ keyPath: AnyKeyPath, _ name: String, of entity: CompiledEntity) {
        let key = _ManagedName(keyPath)
        guard entry(key, in: entity) == nil else { return }
        add(key, of: keyPath, entity, entity.declared(name).slot)
    }

    // MARK: Adding

    private func add(
        _ name: _ManagedName, of named: Any, _ entity: CompiledEntity, _ slot: Int
    ) {
        makeRoom()
        held.append((named, entity))
        insert(
            CachedProperty(
                name: name, entity: ObjectIdentifier(entity), slot: slot,
                column: entity.column(slot)))
    }

    private func insert(_ entry: CachedProperty) {
        guard let entity = entry.entity else { return }
        var index = Self.hash(entry.name, entity) & mask
        while table[index].entity != nil { index = (index &+ 1) & mask }
        table[index] = entry
    }

    /// Keeps half of the table empty; removes all entries if there are too many.
    private func makeRoom() {
        guard (held.count + 1) * 2 > table.count else { return }
        let old = table
        defer { old.deallocate() }
        guard held.count < Self.limit else {
            held = []
            return table = Self.room(old.count)
        }
        table = Self.room(old.count * 2)
        mask = table.count - 1
        for entry in old { insert(entry) }
    }

    @inline(__always)
    private static func hash(_ name: _ManagedName, _ entity: ObjectIdentifier) -> Int {
        let mixed =
            UInt(truncatingIfNeeded: name.low ^ (name.high &* 0x2545_F491_4F6C_DD1D))
            &+ UInt(bitPattern: entity) / 16 &* 31
        return Int((mixed &* 0x9E37_79B9_7F4A_7C15) >> 48)
    }
}

/// Records which properties of an object are read.
protocol PropertyProbe {
    /// Records that a property is read.
    func record(_ property: CompiledProperty)

    /// Returns an object with this probe as the target of a to-one relationship.
    func next<Object: ManagedObject>(_ type: Object.Type) -> Object?
}

/// The name or key path of a property in a program's source, for one read.
///
/// A name is the sixteen bytes of a string's representation (not of its text), or the address of a
/// key path. No string is represented by the bytes of such an address. A name is valid only while
/// its creator retains the string or key path.
public struct _ManagedName: Sendable, BitwiseCopyable, Equatable {
    @usableFromInline let low: UInt64
    @usableFromInline let high: UInt64

    @inlinable @inline(__always)
    init(_ name: String) { (low, high) = unsafeBitCast(name, to: (UInt64, UInt64).self) }

    @inlinable @inline(__always)
    init(_ keyPath: AnyKeyPath) {
        // The second word of a `String` is never zero: it contains the address or the length of the
        // text.
        (low, high) = (UInt64(UInt(bitPattern: ObjectIdentifier(keyPath))), 0)
    }

    /// The name, if it was not read from a key path; valid only while the creator of this value
    /// retains the string.
    var text: String { unsafeBitCast((low, high), to: String.self) }
}

extension CompiledEntity {
    /// Returns the property that the source code names; traps if the entity lacks it.
    func declared(_ name: String) -> CompiledProperty {
        guard let property = property(named: name) else {
            fatalError("\(self.name) has no property \(name).")
        }
        return property
    }
}
