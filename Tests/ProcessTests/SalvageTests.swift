import Foundation
import Tandem
import TandemIO
import TandemStore
import TestSupport
import Testing

/// `tandem salvage` of a store with rows and contents that can't be read.
@Suite(.ownThread) @MainActor struct SalvageTests {
    let place: Place
    private let files = RealFileSystem()
    private var target: String { place.path + "/salvaged" }
    private static let icon = [UInt8](repeating: 7, count: 100_000)

    init() throws { place = try Place() }

    private static let model = ManagedObjectModel {
        Entity("Page") { Attribute("text", .string) }
        Entity("Team", uniqueness: [["name"]]) {
            Attribute("name", .string)
            Attribute("icon", .data)
            Relationship("players", to: "Player", inverse: "team", toMany: true)
        }
        Entity("Player", indexes: [["name"]]) {
            Attribute("name", .string)
            Attribute("goals", .int)
            Relationship("team", to: "Team", inverse: "players")
        }
    }

    /// Runs a daemon on the store while `body` saves.
    private func serve(_ body: (ManagedObjectContext) throws -> Void) throws {
        let daemon = try place.serveSmallSegments()
        let container = PersistentContainer(model: Self.model, socket: place.socket)
        try body(container.makeContext(name: "main"))
        container.close()
        #expect(daemon.end(SIGTERM) == 0)
    }

    /// Saves pages that fill two segments.
    private func fillSegments(_ context: ManagedObjectContext) throws {
        for _ in 0..<5 {
            try context.insert("Page")["text"] = .string(String(repeating: "x", count: 30_000))
            try context.save()
        }
    }

    /// Saves two teams with three players each, and fills segments; returns the ids of the players.
    private func fill() throws -> [ObjectID] {
        var players: [ObjectID] = []
        try serve { context in
            for name in ["A", "B"] {
                let team = try context.insert("Team")
                team["name"] = .string(name)
                if name == "B" { team["icon"] = .data(Self.icon) }
                for number in 1...3 {
                    let player = try context.insert("Player")
                    player["name"] = .string("\(name)\(number)")
                    player.setObject(team, for: "team")
                    try context.save()
                    players.append(player.id)
                }
            }
            try fillSegments(context)
        }
        return players
    }

    private func key(_ id: ObjectID) throws -> [UInt8] {
        let tag = try #require(try CompiledModel(Self.model).entity(named: id.entity)?.tag)
        return withUnsafeBytes(of: tag.bigEndian) { Array($0) }
            + withUnsafeBytes(of: id.number.bigEndian) { Array($0) }
    }

    private func openStore() throws -> Store {
        try Store.open(
            path: place.store + "/store",
            newIdentity: StoreIdentity(log: LogID(high: 0, low: 0), epoch: 1))
    }

    /// Replaces these rows with unreadable ones.
    ///
    /// If an icon is given, its contents are deleted.
    private func damage(_ ids: [ObjectID], andIcon icon: [UInt8]? = nil) throws {
        let store = try openStore()
        defer { store.close() }
        try store.repair(
            try ids.map { .put(.rows, key: try key($0), value: [1, 2, 3]) }
                + (icon.map { [.delete(.blobs, key: BlobReference(of: $0).hash)] } ?? []))
    }

    /// Removes the journal's segments except the last ones.
    private func removeSegments(keeping count: Int) throws {
        let folder = place.store + "/journal"
        let names = try files.list(folder).filter { $0.hasSuffix(".journal") }.sorted()
        for name in names.dropLast(count) { try files.remove("\(folder)/\(name)") }
    }

    /// Returns the rows and links of a store, without the lines that name its log and epoch.
    private func dump(_ path: String) throws -> [String] {
        try runTandem("dump", "-D", path).lines.filter { !$0.contains("epoch") }
    }

    private func names(_ path: String) throws -> [String] {
        let daemon = try place.serve(path)
        defer { daemon.end(SIGTERM) }
        return try runTandem("export", "Player", "--socket", place.socket).json.compactMap {
            $0["values"]?["name"]?.string
        }.sorted()
    }

