import FoundationEssentials
import TandemIO
import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Teams with players, captains among them, and tags on players.
let leagueModel = ManagedObjectModel {
    Entity("Team", uniqueness: [["name"]], indexes: [["city"], ["city", "wins"]]) {
        Attribute("name", .string)
        Attribute("city", .string)
        Attribute("wins", .int, default: .int(0))
        Relationship(
            "players", to: "Player", inverse: "team", toMany: true, deleteRule: .cascade)
    }
    Entity("Player", uniqueness: [["pass"]], indexes: [["note"], ["goals"], ["team"]]) {
        Attribute("pass", .string)
        Attribute("note", .string)
        Attribute("goals", .int, default: .int(0))
        Attribute("rating", .double)
        Relationship("team", to: "Team", inverse: "players")
        Relationship("tags", to: "Tag", inverse: "players", toMany: true)
    }
    Entity("Captain", parent: "Player") { Attribute("since", .int) }
    Entity("Tag") {
        Attribute("label", .string)
        Relationship("players", to: "Player", inverse: "tags", toMany: true)
    }
}

/// A store in a directory of its own, and every transaction that was applied to it.
final class StoreBench {
    let scratch: Scratch
    private(set) var store: Store
    private(set) var log: [EncodedTransaction] = []
    let options: StoreOptions

    init(model: ManagedObjectModel? = leagueModel, options: StoreOptions = StoreOptions()) throws {
        scratch = try Scratch(inMemory: true)
        self.options = options
        store = try openStore(scratch.path, options)
        if let model { try install(CompiledModel(model)) }
    }

