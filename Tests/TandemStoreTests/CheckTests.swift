import TandemModel
import TestSupport
import Testing

@testable import TandemStore

/// Damage of every kind, which `check` must find and its repair must undo.
@Suite(.ownThread) struct CheckTests {
    static let icon = Blob([UInt8](repeating: 7, count: 70_000))
    static let unused = Blob([UInt8](repeating: 8, count: 70_000))

    /// Returns a store with two teams, a captain and a player who are friends, one tag on both, and
    /// one ground.
    private func small() throws -> StoreBench {
        let bench = try StoreBench(model: careModel)
        let (team, ground) = (try bench.reference("Team", 1), try bench.reference("Ground", 2))
        let (captain, player) = (
            try bench.reference("Captain", 3), try bench.reference("Player", 4)
        )
        let tag = try bench.reference("Tag", 5)
        try bench.apply(
            Transaction(
                principal: Principal(uid: 7), saveID: [1],
                content: .objects([
                    try bench.insert(
                        "Team", 1,
                        [
                            "name": .string("A"), "city": .string("Oslo"),
                            "ground": .reference(ground),
                        ]),
                    try bench.insert("Ground", 2, ["home": .reference(team)]),
                    try bench.insert(
                        "Captain", 3, ["pass": .string("p3"), "team": .reference(team)]),
                    try bench.insert("Player", 4, ["pass": .string("p4"), "note": .string("n")]),
                    try bench.insert("Tag", 5, ["icon": .blob(Self.icon.reference)]),
                    try bench.insert("Team", 6, ["name": .string("B")]),
                    try bench.touch("Team", 1, "players", added: [captain]),
                    try bench.touch("Captain", 3, "tags", added: [tag]),
                    try bench.touch("Tag", 5, "players", added: [captain, player]),
                    try bench.touch("Player", 4, "tags", added: [tag]),
                    try bench.touch("Captain", 3, "friends", added: [player]),
                    try bench.touch("Player", 4, "friends", added: [captain]),
                    try bench.insert(
                        "Zone", 7,
                        [
                            "name": .string("É"), "folded": .string("e"), "partCount": .int(1),
                        ]),
                    try bench.insert(
                        "Zone", 8, ["whole": .reference(try bench.reference("Zone", 7))]),
                    try bench.touch(
                        "Zone", 7, "parts", added: [try bench.reference("Zone", 8)]),
                ]), blobs: [Self.icon, Self.unused]))
        let unchanged = IdempotencyRecord(
            position: 2, contentHash: StableHash([1]), wrote: false, inserted: [])
        try bench.store.rememberUnchanged(unchanged, by: 7, id: [2])
        try bench.store.put(Consumer(name: "mirror", acknowledged: 2))
        try bench.store.checkpoint()
        return bench
    }

    /// A way to damage a store, and the expected findings.
    struct Damage: Sendable, CustomTestStringConvertible {
        var name: String
        var kinds: Set<StoreFinding.Kind>
        var isMendable = true
        var apply: @Sendable (StoreBench) throws -> Void
        var testDescription: String { name }
    }

