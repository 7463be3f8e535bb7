import TandemModel
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// The minimum and maximum number of members; counting stops as soon as the result is known.
@Suite(.ownThread) struct MemberCountTests {
    private let model = ManagedObjectModel {
        Entity("Team") {
            Relationship("players", to: "Player", inverse: "team", toMany: true, min: 2, max: 4)
            Relationship(
                "fans", to: "Fan", inverse: "teams", toMany: true, optional: false, max: 3)
        }
        Entity("Player") { Relationship("team", to: "Team", inverse: "players") }
        Entity("Fan") { Relationship("teams", to: "Team", inverse: "fans", toMany: true) }
    }

    /// The members of each team, and the violated bounds.
    private struct Members {
        var of: [UInt64: Set<UInt64>] = [1: [], 2: [], 3: []]

        func problems(_ problem: (Int) -> String?) -> [String] {
            of.sorted { $0.key < $1.key }.compactMap { problem($0.value.count) }
        }
    }

    private func check(_ error: TandemError?, _ problems: [String], _ what: String) {
        #expect((error?.problems.map(\.message) ?? []) == problems, "\(what)")
        if let error { #expect(error.code == .validation, "\(what)") }
    }

    private func bench() throws -> CommitBench {
        let bench = try CommitBench(model: model)
        let fan = ["fans": [try bench.reference("Fan", 20)]]
        try bench.save(
            try [try bench.insert("Fan", 20)]
                + (UInt64(1)...3).map { try bench.insert("Team", $0, links: fan) }
                + (UInt64(10)..<20).map { try bench.insert("Player", $0) }
                + (UInt64(21)..<27).map { try bench.insert("Fan", $0) })
        return bench
    }

    @Test func `moves of players between teams respect the bounds`() throws {
        let bench = try bench()
        var random = SplitMix64(seed: seed)
        let relationship = try #require(
            try bench.entity("Team").property(named: "players")?.relationship)
        var (members, saved) = (Members(), 0)
        for round in 0..<300 {
            var (next, moves) = (members, [SaveOperation]())
            for player in Set((0..<4).map { _ in UInt64.random(in: 10..<20, using: &random) }) {
                let team = UInt64.random(in: 0...3, using: &random)
                for number in UInt64(1)...3 { next.of[number]?.remove(player) }
                next.of[team]?.insert(player)
                let value =
                    team == 0 ? PropertyValue.null : .reference(try bench.reference("Team", team))
                moves.append(try bench.update("Player", player, ["team": value]))
            }
            let problems = next.problems(relationship.problem)
            check(try bench.refusal(moves), problems, "seed \(seed) round \(round)")
            guard problems.isEmpty else { continue }
            members = next
            saved += 1
        }
        #expect(saved > 20 && saved < 280)
    }

    @Test func `changes of many-to-many links respect the bounds`() throws {
        let bench = try bench()
        var random = SplitMix64(seed: seed)
        let relationship = try #require(
            try bench.entity("Team").property(named: "fans")?.relationship)
        var (members, saved) = (Members(of: [1: [20], 2: [20], 3: [20]]), 0)
        for round in 0..<300 {
            var (next, moves) = (members, [SaveOperation]())
            for fan in Set((0..<2).map { _ in UInt64.random(in: 20..<27, using: &random) }) {
                let team = UInt64.random(in: 1...3, using: &random)
                let links = ["teams": [try bench.reference("Team", team)]]
                if next.of[team]?.contains(fan) == true {
                    next.of[team]?.remove(fan)
                    moves.append(try bench.update("Fan", fan, removed: links))
                } else {
                    next.of[team]?.insert(fan)
                    moves.append(try bench.update("Fan", fan, added: links))
                }
            }
            let problems = next.problems(relationship.problem)
            check(try bench.refusal(moves), problems, "seed \(seed) round \(round)")
            guard problems.isEmpty else { continue }
            members = next
            saved += 1
            for (team, fans) in members.of {
                for most in [1, 2, 9] {
                    let count = try bench.store.memberCount(
                        of: team, relationship, atMost: most)
                    #expect(count == min(most, fans.count))
                }
            }
        }
        #expect(saved > 20 && saved < 280)
    }

    @Test func `a count above the maximum is reported exactly`() throws {
        let bench = try bench()
        let team = PropertyValue.reference(try bench.reference("Team", 1))
        let moves = try (UInt64(10)..<19).map { try bench.update("Player", $0, ["team": team]) }
        check(
            try bench.refusal(moves), ["the number of members is 9, above the maximum of 4"],
            "nine players")
    }
}