    var model: CompiledModel {
        get throws { try #require(store.model) }
    }

    func entity(_ name: String) throws -> CompiledEntity {
        try #require(try model.entity(named: name))
    }

    func install(_ model: CompiledModel) throws {
        var writer = ByteWriter()
        model.encode(into: &writer)
        try apply(Transaction(content: .model(writer.bytes)))
    }

    /// Applies the next transaction in its encoded form, as replay does.
    @discardableResult
    func apply(_ transaction: Transaction) throws -> EncodedTransaction {
        var transaction = transaction
        transaction.position = store.appliedPosition + 1
        let encoded = EncodedTransaction(transaction)
        log.append(encoded)
        try store.apply(encoded)
        return encoded
    }

    func apply(_ changes: [Change]) throws { try apply(Transaction(content: .objects(changes))) }

    /// Closes the store without a checkpoint and opens it again.
    func reopen() throws {
        store.close()
        store = try openStore(scratch.path, options)
    }

    // MARK: Changes

    func reference(_ entity: String, _ number: ObjectNumber) throws -> ObjectReference {
        ObjectReference(tag: try self.entity(entity).tag, number: number)
    }

    func row(_ name: String, _ values: [String: PropertyValue]) throws -> Row {
        let entity = try entity(name)
        var slots = entity.defaults
        for (name, value) in values { slots[try #require(entity.slot(of: name))] = value }
        return Row(slots, of: entity, version: try model.version)
    }

    func insert(
        _ name: String, _ number: ObjectNumber, _ values: [String: PropertyValue]
    ) throws -> Change {
        let row = try row(name, values)
        let entity = try entity(name)
        let mask = PropertyMask(
            entity.properties.indices.filter { !row.isNull($0, in: entity) })
        return Change(.insert, try reference(name, number), changed: mask, row: row)
    }

    func update(
        _ name: String, _ number: ObjectNumber, _ values: [String: PropertyValue]
    ) throws -> Change {
        let object = try reference(name, number)
        let entity = try entity(name)
        let old = try #require(try store.stored(object)).row
        let slots = try values.map { (slot: try #require(entity.slot(of: $0)), value: $1) }
        let row = old.replacing(slots, in: entity)
        let before = slots.map {
            SlotValue(slot: $0.slot, value: old.uncheckedValue($0.slot, in: entity))
        }
        return Change(
            .update, object, changed: PropertyMask(slots.map(\.slot)), row: row, before: before)
    }

    func delete(_ name: String, _ number: ObjectNumber) throws -> Change {
        let object = try reference(name, number)
        let old = try #require(try store.stored(object)).row
        return Change(.delete, object, changed: PropertyMask(), deleted: old)
    }

    func touch(
        _ name: String, _ number: ObjectNumber, _ property: String, added: [ObjectReference] = [],
        removed: [ObjectReference] = []
    ) throws -> Change {
        let slot = try #require(try entity(name).slot(of: property))
        let links =
            added.map { LinkChange(slot: slot, target: $0, isAdded: true) }
            + removed.map { LinkChange(slot: slot, target: $0, isAdded: false) }
        return Change(
            .touch, try reference(name, number), changed: PropertyMask([slot]), links: links)
    }

    // MARK: Reads

    func members(_ name: String, _ number: ObjectNumber, _ property: String) throws -> [UInt64] {
        let relationship = try #require(try entity(name).property(named: property)?.relationship)
        return try store.members(of: number, relationship).map(\.number)
    }

    func owner(_ name: String, _ values: [String: PropertyValue]) throws -> UInt64? {
        let entity = try entity(name)
        let index = try #require(entity.uniqueness.first)
        return try store.owner(of: index, try row(name, values), entity)?.number
    }

    func fetch(_ request: FetchDescriptor) throws -> FetchResult {
        try store.fetch(try CompiledRequest(request, in: try model))
    }

    /// Returns a predicate's first plan other than a scan, after checking that it finds the same
    /// objects as a scan.
    func indexPlan(_ entity: String, _ format: String) throws -> String {
        let predicate = try ObjectPredicate(format: format)
        let request = try CompiledRequest(
            FetchDescriptor(entity: entity, predicate: predicate), in: try model)
        let plans = FetchPlan.plans(for: request, .references)
        let found = try plans.map { try store.fetch(request, by: $0, for: .references) }
        #expect(found.allSatisfy { $0.references == found[0].references }, "\(format)")
        return found.count > 1 ? found[1].plan : ""
    }

    func numbers(_ entity: String, _ format: String, _ arguments: [PropertyValue] = []) throws
        -> [UInt64]
    {
        try fetch(
            FetchDescriptor(
                entity: entity,
                predicate: try ObjectPredicate(
                    format: format, arguments: arguments.map { .value($0) }))
        ).objects.map(\.object.number)
    }
}

extension StoreBench {
    /// Reads the row of an object from the table, past the cache.
    func storedInTable(_ object: ObjectReference) throws -> StoredObject? {
        try store.current.get(store.tables.rows, SmallKey(row: object)).map {
            try store.stored(object, at: $0)
        }
    }
}

extension StoreView {
    /// Fetches with a plan and an unlimited budget.
    func fetch(
        _ request: CompiledRequest, by plan: FetchPlan, for part: FetchResultKind,
        past: HistoricalGraph? = nil, chunkBytes: Int? = nil
    ) throws -> FetchResult {
        try fetch(
            request, by: plan, for: part, past: past, chunkBytes: chunkBytes, budget: readBudget())
    }
}

func openStore(_ path: String, _ options: StoreOptions = StoreOptions()) throws -> Store {
    try Store.open(
        path: path, newIdentity: StoreIdentity(log: LogID(high: 1, low: 2), epoch: 1),
        options: options)
}

func dump(_ store: Store) throws -> [String] {
    var lines: [String] = []
    try store.dump { lines.append($0) }
    return lines
}

/// Returns every key and value of a table.
func content(_ store: Store, _ table: LMDBTable) throws -> [String] {
    var lines: [String] = []
    try store.current.scan(table, from: []) { key, value in
        lines.append(StoreKey.hex(key) + " " + StoreKey.hex(value))
        return true
    }
    return lines
}

func readFile(_ path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
}
