import TandemModel
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Random saves of ordered relationships, compared with sets with ranks in memory.
@Suite(.ownThread) struct OrderLawTests {
    @Test
    func `law 6: random saves give the orders of a naive model, also at every earlier position`()
        throws
    {
        for run in UInt64(0)..<6 {
            var world = try OrderWorld(seed: seed &+ run)
            var moments: [UInt64: [OrderWorld.List: [UInt64]]] = [:]
            for _ in 0..<60 {
                try world.step()
                let position = world.bench.committer.position
                moments[position] = try world.orders()
                #expect(moments[position] == world.expected, "\(world.what) at \(position)")
            }
            for (position, lists) in moments {
                let past = try world.bench.past(at: position)
                for (list, order) in lists {
                    #expect(
                        try world.order(list, past) == order, "\(world.what) \(list) at \(position)"
                    )
                }
            }
            let report = try world.bench.store.check()
            #expect(report.isClean, "\(world.what) \(report.findings.prefix(3))")
            let dump = try dump(world.bench.store)
            try world.bench.crash()
            #expect(try TandemDaemonTests.dump(world.bench.store) == dump, "\(world.what)")
            try world.bench.rebuild()
            #expect(try TandemDaemonTests.dump(world.bench.store) == dump, "\(world.what)")
        }
    }
}

/// Teams and players, saved at random, and a copy of their state in memory.
struct OrderWorld {
    /// An ordered relationship of an object.
    struct List: Hashable {
        var entity: String
        var number: UInt64
        var name: String
    }

    /// The members of a list, and the ranks that the running save assigns.
    private struct Members {
        var all: Set<UInt64> = []
        var wanted: [UInt64: Rank] = [:]
    }

    let bench: CommitBench
    let what: String
    private var random: SplitMix64
    private var next: UInt64 = 1
    private var entities: [UInt64: String] = [:]
    private var teams: [UInt64: UInt64] = [:]
    private var lists: [List: Members] = [:]
    /// The expected order after the last save.
    private(set) var expected: [List: [UInt64]] = [:]

    init(seed: UInt64) throws {
        bench = try CommitBench(model: orderModel)
        random = SplitMix64(seed: seed)
        what = "TANDEM_SEED=\(seed)"
        for entity in ["Team", "Team", "Player", "Player", "Player"] {
            try bench.save([try insert(entity)])
        }
        settle([:])
    }

    private static let names = [
        "Team": ["players", "fans", "rivals"], "Player": ["friends", "admirers"],
    ]

    // MARK: Reading

    private var allLists: [List] {
        entities.keys.sorted().flatMap { number in
            let entity = entities[number] ?? ""
            return (Self.names[entity] ?? []).map {
                List(entity: entity, number: number, name: $0)
            }
        }
    }

    /// Returns the orders in the store.
    func orders() throws -> [List: [UInt64]] {
        try allLists.reduce(into: [:]) {
            $0[$1] = try bench.order($1.entity, $1.number, $1.name)
        }
    }

    /// Returns the order of a list at an earlier position.
    func order(_ list: List, _ past: HistoricalGraph) throws -> [UInt64] {
        let slot = try #require(try bench.entity(list.entity).slot(of: list.name))
        let now = try bench.rankedMembers(list.entity, list.number, list.name)
        let owner = try bench.reference(list.entity, list.number)
        return try past.rankedMembers(now, of: owner, slot: slot, ReadBudget()).map(\.member.number)
    }

    // MARK: Saving

