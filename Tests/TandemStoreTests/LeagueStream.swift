import TandemModel
import TestSupport
import Testing

@testable import TandemStore

/// The league model with a one-to-one relationship, so that it has every kind of link.
let careModel = ManagedObjectModel {
    Entity("Team", uniqueness: [["name"]], indexes: [["city"], ["city", "wins"]]) {
        Attribute("name", .string)
        Attribute("city", .string)
        Attribute("wins", .int, default: .int(0))
        Relationship("players", to: "Player", inverse: "team", toMany: true, deleteRule: .cascade)
        Relationship("ground", to: "Ground", inverse: "home")
    }
    Entity("Ground") {
        Attribute("seats", .int)
        Relationship("home", to: "Team", inverse: "ground")
    }
    Entity("Player", uniqueness: [["pass"]], indexes: [["note"], ["goals"], ["team"]]) {
        Attribute("pass", .string)
        Attribute("note", .string)
        Attribute("goals", .int, default: .int(0))
        Relationship("team", to: "Team", inverse: "players")
        Relationship("tags", to: "Tag", inverse: "players", toMany: true)
        Relationship("friends", to: "Player", inverse: "friends", toMany: true)
    }
    Entity("Captain", parent: "Player") { Attribute("since", .int) }
    Entity("Tag", indexes: [["icon"]]) {
        Attribute("label", .string)
        Attribute("icon", .data)
        Relationship("players", to: "Player", inverse: "tags", toMany: true)
    }
    // Its name sorts last, so that the other entities keep their tags; streams insert no objects of
    // it.
    Entity("Zone", indexes: [["folded"], ["partCount", "name"]]) {
        Attribute("name", .string)
        Attribute("folded", .string, derived: .folded("name"))
        Attribute("partCount", .int, derived: .count("parts"))
        Relationship("parts", to: "Zone", inverse: "whole", toMany: true)
        Relationship("whole", to: "Zone", inverse: "parts")
    }
}

/// A random, consistent stream of transactions on a ``careModel``, as a daemon would plan them.
struct LeagueStream {
    let bench: StoreBench
    var random: SplitMix64
    private var last: ObjectNumber = 0
    private var saves: UInt64 = 0
    private var blobs: [Blob] = []
    private(set) var teams: [ObjectNumber] = []
    private(set) var grounds: [ObjectNumber] = []
    private(set) var tags: [ObjectNumber] = []
    private(set) var players: [(number: ObjectNumber, entity: String)] = []

    init(_ bench: StoreBench, seed: UInt64) {
        self.bench = bench
        random = SplitMix64(seed: seed)
    }

    /// Returns the next transaction, not applied yet.
    mutating func next() throws -> Transaction {
        saves += 1
        let changes = try self.changes()
        return Transaction(
            principal: Principal(uid: 7), saveID: StoreKey.number(saves),
            content: .objects(changes), blobs: try drainBlobs())
    }

    /// Returns the blobs of the last changes that the store does not have yet.
    private mutating func drainBlobs() throws -> [Blob] {
        defer { blobs = [] }
        return try blobs.filter { try !bench.store.hasContent(of: $0.reference) }
    }

    /// Returns one of three long values, or null.
    private mutating func icon() -> PropertyValue {
        let byte = UInt8.random(in: 0..<4, using: &random)
        guard byte > 0 else { return .null }
        let blob = Blob([UInt8](repeating: byte, count: BlobReference.inlineLimit + 100))
        blobs = [blob]
        return .blob(blob.reference)
    }

    private mutating func changes() throws -> [Change] {
        switch Int.random(in: 0..<20, using: &random) {
        case 0...2: return try team()
        case 3: return try tag()
        case 4...9: return try player()
        case 10...12: return try move()
        case 13...14: return try mark()
        case 15...16: return try befriend()
        case 17: return try delete()
        default: return try edit()
        }
    }

    private mutating func number() -> ObjectNumber {
        last += 1
        return last
    }

    private mutating func text() -> PropertyValue {
        let length = Bool.random(using: &random) ? 5 : Int.random(in: 0..<700, using: &random)
        return .string(
            String(repeating: "n\(Int.random(in: 0..<9, using: &random))", count: length))
    }

    private mutating func team() throws -> [Change] {
        let (team, ground) = (number(), number())
        let cities = ["Oslo", "Rome", "Lima"]
        let city = cities.randomElement(using: &random) ?? ""
        teams.append(team)
        grounds.append(ground)
        return [
            try bench.insert(
                "Team", team,
                [
                    "name": .string("team \(team)"), "city": .string(city),
                    "ground": .reference(try bench.reference("Ground", ground)),
                ]),
            try bench.insert(
                "Ground", ground, ["home": .reference(try bench.reference("Team", team))]),
        ]
    }

    private mutating func tag() throws -> [Change] {
        tags.append(number())
        return [try bench.insert("Tag", last, ["label": text(), "icon": icon()])]
    }