    static let damages: [Damage] = [
        Damage(name: "a key of rows with another length", kinds: [.badKey], isMendable: false) {
            try $0.put(.rows, [1, 2, 3], [0])
        },
        Damage(name: "a key of numbers with another length", kinds: [.badKey]) {
            try $0.put(.numbers, [1, 2, 3], [0, 1])
        },
        Damage(name: "a key of links with another length", kinds: [.badKey]) {
            try $0.put(.links, [1, 2, 3], [0, 1])
        },
        Damage(name: "a key of indexes that is too short", kinds: [.badKey]) {
            try $0.put(.indexes, [1, 2, 3], [0, 1])
        },
        Damage(name: "a unique key with another length", kinds: [.badKey]) {
            try $0.put(.unique, [1, 2, 3], [0, 1])
        },
        Damage(name: "a key of saveOrder with another length", kinds: [.badKey]) {
            try $0.put(.saveOrder, [1, 2, 3], [0, 1])
        },
        Damage(name: "an answer to a save that cannot be read", kinds: [.badValue, .looseSave]) {
            try $0.put(.saves, StoreKey.save(7, [1]), [9])
        },
        Damage(name: "a number record of the wrong length", kinds: [.badValue, .unnotedNumber]) {
            try $0.put(.numbers, StoreKey.number(4), [1])
        },
        Damage(name: "a truncated row", kinds: [.badRow], isMendable: false) {
            let key = StoreKey.row(try $0.reference("Tag", 5))
            let value = try #require(try $0.get(.rows, key))
            try $0.put(.rows, key, value.dropLast(2))
        },
        Damage(name: "a row of another model version", kinds: [.badRow], isMendable: false) {
            let key = StoreKey.row(try $0.reference("Tag", 5))
            var value = try #require(try $0.get(.rows, key))
            value[8] = 9
            try $0.put(.rows, key, value)
        },
        Damage(name: "a row of an unknown entity", kinds: [.badRow], isMendable: false) {
            let key = StoreKey.row(ObjectReference(tag: 999, number: 1))
            try $0.put(.rows, key, [1, 2, 3])
        },
        Damage(
            name: "a row with a version above the store's position", kinds: [.futureRow],
            isMendable: false
        ) {
            let key = StoreKey.row(try $0.reference("Tag", 5))
            var value = try #require(try $0.get(.rows, key))
            value[1] = 9
            try $0.put(.rows, key, value)
        },
        Damage(name: "a number without a record", kinds: [.unnotedNumber]) {
            try $0.remove(.numbers, StoreKey.number(4))
        },
        Damage(name: "a number recorded for another entity", kinds: [.unnotedNumber]) {
            try $0.put(.numbers, StoreKey.number(4), [0, 99])
        },
        Damage(name: "a high-water mark of numbers that is too low", kinds: [.lowNumberMark]) {
            try $0.setMark(.leases, 3)
        },
        Damage(
            name: "a missing row",
            kinds: [.danglingReference, .strayUniqueKey, .strayIndexEntry, .strayLink],
            isMendable: false
        ) { try $0.remove(.rows, StoreKey.row(try $0.reference("Team", 1))) },
        Damage(
            name: "a one-to-one link at only one end", kinds: [.oneSidedReference],
            isMendable: false
        ) {
            let key = StoreKey.row(try $0.reference("Ground", 2))
            let row = try $0.row("Ground", ["home": .reference(try $0.reference("Team", 6))])
            try $0.put(.rows, key, [2, 0, 0, 0, 0, 0, 0, 0] + row.bytes)
        },
        Damage(name: "wrong derived values", kinds: [.wrongDerived]) {
            // The index entries match the wrong row.
            let wrong = try $0.row(
                "Zone",
                ["name": .string("É"), "folded": .string("f"), "partCount": .int(3)])
            try $0.damage("Zone", 7, wrong)
        },
        Damage(name: "a missing count", kinds: [.wrongDerived]) {
            try $0.damage(
                "Zone", 8,
                try $0.row(
                    "Zone",
                    [
                        "partCount": .null, "whole": .reference(try $0.reference("Zone", 7)),
                    ]))
        },
        Damage(name: "a missing index entry", kinds: [.missingIndexEntry]) {
            let key = try #require(try $0.keys(.indexes).first)
            try $0.remove(.indexes, key)
        },
        Damage(
            name: "an index entry for another entity",
            kinds: [.missingIndexEntry, .strayIndexEntry]
        ) {
            let key = try #require(try $0.keys(.indexes).first)
            try $0.put(.indexes, key, StoreKey.tag(try $0.entity("Tag").tag))
        },
        Damage(name: "a surplus index entry", kinds: [.strayIndexEntry]) {
            var key = try #require(try $0.keys(.indexes).first)
            key[key.count - 1] ^= 0x40
            try $0.put(.indexes, key, StoreKey.tag(try $0.entity("Team").tag))
        },
        Damage(name: "a missing unique key", kinds: [.missingUniqueKey]) {
            let key = try #require(try $0.keys(.unique).first)
            try $0.remove(.unique, key)
        },
        Damage(name: "a unique key of another object", kinds: [.missingUniqueKey, .strayUniqueKey])
        {
            let team = try $0.entity("Team")
            let index = try #require(team.uniqueness.first)
            let row = try $0.row("Team", ["name": .string("A")])
            let key = try #require(StoreKey.unique(index, row, team))
            try $0.put(.unique, key, StoreKey.tag(team.tag) + StoreKey.number(6))
        },
        Damage(name: "a surplus unique key", kinds: [.strayUniqueKey]) {
            var key = try #require(try $0.keys(.unique).first)
            let value = try #require(try $0.get(.unique, key))
            key[9] ^= 1
            try $0.put(.unique, key, value)
        },
        Damage(
            name: "two rows with one unique value",
            kinds: [.duplicateUnique, .strayUniqueKey], isMendable: false
        ) {
            let key = StoreKey.row(try $0.reference("Team", 6))
            let row = try $0.row("Team", ["name": .string("A")])
            try $0.put(.rows, key, [2, 0, 0, 0, 0, 0, 0, 0] + row.bytes)
        },
        Damage(name: "a member missing from its owner's range", kinds: [.missingLink]) {
            try $0.remove(.links, try $0.link("Team", 1, "players", 3))
        },
        Damage(name: "half of a many-to-many link", kinds: [.missingLink]) {
            try $0.remove(.links, try $0.link("Tag", 5, "players", 4))
        },
        Damage(name: "half of a link to the same entity", kinds: [.missingLink]) {
            try $0.remove(.links, try $0.link("Player", 4, "friends", 3))
        },
        Damage(name: "a member in the range of another owner", kinds: [.strayLink]) {
            let tag = StoreKey.tag(try $0.entity("Captain").tag)
            try $0.put(.links, try $0.link("Team", 6, "players", 3), tag)
        },
        Damage(name: "a link to a missing object", kinds: [.strayLink]) {
            let tag = StoreKey.tag(try $0.entity("Player").tag)
            try $0.put(.links, try $0.link("Tag", 5, "players", 77), tag)
        },
        Damage(name: "a link of a missing owner", kinds: [.strayLink]) {
            let tag = StoreKey.tag(try $0.entity("Player").tag)
            try $0.put(.links, try $0.link("Tag", 77, "players", 4), tag)
        },
        Damage(name: "a link of no relationship", kinds: [.strayLink]) {
            try $0.put(.links, StoreKey.link(999, 1, 3), [0, 1])
        },
        Damage(name: "a link with the wrong entity", kinds: [.wrongLinkEntity]) {
            let tag = StoreKey.tag(try $0.entity("Player").tag)
            try $0.put(.links, try $0.link("Team", 1, "players", 3), tag)
        },
        Damage(name: "a save without its position", kinds: [.looseSave]) {
            try $0.remove(.saveOrder, StoreKey.number(2))
        },
        Damage(name: "a position without its save", kinds: [.looseSave]) {
            try $0.put(.saveOrder, StoreKey.number(1), StoreKey.save(7, [8]))
        },
        Damage(name: "a save without effect and without its record", kinds: [.looseSave]) {
            try $0.remove(.unchanged, StoreKey.number(2) + StoreKey.save(7, [2]))
        },
        Damage(name: "a record of a missing save without effect", kinds: [.looseSave]) {
            try $0.put(.unchanged, StoreKey.number(2) + StoreKey.save(7, [3]), [])
        },
        Damage(name: "a truncated record of a save without effect", kinds: [.badKey]) {
            try $0.put(.unchanged, [1, 2, 3], [])
        },
        Damage(name: "a missing blob", kinds: [.missingBlob], isMendable: false) {
            try $0.remove(.blobs, icon.reference.hash)
        },
        Damage(name: "a blob replaced by another one", kinds: [.missingBlob], isMendable: false) {
            try $0.put(.blobs, icon.reference.hash, unused.content)
        },
        Damage(name: "a blob with too high a use count", kinds: [.wrongBlobUses]) {
            try $0.put(.blobUses, icon.reference.hash, BlobUses(count: 5, since: 2).bytes)
        },
        Damage(name: "an unused blob with a use count", kinds: [.wrongBlobUses, .strayBlob]) {
            try $0.put(.blobUses, unused.reference.hash, BlobUses(count: 1, since: 2).bytes)
        },
        Damage(name: "a blob without a use count", kinds: [.wrongBlobUses]) {
            try $0.remove(.blobUses, icon.reference.hash)
        },
        Damage(name: "a blob that no object refers to", kinds: [.strayBlob]) {
            let blob = Blob([UInt8](repeating: 9, count: 70_000))
            try $0.put(.blobs, blob.reference.hash, blob.content)
        },
        Damage(name: "an unused blob without its record", kinds: [.strayBlob]) {
            try $0.remove(.unusedBlobs, StoreKey.number(2) + unused.reference.hash)
        },
        Damage(name: "a used blob recorded as unused", kinds: [.strayBlob]) {
            try $0.put(.unusedBlobs, StoreKey.number(1) + icon.reference.hash, [])
        },
        Damage(name: "a consumer whose position cannot be read", kinds: [.badValue]) {
            try $0.put(.consumers, Array("other".utf8), [1, 2, 3])
        },
        Damage(name: "a consumer whose name is not UTF-8", kinds: [.badValue]) {
            try $0.put(.consumers, [0xff, 0xfe], Consumer(name: "", acknowledged: 1).value)
        },
        Damage(name: "a consumer above the store's position", kinds: [.futureConsumer]) {
            try $0.put(
                .consumers, Array("mirror".utf8), Consumer(name: "", acknowledged: 77).value)
        },
        Damage(name: "a floor of save ids above the store's position", kinds: [.highSaveFloor]) {
            try $0.setMark(.saveFloor, 77)
        },
    ]