    mutating func step() throws {
        let stored = try allLists.reduce(into: [List: [UInt64: Rank]]()) { ranks, list in
            let rankedMembers = try bench.rankedMembers(list.entity, list.number, list.name)
            ranks[list] = Dictionary(
                uniqueKeysWithValues: rankedMembers.compactMap { place in
                    place.rank.map { (place.member.number, $0) }
                })
        }
        var operations: [SaveOperation] = []
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            operations += try operation().map { [$0] } ?? []
        }
        if Int.random(in: 0..<8, using: &random) == 0, entities.count > 5,
            let victim = entities.keys.sorted().randomElement(using: &random)
        {
            operations.append(try bench.delete(entities[victim] ?? "", victim))
            delete(victim)
        }
        try bench.save(operations)
        settle(stored)
    }

    private mutating func operation() throws -> SaveOperation? {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return try insert(["Team", "Player"].randomElement(using: &random) ?? "Team")
        case 1...3:
            guard let player = any("Player") else { return nil }
            let team = Int.random(in: 0..<4, using: &random) == 0 ? nil : any("Team")
            set(player, team)
            let value =
                try team.map { PropertyValue.reference(try bench.reference("Team", $0)) } ?? .null
            return try bench.update("Player", player, ["team": value])
        default:
            guard let list = allLists.randomElement(using: &random),
                let member = any(list.name == "rivals" ? "Team" : "Player")
            else { return nil }
            return try link(list, member)
        }
    }

    private mutating func link(_ list: List, _ member: UInt64) throws -> SaveOperation {
        let action =
            [LinkChange.Action.add, .add, .place, .place, .remove]
            .randomElement(using: &random) ?? .add
        let isPlaced = action == .place || Int.random(in: 0..<2, using: &random) == 0
        let byte = UInt8.random(in: 1...9, using: &random)
        let rank = isPlaced && action != .remove ? Rank([byte]) : nil
        switch action {
        case .add: add(member, to: list)
        case .remove: remove(member, from: list)
        case .place: break
        }
        if let rank { lists[list, default: Members()].wanted[member] = rank }
        return try bench.links(list.entity, list.number, list.name, [(member, action, rank)])
    }

    private mutating func insert(_ entity: String) throws -> SaveOperation {
        let number = next
        next += 1
        entities[number] = entity
        return try bench.insert(entity, number)
    }

    private mutating func any(_ entity: String) -> UInt64? {
        entities.filter { $0.value == entity }.keys.sorted().randomElement(using: &random)
    }

    // MARK: The copy in memory

    private mutating func set(_ player: UInt64, _ team: UInt64?) {
        guard teams[player] != team else { return }
        if let old = teams[player] {
            drop(player, List(entity: "Team", number: old, name: "players"))
        }
        teams[player] = team
        guard let team else { return }
        lists[List(entity: "Team", number: team, name: "players"), default: Members()].all
            .insert(player)
    }

    private func inverse(_ list: List, _ member: UInt64) -> List? {
        switch list.name {
        case "rivals": List(entity: "Team", number: member, name: "rivals")
        case "friends": List(entity: "Player", number: member, name: "admirers")
        case "admirers": List(entity: "Player", number: member, name: "friends")
        default: nil
        }
    }

    private mutating func add(_ member: UInt64, to list: List) {
        if list.name == "players" { return set(member, list.number) }
        lists[list, default: Members()].all.insert(member)
        if let back = inverse(list, member) {
            lists[back, default: Members()].all.insert(list.number)
        }
    }

    private mutating func remove(_ member: UInt64, from list: List) {
        guard lists[list]?.all.contains(member) == true else { return }
        if list.name == "players" { return set(member, nil) }
        drop(member, list)
        if let back = inverse(list, member) { drop(list.number, back) }
    }

    private mutating func drop(_ member: UInt64, _ list: List) {
        lists[list]?.all.remove(member)
        lists[list]?.wanted[member] = nil
    }

    private mutating func delete(_ number: UInt64) {
        let entity = entities[number] ?? ""
        for name in Self.names[entity] ?? [] {
            let list = List(entity: entity, number: number, name: name)
            let members = lists[list]?.all ?? []
            for member in members { remove(member, from: list) }
            lists[list] = nil
            if name == "players" { for member in members { delete(member) } }
        }
        teams[number] = nil
        for list in lists.keys where lists[list]?.all.contains(number) == true {
            // Teams and players share one sequence of numbers, so a number is in the lists of one
            // entity.
            drop(number, list)
        }
        entities[number] = nil
    }

    /// Computes the order: by the rank of this save or the stored one, and members without either
    /// last.
    private mutating func settle(_ stored: [List: [UInt64: Rank]]) {
        expected = [:]
        for list in allLists {
            let members = lists[list] ?? Members()
            let rankedMembers = members.all.map { number in
                RankPlan.Member(
                    member: ObjectReference(tag: 1, number: number),
                    rank: members.wanted[number] ?? stored[list]?[number])
            }
            expected[list] = rankedMembers.sorted(by: RankPlan.isBefore).map(\.member.number)
            lists[list]?.wanted = [:]
        }
    }
}