    private mutating func player() throws -> [Change] {
        let entity = Bool.random(using: &random) ? "Player" : "Captain"
        let player = number()
        players.append((player, entity))
        var values: [String: PropertyValue] = ["pass": .string("pass \(player)"), "note": text()]
        guard let team = teams.randomElement(using: &random) else {
            return [try bench.insert(entity, player, values)]
        }
        values["team"] = .reference(try bench.reference("Team", team))
        let reference = try bench.reference(entity, player)
        return [
            try bench.insert(entity, player, values),
            try bench.touch("Team", team, "players", added: [reference]),
        ]
    }

    private func team(of player: ObjectReference, _ entity: String) throws -> ObjectNumber? {
        let slot = try #require(try bench.entity(entity).slot(of: "team"))
        return try bench.store.stored(player)?.row
            .reference(slot, in: try bench.entity(entity))?.number
    }

    private mutating func move() throws -> [Change] {
        guard let (number, entity) = players.randomElement(using: &random),
            let team = teams.randomElement(using: &random)
        else { return try tag() }
        let player = try bench.reference(entity, number)
        let old = try self.team(of: player, entity)
        guard old != team else { return try edit() }
        var changes = [
            try bench.update(
                entity, number, ["team": .reference(try bench.reference("Team", team))]),
            try bench.touch("Team", team, "players", added: [player]),
        ]
        if let old { changes.append(try bench.touch("Team", old, "players", removed: [player])) }
        return changes
    }

    private mutating func mark() throws -> [Change] {
        guard let (number, entity) = players.randomElement(using: &random),
            let tag = tags.randomElement(using: &random)
        else { return try self.tag() }
        let (player, mark) = (
            try bench.reference(entity, number), try bench.reference("Tag", tag)
        )
        let isMarked = try bench.members(entity, number, "tags").contains(tag)
        return [
            try bench.touch(
                entity, number, "tags", added: isMarked ? [] : [mark],
                removed: isMarked ? [mark] : []),
            try bench.touch(
                "Tag", tag, "players", added: isMarked ? [] : [player],
                removed: isMarked ? [player] : []),
        ]
    }

    private mutating func befriend() throws -> [Change] {
        guard let one = players.randomElement(using: &random),
            let other = players.randomElement(using: &random), one.number != other.number
        else { return try tag() }
        let (first, second) = (
            try bench.reference(one.entity, one.number),
            try bench.reference(other.entity, other.number)
        )
        return [
            try bench.touch(one.entity, one.number, "friends", added: [second]),
            try bench.touch(other.entity, other.number, "friends", added: [first]),
        ]
    }

    private mutating func delete() throws -> [Change] {
        guard let index = players.indices.randomElement(using: &random) else { return try tag() }
        let (number, entity) = players.remove(at: index)
        let player = try bench.reference(entity, number)
        var changes: [Change] = []
        for (property, inverse) in [("tags", "players"), ("friends", "friends")] {
            let relationship = try #require(
                try bench.entity(entity).property(named: property)?.relationship)
            let members = try bench.store.members(of: number, relationship)
            changes.append(try bench.touch(entity, number, property, removed: members))
            for member in members {
                let name = try #require(try bench.model.entity(tagged: member.tag)?.name)
                changes.append(
                    try bench.touch(name, member.number, inverse, removed: [player]))
            }
        }
        if let team = try team(of: player, entity) {
            changes.append(try bench.touch("Team", team, "players", removed: [player]))
        }
        return changes + [try bench.delete(entity, number)]
    }

    private mutating func edit() throws -> [Change] {
        if let tag = tags.randomElement(using: &random), Int.random(in: 0..<4, using: &random) == 0
        {
            return [try bench.update("Tag", tag, ["icon": icon()])]
        }
        if let team = teams.randomElement(using: &random), Bool.random(using: &random) {
            let wins = PropertyValue.int(Int64.random(in: 0..<9, using: &random))
            return [try bench.update("Team", team, ["wins": wins])]
        }
        guard let (number, entity) = players.randomElement(using: &random) else {
            return try tag()
        }
        let goals = PropertyValue.int(Int64.random(in: 0..<9, using: &random))
        return [try bench.update(entity, number, ["goals": goals, "note": text()])]
    }
}

extension StoreBench {
    /// Returns a store of a ``careModel`` after a random stream, at a checkpoint.
    static func league(_ count: Int, seed: UInt64) throws -> StoreBench {
        let bench = try StoreBench(model: careModel)
        var stream = LeagueStream(bench, seed: seed)
        for _ in 0..<count { try bench.apply(try stream.next()) }
        try bench.store.checkpoint()
        return bench
    }

    /// Returns the entire content of the store, table by table.
    func everything() throws -> [String] {
        try StoreTable.allCases.flatMap { table in
            try content(store, store.tables[table]).map { "\(table.rawValue) \($0)" }
        }
    }
}