    @Test func `every kind of finding has a damage`() {
        let kinds = Set(Self.damages.flatMap(\.kinds))
        #expect(Set(StoreFinding.Kind.allCases).subtracting(kinds).isEmpty)
    }

    @Test(arguments: damages) func `damage is found, and repaired if the rows allow`(
        _ damage: Damage
    ) throws {
        let bench = try small()
        #expect(try bench.store.check().findings == [])
        let before = try bench.everything()
        try damage.apply(bench)
        let report = try bench.store.check()
        let found = Set(report.findings.map(\.kind))
        #expect(damage.kinds.isSubset(of: found), "\(report.findings)")
        if damage.isMendable {
            #expect(found == damage.kinds, "\(report.findings)")
            // A lost answer to a save is forgotten with its position, because no row contains it.
            // The same holds for the floor.
            let isForgotten =
                damage.kinds.contains(.highSaveFloor)
                || damage.kinds.contains(.badValue) && found.contains(.looseSave)
            try bench.store.repair(report.repairs)
            #expect(try bench.store.check().findings == [])
            if !isForgotten { #expect(try bench.everything() == before) }
        } else {
            #expect(
                report.findings.contains { $0.repairs.isEmpty && damage.kinds.contains($0.kind) })
            #expect(report.findings.contains { "\($0)".contains("tandem rebuild") })
        }
    }

