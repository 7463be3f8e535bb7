import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// Collects the rows that to-one key paths lead to, so that a client can evaluate them itself.
struct RelatedRows {
    private let store: Store
    private let model: CompiledModel
    private let past: PastGraph?
    private let size: AnswerSize
    private var found: [ObjectNumber: StoredObject] = [:]
    private var looked = 0

    init(_ store: Store, _ model: CompiledModel, _ past: PastGraph?, _ size: AnswerSize) {
        self.store = store
        self.model = model
        self.past = past
        self.size = size
    }

    /// The rows found, by number.
    var objects: [StoredObject] { found.values.sorted { $0.object < $1.object } }

    /// How many objects were read since this was last asked.
    mutating func takeLooked() -> Int {
        defer { looked = 0 }
        return looked
    }

    /// Whether an object was found.
    func holds(_ object: ObjectReference) -> Bool { found[object.number] != nil }

    /// Reads an object that was found again.
    mutating func renew(_ object: ObjectReference) throws {
        guard let old = found.removeValue(forKey: object.number) else { return }
        size.remove(old.row)
        _ = try load(object)
    }

    /// Follows a key path from a row as far as it leads over to-one relationships.
    mutating func follow(_ path: ArraySlice<String>, from row: Row) throws {
        try size.addHop()
        guard let first = path.first, let entity = model.entity(tagged: row.tag),
            let slot = entity.slot(of: first), let target = row.reference(slot, in: entity)
        else { return }
        guard let next = try load(target) else { return }
        try follow(path.dropFirst(), from: next)
    }

    /// Follows the to-one hops of an observed path.
    mutating func follow(_ hops: ArraySlice<ObservedHop>, from row: Row) throws {
        guard let hop = hops.first, !hop.isToMany, let entity = model.entity(tagged: row.tag),
            let target = row.reference(hop.slot, in: entity), let next = try load(target)
        else { return }
        try follow(hops.dropFirst(), from: next)
    }

    /// Reads an object.
    mutating func read(_ object: ObjectReference) throws { _ = try load(object) }

    private mutating func load(_ target: ObjectReference) throws -> Row? {
        if let known = found[target.number] { return known.row }
        looked += 1
        guard let stored = try store.stored(target, past) else { return nil }
        try size.add(stored.row)
        found[target.number] = StoredObject(
            object: stored.object, version: stored.version, row: stored.row)
        return stored.row
    }
}

extension Store {
    /// The row of an object as it is or was.
    func stored(_ object: ObjectReference, _ past: PastGraph?) throws(StoreError) -> Stored? {
        guard let past else { return try stored(object) }
        return try past.stored(object, in: self)
    }
}
