import FoundationEssentials
import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// A model with every pair of relationship kinds and every delete rule.
let graphModel = ManagedObjectModel {
    Entity("Node", uniqueness: [["code"]], indexes: [["rank"]]) {
        Attribute("name", .string)
        Attribute("code", .string)
        Attribute("rank", .int, default: .int(1), min: -100, max: 100)
        // One-to-one, with another entity and with itself.
        Relationship("badge", to: "Badge", inverse: "owner", deleteRule: .cascade)
        Relationship("spouse", to: "Node", inverse: "spouse")
        // One-to-many, with another entity and with itself.
        Relationship("group", to: "Group", inverse: "nodes")
        Relationship("parent", to: "Node", inverse: "children")
        Relationship(
            "children", to: "Node", inverse: "parent", toMany: true, deleteRule: .cascade)
        // Many-to-many, with another entity and with itself.
        Relationship("tags", to: "Tag", inverse: "nodes", toMany: true)
        Relationship("friends", to: "Node", inverse: "friends", toMany: true)
    }
    Entity("Leaf", parent: "Node") { Attribute("colour", .string) }
    Entity("Badge") {
        Attribute("text", .string)
        Relationship("owner", to: "Node", inverse: "badge")
    }
    Entity("Group") {
        Attribute("title", .string)
        Relationship("nodes", to: "Node", inverse: "group", toMany: true, deleteRule: .deny)
    }
    Entity("Tag") {
        Attribute("label", .string)
        Relationship(
            "nodes", to: "Node", inverse: "tags", toMany: true, deleteRule: .noAction)
    }
    Entity("Form") {
        Attribute("must", .string, optional: false)
        Attribute("choice", .string, values: [.string("a"), .string("b")])
        Attribute("size", .int, min: 1, max: 9)
        Attribute("text", .string, min: 2, max: 3)
    }
}

func dump(_ store: Store) throws -> [String] {
    var lines: [String] = []
    try store.dump { lines.append($0) }
    return lines
}

/// A committer with a journal in memory and a store in a directory of its own.
final class CommitBench {
    let scratch: Scratch
    let disk = SimulatedFileSystem()
    private(set) var committer: Committer
    private var saves: UInt32 = 0
    private var settings: Settings

    /// The options with which journal and store are opened.
    struct Settings {
        var quotaBytes: Int
        var segmentBytes: Int
        var durability: Durability
        var savesKept: UInt64?
        var clock: any Clock
        var limits: DaemonLimits
        var indexes: Bool
    }

    init(
        model: ManagedObjectModel = graphModel, segmentBytes: Int = 128 << 10,
        leased: Int = 1, durability: Durability = .full, savesKept: UInt64? = nil,
        quotaBytes: Int = 1 << 40, clock: any Clock = SystemClock(),
        limits: DaemonLimits = DaemonLimits(), indexes: Bool = false
    ) throws {
        scratch = try Scratch(inMemory: true)
        settings = Settings(
            quotaBytes: quotaBytes, segmentBytes: segmentBytes,
            durability: durability, savesKept: savesKept, clock: clock, limits: limits,
            indexes: indexes)
        disk.recordsOperations = false
        committer = try CommitBench.open(scratch.path, disk, settings)
        try committer.install(model, by: Principal())
        for _ in 0..<leased { _ = try committer.lease(4_096) }
    }

    private static func open(
        _ path: String, _ disk: SimulatedFileSystem, _ settings: Settings
    ) throws -> Committer {
        var options = StoreOptions()
        options.quotaBytes = settings.quotaBytes
        options.savesKept = UInt64(settings.limits.savesKept)
        options.objectReads = settings.limits.objectReads
        options.requestReads = settings.limits.requestReads
        options.readers = settings.limits.storeReaders
        if let kept = settings.savesKept { options.savesKept = kept }
        let store = try Store.open(
            path: path, newIdentity: StoreIdentity(log: LogID(high: 1, low: 2), epoch: 1),
            options: options)
        var journalOptions = JournalOptions()
        journalOptions.segmentBytes = settings.segmentBytes
        journalOptions.durability = settings.durability
        if settings.indexes { journalOptions.payloadReading = PayloadKeys.ofTransaction }
        let (journal, _) = try Journal.open(
            directory: "/journal", fileSystem: disk, options: journalOptions,
            identityIfNew: LogIdentity(high: 1, low: 2), appliedPosition: store.appliedPosition)
        return try Committer(
            journal: journal, store: store, clock: settings.clock, limits: settings.limits,
            log: DaemonLog { _, _ in })
    }

    /// Ends the committer without a checkpoint, and starts another on the files.
    func crash(quotaBytes: Int? = nil) throws {
        if let quotaBytes { settings.quotaBytes = quotaBytes }
        committer.store.close()
        try committer.journal.close()
        committer = try CommitBench.open(scratch.path, disk, settings)
    }

    /// Ends the committer, and starts another that rebuilds the store from the journal.
    func rebuild() throws {
        committer.store.close()
        try committer.journal.close()
        try FileManager.default.removeItem(atPath: scratch.path)
        committer = try CommitBench.open(scratch.path, disk, settings)
    }