    @Test(arguments: damages) func `a salvage leaves a consistent store`(_ damage: Damage) throws {
        let bench = try small()
        try damage.apply(bench)
        let hasLosses = !damage.isMendable
        let losses = try bench.store.salvage()
        #expect(try bench.store.check().findings == [])
        #expect(losses.isEmpty != hasLosses, "\(losses.lines)")
        #expect(losses.lines.isEmpty != hasLosses)
        let rows = try bench.keys(.rows).count
        #expect(rows >= 7, "\(rows) of 8 rows are left")
    }

    @Test func `a salvage keeps all readable rows`() throws {
        var random = SplitMix64(seed: seed)
        for round in 0..<Volume.of(4, deep: 10) {
            let bench = try StoreBench.league(120, seed: random.next())
            let keys = try bench.keys(.rows)
            let lost = Set(keys.filter { _ in Int.random(in: 0..<10, using: &random) == 0 })
            for key in lost { try bench.put(.rows, key, [1, 2, 3]) }
            for blob in try bench.keys(.blobs) where Bool.random(using: &random) {
                try bench.remove(.blobs, blob)
            }
            for _ in 0..<5 { try bench.damage(using: &random) }
            _ = try bench.store.salvage()
            #expect(try bench.store.check().findings == [], "seed \(seed) round \(round)")
            #expect(try bench.keys(.rows) == keys.filter { !lost.contains($0) })
        }
    }

