import TandemModel
import Testing

@testable import TandemStore

/// The findings of `check` in ordered relationships: contradicting rows and links, and invalid
/// ranks.
@Suite(.ownThread) struct OrderCheckTests {
    private static let model = ManagedObjectModel {
        Entity("Team") {
            Relationship("line", to: "Player", inverse: "team", toMany: true, ordered: true)
            Relationship("fans", to: "Player", inverse: "likes", toMany: true, ordered: true)
        }
        Entity("Player") {
            Relationship("team", to: "Team", inverse: "line")
            Relationship("likes", to: "Team", inverse: "fans", toMany: true)
        }
    }

    /// Returns a store with a team and two players, both of them also its fans.
    private func bench() throws -> StoreBench {
        let bench = try StoreBench(model: Self.model)
        let team = try bench.reference("Team", 1)
        let players = try [2, 3].map { try bench.reference("Player", $0) }
        var changes = [try bench.insert("Team", 1, [:])]
        for name in ["line", "fans"] {
            let slot = try #require(try bench.entity("Team").slot(of: name))
            let links = zip(players, [[9], [4, 1]] as [[UInt8]]).map {
                LinkChange(slot: slot, target: $0, .add, rank: Rank($1))
            }
            changes.append(
                Change(.touch, team, changed: PropertyMask([slot]), links: links))
        }
        for player in players {
            changes.append(
                try bench.insert("Player", player.number, ["team": .reference(team)]))
            changes.append(try bench.touch("Player", player.number, "likes", added: [team]))
        }
        try bench.apply(changes)
        try bench.store.checkpoint()
        return bench
    }

    private func order(_ bench: StoreBench, _ name: String) throws -> [UInt64] {
        let property = try #require(try bench.entity("Team").property(named: name))
        let relationship = try #require(property.relationship)
        return try bench.store.rankedMembers(of: 1, relationship).map(\.member.number)
    }

    @Test func `members are read in their order, and the check is clean`() throws {
        let bench = try bench()
        #expect(try order(bench, "line") == [3, 2])
        #expect(try order(bench, "fans") == [3, 2])
        #expect(try bench.store.check().isClean)
    }

    @Test func `a link without a rank is found, and only the journal has the rank`() throws {
        for value in [[], [5, 0], [UInt8](repeating: 1, count: 25)] as [[UInt8]] {
            let bench = try bench()
            let key = try bench.link("Team", 1, "line", 2)
            let tag = try bench.reference("Player", 2).tag
            try bench.put(.links, key, StoreKey.tag(tag) + value)
            let report = try bench.store.check()
            #expect(report.findings.map(\.kind) == [.badValue])
            #expect(report.findings.first?.property == "line" && report.repairs.isEmpty)
            #expect("\(report.findings.first.map { "\($0)" } ?? "")".contains("tandem rebuild"))
            #expect(throws: StoreError.self) { try order(bench, "line") }
        }
    }

    @Test func `a rank without an order is found and removed`() throws {
        let bench = try bench()
        let key = try bench.link("Player", 2, "likes", 1)
        let tag = try bench.reference("Team", 1).tag
        try bench.put(.links, key, StoreKey.tag(tag) + [7])
        let report = try bench.store.check()
        #expect(report.findings.map(\.kind) == [.badValue])
        try bench.store.repair(report.repairs)
        #expect(try bench.store.check().isClean)
    }

    @Test func `a member whose link is missing is found, its rank is not invented`() throws {
        for name in ["line", "fans"] {
            let bench = try bench()
            try bench.remove(.links, try bench.link("Team", 1, name, 3))
            let report = try bench.store.check()
            #expect(report.findings.map(\.kind) == [.missingLink])
            #expect(report.repairs.isEmpty)
        }
    }

    @Test func `a link without a row that has it is removed`() throws {
        let bench = try bench()
        try bench.apply([try bench.update("Player", 2, ["team": .null])])
        try bench.store.checkpoint()
        let report = try bench.store.check()
        #expect(report.findings.map(\.kind) == [.strayLink])
        try bench.store.repair(report.repairs)
        #expect(try bench.store.check().isClean)
        #expect(try order(bench, "line") == [3])
    }

    @Test func `a link under another entity keeps its rank when it is repaired`() throws {
        let bench = try bench()
        let key = try bench.link("Team", 1, "line", 2)
        try bench.put(.links, key, [0, 99, 9])
        let report = try bench.store.check()
        #expect(report.findings.map(\.kind) == [.wrongLinkEntity])
        try bench.store.repair(report.repairs)
        #expect(try bench.store.check().isClean)
        #expect(try order(bench, "line") == [3, 2])
    }
}