    @Test func `rows and contents that can't be read are left out, and the rest is salvaged`()
        throws
    {
        let players = try fill()
        try removeSegments(keeping: 1)
        try damage([players[0], players[4]], andIcon: Self.icon)
        let run = try runTandem("salvage", place.store, "--to", target)
        expect(
            run, 1, "lost: 2 objects of Player: the rows are missing or cannot be read",
            "lost: 1 value of Team.icon: set to null, because the contents are lost",
            "store: read at position ", "salvaged \(target)")
        expect(try runTandem("check", "-D", target), 0, "no faults")
        #expect(try names(target) == ["A2", "A3", "B1", "B3"])
    }

    @Test func `objects whose rows are missing are reported`() throws {
        let players = try fill()
        try removeSegments(keeping: 1)
        let store = try openStore()
        try store.repair([.delete(.rows, key: try key(players[1]))])
        store.close()
        expect(
            try runTandem("salvage", place.store, "--to", target), 1,
            "lost: 1 object of Player: the rows are missing or cannot be read")
        #expect(try names(target) == ["A1", "A3", "B1", "B2", "B3"])
    }

    @Test func `rows and contents that the journal still has are recovered`() throws {
        var players = try fill()
        let (old, icon) = (try #require(players.first), [UInt8](repeating: 9, count: 100_000))
        try serve { context in
            let player = try context.existingObject(with: old)
            player["goals"] = .int(3)
            let team = try context.insert("Team")
            team["icon"] = .data(icon)
            try context.save()
            players = [player.id, team.id]
        }
        try removeSegments(keeping: 2)
        let before = try dump(place.store)
        try damage(players, andIcon: icon)
        let run = try runTandem("salvage", place.store, "--to", target)
        expect(
            run, 0, "store: recovered from the journal: 1 object of Player",
            "store: recovered from the journal: 1 object of Team",
            "store: recovered from the journal: 1 content")
        #expect(!run.output.contains("lost"))
        #expect(try dump(target) == before)
    }

    @Test func `a missing row to which nothing refers is recovered from the journal`() throws {
        _ = try fill()
        try removeSegments(keeping: 1)
        let before = try dump(place.store)
        let store = try openStore()
        // The last page.
        try store.repair([.delete(.rows, key: try key(ObjectID(entity: "Page", number: 13)))])
        store.close()
        let run = try runTandem("salvage", place.store, "--to", target)
        expect(run, 0, "store: recovered from the journal: 1 object of Page")
        #expect(try dump(target) == before)
    }

    @Test func `rows from before a gap in the journal replace lost ones, and are reported`()
        throws
    {
        let players = try fill()
        let folder = place.store + "/journal"
        let segments = try files.list(folder).filter { $0.hasSuffix(".journal") }.sorted()
        try #require(segments.count > 2)
        try files.remove("\(folder)/\(segments[1])")
        let before = try dump(place.store)
        try damage([players[0], players[1]])
        let run = try runTandem("salvage", place.store, "--to", target)
        expect(
            run, 1,
            "lost: 2 objects of Player: recovered from before a gap in the journal, so later changes "
                + "may be lost")
        #expect(try dump(target) == before)
    }

    @Test func `a complete journal is used instead of a store with losses`() throws {
        _ = try fill()
        let before = try dump(place.store)
        let store = try openStore()
        // No key shows which object this was.
        try store.repair([.put(.rows, key: [1, 2, 3], value: [4])])
        store.close()
        expect(
            try runTandem("salvage", place.store, "--to", target), 0,
            "store: not used, because parts of it are lost and the journal is complete")
        #expect(try dump(target) == before)
    }

    @Test func `transactions after the store that change lost objects are applied`() throws {
        let players = try fill()
        let data = place.store + "/store/data.mdb"
        try CommandRun(shell: "cp '\(data)' '\(place.path)/old.mdb'").check()
        try serve { context in
            let objects = try players.map { try context.existingObject(with: $0) }
            objects[0]["goals"] = .int(3)
            context.delete(objects[1])
            let team = try #require(objects[5].object("team"))
            objects[2].setObject(team, for: "team")
            team["name"] = .string("C")
            let player = try context.insert("Player")
            player["name"] = .string("C4")
            player.setObject(team, for: "team")
            try context.save()
        }
        try CommandRun(shell: "cp '\(place.path)/old.mdb' '\(data)'").check()
        try removeSegments(keeping: 1)
        try damage([players[0], players[1], players[3]], andIcon: Self.icon)
        let run = try runTandem("salvage", place.store, "--to", target)
        expect(run, 1, "lost: 3 objects of Player", "journal: applied positions ")
        expect(try runTandem("check", "-D", target), 0, "no faults")
        // The journal has the whole row of an object that was updated.
        #expect(try names(target) == ["A1", "A3", "B2", "B3", "C4"])
    }

    @Test func `a page that LMDB can read but not change is salvaged`() throws {
        _ = try fill()
        try removeSegments(keeping: 1)
        let before = try dump(place.store)
        let path = place.store + "/store/data.mdb"
        var bytes = try files.contents(of: path, maximumBytes: 1 << 30)
        // The entry of a table: its length of 48 bytes, its flags, and its key's length. A table is
        // read despite a wrong length, but LMDB moves that many bytes when the entry changes.
        let entry: [UInt8] = [48, 0, 0, 0, 2, 0, 4, 0] + Array("meta".utf8)
        let places = bytes.indices.filter { bytes[$0...].starts(with: entry) }
        try #require(!places.isEmpty)
        for place in places { bytes[place + 1] = 16 }
        try Data(bytes).write(to: URL(filePath: path))
        let run = try runTandem("salvage", place.store, "--to", target)
        expect(run, 0, "store: read at position ")
        #expect(!run.output.contains("lost"))
        expect(try runTandem("check", "-D", target), 0, "no faults")
        #expect(try dump(target) == before)
    }

    @Test func `a key that occurs twice is reported as lost`() throws {
        let players = try fill()
        try removeSegments(keeping: 1)
        let path = place.store + "/store/data.mdb"
        var bytes = try files.contents(of: path, maximumBytes: 1 << 30)
        let (first, second) = (try key(players[0]), try key(players[1]))
        for place in bytes.indices where bytes[place...].starts(with: second) {
            bytes.replaceSubrange(place..<place + second.count, with: first)
        }
        try Data(bytes).write(to: URL(filePath: path))
        let run = try runTandem("salvage", place.store, "--to", target)
        expect(run, 1, "lost: keys of the table rows: 1 key damaged or used twice")
        expect(try runTandem("check", "-D", target), 0, "no faults")
        #expect(try names(target) == ["A1", "A3", "B1", "B2", "B3"])
    }

    @Test func `a store with damaged pages is salvaged as far as it can be read, or refused`()
        throws
    {
        _ = try fill()
        try removeSegments(keeping: 1)
        let whole = try files.contents(of: place.store + "/store/data.mdb", maximumBytes: 1 << 30)
        var random = SplitMix64(seed: seed)
        var salvaged = 0
        let rounds = Volume.of(12, deep: 300)
        for round in 0..<rounds {
            var bytes = whole
            for _ in 0..<(round.isMultiple(of: 2) ? 1 : 30) {
                let at = Int.random(in: 8_192..<bytes.count, using: &random)
                bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            try Data(bytes).write(to: URL(filePath: place.store + "/store/data.mdb"))
            let run = try runTandem("salvage", place.store, "--to", target)
            guard files.exists(target) else {
                expect(run, 1, "nothing can be salvaged: store: not used")
                continue
            }
            salvaged += 1
            #expect(run.code == 0 || run.output.contains("lost: "), "\(run.output)")
            expect(try runTandem("check", "-D", target), 0, "no faults")
            try files.removeTree(target)
        }
        #expect(salvaged * 2 > rounds, "\(salvaged) of \(rounds)")
    }
}