    @Test func `a salvage recovers rows and contents from a journal`()
        throws
    {
        let bench = try small()
        let before = try bench.everything()
        let team = try bench.reference("Team", 1)
        let row = try #require(try bench.store.stored(team)).row
        try bench.put(.rows, StoreKey.row(team), [1, 2, 3])
        try bench.remove(.blobs, Self.icon.reference.hash)
        let losses = try bench.store.salvage { objects, contents in
            #expect(objects == [team] || contents == [Self.icon.reference.hash])
            var parts = JournalledParts()
            parts.rows[team] = JournalledParts.LastRow(row, at: 2)
            parts.contents[Self.icon.reference.hash] = Self.icon.content
            return parts
        }
        #expect(losses.isEmpty && losses.recoveredLines == ["1 object of Team", "1 content"])
        #expect(try bench.everything() == before)
    }

    @Test func `law 6: random damage to data derived from rows is repaired to the same store`()
        throws
    {
        var random = SplitMix64(seed: seed)
        for round in 0..<Volume.of(8, deep: 20) {
            let bench = try StoreBench.league(120, seed: random.next())
            #expect(try bench.store.check().findings == [], "seed \(seed) round \(round)")
            let before = try bench.everything()
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                try bench.damage(using: &random)
            }
            var report = try bench.store.check()
            for _ in 0..<3 where !report.isClean {
                try bench.store.repair(report.repairs)
                report = try bench.store.check()
            }
            #expect(report.findings == [], "seed \(seed) round \(round)")
            #expect(try bench.everything() == before, "seed \(seed) round \(round)")
            let tables: [StoreTable: Int] = try Dictionary(
                uniqueKeysWithValues: StoreTable.allCases.filter { $0 != .meta }.map {
                    ($0, try bench.keys($0).count)
                })
            #expect(report.keysRead == tables)
        }
    }

    @Test func `findings are counted beyond those kept, and repairs are done in rounds`()
        throws
    {
        let bench = try small()
        for number in UInt64(0)..<UInt64(StoreReport.findingsKept + 5) {
            try bench.store.current.put(
                bench.store.tables.links, StoreKey.link(999, number, 1), [0, 1])
        }
        try bench.store.checkpoint()
        let report = try bench.store.check()
        #expect(report.found == StoreReport.findingsKept + 5)
        #expect(report.findings.count == StoreReport.findingsKept)
        try bench.store.repair(report.repairs)
        #expect(try bench.store.check().found == 5)
    }

    @Test func `a repaired row replaces the cached one`() throws {
        let bench = try StoreBench()
        try bench.apply([try bench.insert("Team", 1, ["wins": .int(3)])])
        try bench.store.checkpoint()
        let (team, entity) = (try bench.reference("Team", 1), try bench.entity("Team"))
        let slot = try #require(entity.slot(of: "wins"))
        let stored = try #require(try bench.store.stored(team))
        let row = stored.row.replacing([(slot, .int(4))], in: entity)
        let version = withUnsafeBytes(of: stored.version.littleEndian) { Array($0) }
        let key = StoreKey.row(team)
        try bench.store.repair([.put(.rows, key: key, value: version + row.bytes)])
        #expect(try bench.store.stored(team)?.row == row)
        try bench.store.repair([.delete(.rows, key: key)])
        #expect(try bench.store.stored(team) == nil)
    }

    @Test func `a finding states its kind, its place and its repair`() throws {
        let bench = try small()
        try bench.remove(.links, try bench.link("Team", 1, "players", 3))
        let finding = try #require(try bench.store.check().findings.first)
        #expect(
            "\(finding)".hasPrefix("missingLink: Team/1 players: Captain/3 refers to the object"))
        let repair = try #require(finding.repairs.first)
        #expect("\(repair)".hasPrefix("put links "))
    }
}

extension StoreBench {
    func put(_ table: StoreTable, _ key: [UInt8], _ value: [UInt8]) throws {
        try store.current.put(store.tables[table], key, value)
        try forgetCached()
    }

    func remove(_ table: StoreTable, _ key: [UInt8]) throws {
        let wasThere = try store.current.delete(store.tables[table], key)
        #expect(wasThere)
        try forgetCached()
    }

