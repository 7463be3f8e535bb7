import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// The rows that to-one key paths refer to, with which the client evaluates these paths itself.
struct RelatedRows {
    private let run: ReadRun
    private let budget: ReadBudget
    private var found: [ObjectNumber: StoredObject] = [:]

    init(_ run: ReadRun, _ budget: ReadBudget) {
        self.run = run
        self.budget = budget
    }

    /// The rows found, in the order of their objects.
    var objects: [StoredObject] { found.values.sorted { $0.object < $1.object } }

    /// Follows the leading to-one relationships of a key path from a row.
    mutating func follow(_ path: ArraySlice<String>, from row: Row) throws {
        try budget.followHop()
        guard let first = path.first, let entity = run.model.entity(tagged: row.tag),
            let slot = entity.slot(of: first), let target = row.reference(slot, in: entity)
        else { return }
        guard let next = try load(target) else { return }
        try follow(path.dropFirst(), from: next)
    }

    /// Follows the leading to-one hops of an observed path.
    mutating func follow(_ hops: ArraySlice<ObservedHop>, from row: Row) throws {
        guard let hop = hops.first, !hop.isToMany, let entity = run.model.entity(tagged: row.tag),
            let target = row.reference(hop.slot, in: entity), let next = try load(target)
        else { return }
        try follow(hops.dropFirst(), from: next)
    }

    /// Adds the row of an object.
    mutating func read(_ object: ObjectReference) throws { _ = try load(object) }

    private mutating func load(_ target: ObjectReference) throws -> Row? {
        if let known = found[target.number] { return known.row }
        guard let stored = try run.view.stored(target, run.past) else { return nil }
        try budget.collect(stored.row)
        found[target.number] = stored
        return stored.row
    }
}
