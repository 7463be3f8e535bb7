import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// Ordered relationships of every kind: with a to-one, an unordered or an ordered inverse, and with
/// themselves as inverse.
let orderModel = ManagedObjectModel {
    Entity("Team") {
        Attribute("name", .string)
        Relationship(
            "players", to: "Player", inverse: "team", toMany: true, ordered: true,
            deleteRule: .cascade)
        Relationship("fans", to: "Player", inverse: "likes", toMany: true, ordered: true)
        Relationship("rivals", to: "Team", inverse: "rivals", toMany: true, ordered: true)
    }
    Entity("Player") {
        Attribute("name", .string)
        Relationship("team", to: "Team", inverse: "players")
        Relationship("likes", to: "Team", inverse: "fans", toMany: true)
        Relationship("friends", to: "Player", inverse: "admirers", toMany: true, ordered: true)
        Relationship("admirers", to: "Player", inverse: "friends", toMany: true, ordered: true)
    }
}

extension CommitBench {
    /// Returns a save operation for links of an object.
    func links(
        _ entity: String, _ number: UInt64, _ relationship: String,
        _ links: [(number: UInt64, action: LinkChange.Action, rank: Rank?)]
    ) throws -> SaveOperation {
        let property = try #require(try self.entity(entity).property(named: relationship))
        let tag = try #require(property.relationship).destination
        return .update(
            object: try reference(entity, number), baseVersion: 0, values: [],
            links: links.map {
                LinkChange(
                    slot: property.slot, target: ObjectReference(tag: tag, number: $0.number),
                    $0.action, rank: $0.rank)
            })
    }

    /// Returns the members of an ordered relationship with their ranks, in order.
    func rankedMembers(_ entity: String, _ number: UInt64, _ name: String) throws -> [RankPlan
        .Member]
    {
        let relationship = try #require(
            try self.entity(entity).property(named: name)?.relationship)
        return try store.rankedMembers(of: number, relationship)
    }

    func order(_ entity: String, _ number: UInt64, _ name: String) throws -> [UInt64] {
        try rankedMembers(entity, number, name).map(\.member.number)
    }

    /// Saves a team with number 1 and players with numbers from 2 on, in this order.
    func makeTeam(_ players: Int) throws {
        try save([try insert("Team", 1, ["name": .string("A")])])
        let team = PropertyValue.reference(try reference("Team", 1))
        try save(
            try (0..<players).map { try insert("Player", UInt64(2 + $0), ["team": team]) })
    }

    /// Returns the operation that changes the team's order to another one.
    func arrange(_ wanted: [UInt64]) throws -> SaveOperation {
        let known = try rankedMembers("Team", 1, "players")
        let order = wanted.compactMap { number in known.first { $0.member.number == number } }
        let plan = RankPlan(order)
        return try links(
            "Team", 1, "players",
            plan.changed.sorted { $0.key < $1.key }.map { ($0.key.number, .place, $0.value) })
    }

    /// Returns the graph at an earlier position.
    func past(at position: UInt64) throws -> HistoricalGraph {
        let past = HistoricalGraph(at: position)
        let model = try model
        for transaction in try transactions(from: position + 1) {
            for change in transaction.changes {
                past.undo(change, try #require(model.entity(tagged: change.object.tag)))
            }
        }
        return past
    }
}