    /// Empties the caches, which know nothing of keys that a test writes, and makes a checkpoint.
    private func forgetCached() throws {
        store.forgetCached()
        try store.checkpoint()
    }

    /// Changes a number in the `meta` table of the last checkpoint.
    func setMark(_ key: MetaKey, _ value: UInt64) throws {
        try store.checkpoint()
        try store.current.put(store.tables.meta, key.key, StoreKey.number(value))
        try store.detachTransaction()?.commit()
        try store.revert()
    }

    func get(_ table: StoreTable, _ key: [UInt8]) throws -> [UInt8]? {
        try store.current.get(store.tables[table], key).map { Array($0) }
    }

    func keys(_ table: StoreTable) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        try store.current.scan(store.tables[table], from: []) { key, _ in
            keys.append(Array(key))
            return true
        }
        return keys
    }

    /// Replaces a row, and its index entries.
    func damage(_ name: String, _ number: ObjectNumber, _ row: Row) throws {
        let (object, entity) = (try reference(name, number), try entity(name))
        let stored = try #require(try store.stored(object))
        for index in entity.indexes {
            try remove(.indexes, StoreKey.index(index, stored.row, entity, number))
            try put(
                .indexes, StoreKey.index(index, row, entity, number), StoreKey.tag(entity.tag))
        }
        let version = withUnsafeBytes(of: stored.version.littleEndian) { Array($0) }
        try put(.rows, StoreKey.row(object), version + row.bytes)
        try reopen()
    }

    func link(
        _ entity: String, _ owner: UInt64, _ property: String, _ member: UInt64
    ) throws -> [UInt8] {
        let relationship = try #require(
            try self.entity(entity).property(named: property)?.relationship)
        return StoreKey.link(relationship.linkID, owner, member)
    }

    /// Damages a key of a table whose content is derived from the rows.
    func damage(using random: inout SplitMix64) throws {
        let tables: [StoreTable] = [.numbers, .indexes, .unique, .links, .unusedBlobs]
        let table = tables.randomElement(using: &random) ?? .indexes
        let keys = try keys(table)
        guard let key = keys.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            // A used number is recorded permanently; without its row nothing shows that it was
            // used.
            let number =
                key.count == 8 ? key.withUnsafeBytes { $0.bigEndian(0, as: UInt64.self) } : 0
            if table == .numbers, try !isAlive(number) { return }
            if table == .links, try !hasOtherHalf(key) { return }
            try remove(table, key)
        case 1:
            let length = table == .numbers ? 9 : Int.random(in: 1...30, using: &random)
            let garbage = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            guard try get(table, garbage) == nil else { return }
            try put(table, garbage, [0, 1])
        default:
            if table == .numbers {
                let number = key.withUnsafeBytes { $0.bigEndian(0, as: UInt64.self) }
                guard try isAlive(number) else { return }
            }
            if table == .links || table == .unusedBlobs { return }
            try put(table, key, [UInt8.random(in: 0...255, using: &random), 1])
        }
    }

    private func isAlive(_ number: UInt64) throws -> Bool {
        try model.entities.contains {
            try get(.rows, StoreKey.row(ObjectReference(tag: $0.tag, number: number))) != nil
        }
    }

    /// Whether the other half of a many-to-many link still exists, or the row has the link.
    private func hasOtherHalf(_ key: [UInt8]) throws -> Bool {
        guard key.count == 18 else { return true }
        let parts = key.withUnsafeBytes {
            (
                $0.bigEndian(0, as: UInt16.self), $0.bigEndian(2, as: UInt64.self),
                $0.bigEndian(10, as: UInt64.self)
            )
        }
        for entity in try model.entities {
            for property in entity.properties {
                guard let relationship = property.relationship, relationship.linkID == parts.0
                else { continue }
                guard relationship.inverseToMany else { return true }
                let back = try #require(
                    try model.entity(tagged: relationship.destination)?
                        .properties[relationship.inverseSlot].relationship?.linkID)
                return try get(.links, StoreKey.link(back, parts.2, parts.1)) != nil
            }
        }
        return true
    }
}
