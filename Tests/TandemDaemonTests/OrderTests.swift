import TandemModel
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// The effects of saves on the order of a relationship.
@Suite(.ownThread) struct OrderTests {
    @Test func `members added through the to-one end go to the end, several by number`() throws {
        let bench = try CommitBench(model: orderModel)
        try bench.makeTeam(3)
        #expect(try bench.order("Team", 1, "players") == [2, 3, 4])
        try bench.save([try bench.arrange([4, 2, 3])])
        let team = PropertyValue.reference(try bench.reference("Team", 1))
        try bench.save([
            try bench.insert("Player", 9, ["team": team]),
            try bench.insert("Player", 8, ["team": team]),
        ])
        #expect(try bench.order("Team", 1, "players") == [4, 2, 3, 8, 9])
    }

    @Test func `a move is a removal and an addition of one link, and writes no row`() throws {
        let bench = try CommitBench(model: orderModel)
        try bench.makeTeam(4)
        let before = try bench.rankedMembers("Team", 1, "players")
        try bench.save([try bench.arrange([5, 2, 3, 4])])
        let last = try #require(try bench.transactions().last)
        let change = try #require(last.changes.first)
        #expect(last.changes.count == 1 && change.kind == .touch)
        #expect(change.links.map(\.action) == [.remove, .add])
        #expect(change.links.map(\.target.number) == [5, 5])
        #expect(change.links.first?.rank == before.last?.rank)
        #expect(
            try bench.rankedMembers("Team", 1, "players").first?.rank == change.links.last?.rank)
        // Saving the present order changes nothing.
        #expect(try !bench.save([try bench.arrange([5, 2, 3, 4])]).wrote)
    }

    @Test func `moving a removed member does not add it again`() throws {
        for isDeleted in [false, true] {
            let bench = try CommitBench(model: orderModel)
            try bench.makeTeam(3)
            let move = try bench.arrange([4, 2, 3])
            try bench.save([
                isDeleted
                    ? try bench.delete("Player", 4)
                    : try bench.update("Player", 4, ["team": .null])
            ])
            #expect(try !bench.save([move]).wrote)
            #expect(try bench.order("Team", 1, "players") == [2, 3])
        }
    }

    @Test func `a member that moves to another owner loses its rank`() throws {
        let bench = try CommitBench(model: orderModel)
        try bench.makeTeam(3)
        try bench.save([try bench.insert("Team", 20)])
        for team in [20, 1] as [UInt64] {
            let owner = PropertyValue.reference(try bench.reference("Team", team))
            try bench.save([try bench.update("Player", 2, ["team": owner])])
        }
        #expect(try bench.order("Team", 1, "players") == [3, 4, 2])
        #expect(try bench.order("Team", 20, "players").isEmpty)
        #expect(try bench.store.check().isClean)
    }

    @Test func `a member and its rank can be added in one save, in either order`() throws {
        let bench = try CommitBench(model: orderModel)
        try bench.makeTeam(2)
        let rankedMembers = try bench.rankedMembers("Team", 1, "players")
        let rank = try #require(Rank.between(rankedMembers[0].rank, rankedMembers[1].rank)?.first)
        let team = PropertyValue.reference(try bench.reference("Team", 1))
        let place = try bench.links("Team", 1, "players", [(10, .place, rank)])
        try bench.save([place, try bench.insert("Player", 10, ["team": team])])
        #expect(try bench.order("Team", 1, "players") == [2, 10, 3])
        let other = try #require(Rank.between(nil, rankedMembers[0].rank)?.first)
        try bench.save([
            try bench.insert("Player", 11),
            try bench.links("Team", 1, "players", [(11, .add, other)]),
        ])
        #expect(try bench.order("Team", 1, "players") == [11, 2, 10, 3])
    }

    @Test func `both ends of a link have orders of their own`() throws {
        let bench = try CommitBench(model: orderModel)
        try bench.save(try (1...4).map { try bench.insert("Player", $0) })
        let ranks = try #require(Rank.between(nil, nil, count: 3))
        try bench.save([
            try bench.links(
                "Player", 1, "friends",
                [(2, .add, ranks[2]), (3, .add, ranks[0]), (4, .add, ranks[1])])
        ])
        #expect(try bench.order("Player", 1, "friends") == [3, 4, 2])
        try bench.save([
            try bench.links("Player", 2, "friends", [(3, .add, nil)]),
            try bench.links("Player", 3, "admirers", [(2, .place, Rank([1]))]),
        ])
        #expect(try bench.order("Player", 3, "admirers") == [2, 1])
        #expect(try bench.order("Player", 2, "friends") == [3])
        #expect(try bench.store.check().isClean)
    }

    @Test func `if there is no rank after the last, others are moved`() throws {
        let bench = try CommitBench(model: orderModel)
        try bench.makeTeam(3)
        let full = try #require(Rank([UInt8](repeating: 255, count: Rank.byteLimit)))
        try bench.save([try bench.links("Team", 1, "players", [(3, .place, full)])])
        #expect(try bench.order("Team", 1, "players") == [2, 4, 3])
        let team = PropertyValue.reference(try bench.reference("Team", 1))
        try bench.save([try bench.insert("Player", 10, ["team": team])])
        #expect(try bench.order("Team", 1, "players") == [2, 4, 3, 10])
        let longest = try bench.rankedMembers("Team", 1, "players").compactMap {
            $0.rank?.bytes.count
        }
        #expect(longest.max() ?? 99 <= Rank.byteLimit / 2)
    }

    @Test func `a rank in an unordered relationship is refused`() throws {
        let bench = try CommitBench(model: orderModel)
        try bench.makeTeam(1)
        for action in [LinkChange.Action.place, .add] {
            let operation = try bench.links("Player", 2, "likes", [(1, action, Rank([1]))])
            let refusal = try bench.refusal([operation])
            #expect(refusal?.code == .usage)
            #expect(refusal?.message.contains("Player/2.likes is not ordered") == true)
        }
        let toOne = try bench.links("Player", 2, "team", [(1, .place, Rank([1]))])
        #expect(try bench.refusal([toOne])?.code == .usage)
    }

    @Test func `saves of different members give the same order in either sequence`() throws {
        for run in UInt64(0)..<40 {
            var random = SplitMix64(seed: seed &+ run)
            let count = 8
            let first = UInt64.random(in: 2...9, using: &random)
            let second = UInt64.random(in: 2...9, using: &random)
            guard first != second else { continue }
            let indexes = [0, 1].map { _ in Int.random(in: 0..<count, using: &random) }
            let orders = try [[0, 1], [1, 0]].map { turns in
                let bench = try CommitBench(model: orderModel)
                try bench.makeTeam(count)
                let all = try bench.order("Team", 1, "players")
                let saves = try [first, second].enumerated().map { index, member in
                    var wanted = all.filter { $0 != member }
                    wanted.insert(member, at: indexes[index])
                    return indexes[index] == 0 && index == 1
                        ? try bench.update("Player", member, ["team": .null])
                        : try bench.arrange(wanted)
                }
                for turn in turns { try bench.save([saves[turn]]) }
                return try bench.order("Team", 1, "players")
            }
            #expect(orders[0] == orders[1], "TANDEM_SEED=\(seed) run \(run)")
        }
    }

    @Test func `rows of a batch insert keep the order of their links`() throws {
        let bench = try CommitBench(model: orderModel)
        try bench.makeTeam(3)
        let fans = try #require(try bench.entity("Team").slot(of: "fans"))
        let ranks = try #require(Rank.between(nil, nil, count: 3))
        let links = try [4, 2, 3].enumerated().map {
            LinkChange(
                slot: fans, target: try bench.reference("Player", UInt64($1)), .add,
                rank: ranks[$0])
        }
        try bench.save([
            .insert(object: try bench.reference("Team", 30), values: [], links: links)
        ])
        #expect(try bench.order("Team", 30, "fans") == [4, 2, 3])
    }
}