    /// Ends the committer, discards writes that the journal's disk had not made durable, and starts
    /// another.
    func cutPower(seed: UInt64) throws {
        committer.store.close()
        disk.crash(seed: seed)
        committer = try CommitBench.open(scratch.path, disk, settings)
    }

    var store: Store { committer.store }
    var model: CompiledModel { get throws { try #require(store.model) } }
    func entity(_ name: String) throws -> CompiledEntity {
        try #require(try model.entity(named: name))
    }

    // MARK: Saving

    /// Saves and flushes, as a client would.
    @discardableResult
    func save(
        _ operations: [SaveOperation], policy: MergePolicy = .error, id: [UInt8]? = nil,
        hash: StableHash? = nil, uid: UInt32 = 7, firstSentAt: UInt64? = nil
    ) throws -> SaveAnswer {
        saves += 1
        let saveID = id ?? withUnsafeBytes(of: saves.bigEndian) { Array($0) }
        var writer = ByteWriter()
        for operation in operations { operation.encode(into: &writer) }
        let request = SaveRequest(
            saveID: saveID, contentHash: hash ?? StableHash(writer.bytes), policy: policy,
            modelVersion: try model.version, operations: operations, firstSentAt: firstSentAt)
        return try save(request, uid: uid)
    }

    /// Plans a request and flushes.
    func save(_ request: SaveRequest, uid: UInt32 = 7) throws -> SaveAnswer {
        switch try committer.begin(request, by: Principal(uid: uid)) {
        case .planned(let saved), .answered(let saved):
            try committer.flush()
            return saved
        }
    }

    /// Returns the error with which a save is refused, or nil if it succeeds.
    func refusal(
        _ operations: [SaveOperation], policy: MergePolicy = .error
    ) throws -> TandemError? {
        do {
            try save(operations, policy: policy)
            return nil
        } catch let error as TandemError {
            return error
        }
    }

    func reference(_ entity: String, _ number: UInt64) throws -> ObjectReference {
        ObjectReference(tag: try self.entity(entity).tag, number: number)
    }

    func insert(
        _ name: String, _ number: UInt64, _ values: [String: PropertyValue] = [:],
        links: [String: [ObjectReference]] = [:]
    ) throws -> SaveOperation {
        let entity = try entity(name)
        let values = try values.map {
            SlotValue(slot: try #require(entity.slot(of: $0)), value: $1)
        }
        return .insert(
            object: try reference(name, number), values: values.sorted { $0.slot < $1.slot },
            links: try changes(entity, added: links))
    }

    func update(
        _ name: String, _ number: UInt64, _ values: [String: PropertyValue] = [:],
        version: UInt64 = 0,
        base: [String: PropertyValue] = [:], added: [String: [ObjectReference]] = [:],
        removed: [String: [ObjectReference]] = [:]
    ) throws -> SaveOperation {
        let entity = try entity(name)
        let values = try values.map {
            SaveValue(slot: try #require(entity.slot(of: $0)), value: $1, base: base[$0])
        }
        return .update(
            object: try reference(name, number), baseVersion: version,
            values: values.sorted { $0.slot < $1.slot },
            links: try changes(entity, added: added, removed: removed))
    }

    private func changes(
        _ entity: CompiledEntity, added: [String: [ObjectReference]],
        removed: [String: [ObjectReference]] = [:]
    ) throws -> [LinkChange] {
        var changes: [LinkChange] = []
        for (links, isAdded) in [(added, true), (removed, false)] {
            for (name, targets) in links.sorted(by: { $0.key < $1.key }) {
                let slot = try #require(entity.slot(of: name))
                changes += targets.map { LinkChange(slot: slot, target: $0, isAdded: isAdded) }
            }
        }
        return changes
    }

    func delete(_ name: String, _ number: UInt64, version: UInt64 = 0) throws -> SaveOperation {
        .delete(object: try reference(name, number), baseVersion: version)
    }

    // MARK: Reading

    func value(_ name: String, _ number: UInt64, _ property: String) throws -> PropertyValue {
        let entity = try entity(name)
        let stored = try #require(try store.stored(try reference(name, number)))
        return stored.row.uncheckedValue(try #require(entity.slot(of: property)), in: entity)
    }

    func members(_ name: String, _ number: UInt64, _ property: String) throws -> [UInt64] {
        let relationship = try #require(try entity(name).property(named: property)?.relationship)
        return try store.members(of: number, relationship).map(\.number)
    }

    func exists(_ name: String, _ number: UInt64) throws -> Bool {
        try store.stored(try reference(name, number)) != nil
    }

    func version(_ name: String, _ number: UInt64) throws -> UInt64 {
        try #require(try store.stored(try reference(name, number))).version
    }

    /// Returns the transactions in the journal.
    func transactions(from position: UInt64 = 1) throws -> [Transaction] {
        let source = TransactionSource(committer.journal)
        guard position <= committer.position else { return [] }
        return try (position...committer.position).map {
            try source.transaction(at: $0, TransactionRing()).decoded()
        }
    }
}
