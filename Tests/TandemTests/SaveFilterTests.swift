import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// Filters of the sequences of saves.
@MainActor @Suite struct SaveFilterTests {
    let daemon: FakeDaemon
    let container: PersistentContainer
    let context: ManagedObjectContext

    init() throws {
        daemon = try FakeDaemon(
            ManagedObjectModel(entities: [
                Entity("Person") {
                    Attribute("age", .int, default: .int(0))
                    Attribute("name", .string, default: .string(""))
                    Relationship("team", to: "Team", inverse: "members")
                },
                Entity("Player", parent: "Person") { Attribute("number", .int) },
                Entity("Team") {
                    Attribute("size", .int, default: .int(0))
                    Relationship("members", to: "Person", inverse: "team", toMany: true)
                },
            ]))
        container = daemon.container()
        context = container.makeContext(name: "saves")
        try container.follow()
        try context.connect()
    }

    /// Returns the positions of the saves that pass, up to the last save, which passes.
    private func numbers(_ saves: inout SaveSequence.AsyncIterator) async throws -> [UInt64] {
        let end = daemon.end
        try await context.reach(end)
        var found: [UInt64] = []
        while found.last != end.number, let payload = try await saves.next(isolation: #isolation) {
            found.append(payload.position.number)
        }
        return found
    }

    @Test func `saves of an entity include those of its subentities`() async throws {
        var saves = container.saves(of: "Person").makeAsyncIterator()
        _ = daemon.insert("Team", [:])
        let player = daemon.insert("Player", ["age": .int(1)])
        daemon.update(player, ["number": .int(2)])
        daemon.delete(player)
        _ = daemon.insert("Person", [:])
        #expect(try await numbers(&saves) == [2, 3, 4, 5])
    }

    @Test(arguments: [true, false])
    func `a predicate matches objects before or after the save`(
        _ ofContext: Bool
    ) async throws {
        let predicate = try ObjectPredicate(format: "age > 5")
        var saves =
            (ofContext
            ? context.saves(of: "Person", where: predicate, by: "other")
            : container.saves(of: "Person", where: predicate, by: "other")).makeAsyncIterator()
        let person = daemon.insert("Person", ["age": .int(1)])
        for age in [7, 8, 2, 3] { daemon.update(person, ["age": .int(Int64(age))]) }
        daemon.delete(person)
        let player = daemon.insert("Player", ["age": .int(9)])
        daemon.commit([.delete(object: player, baseVersion: 0)], author: "somebody")
        _ = daemon.insert("Team", ["size": .int(9)])
        _ = daemon.insert("Person", ["age": .int(6)])
        #expect(try await numbers(&saves) == [2, 3, 4, 7, 10])
    }

    @Test func `a merging context lists the saves it merges, of an entity and by an author`()
        async throws
    {
        var all = context.didSave.makeAsyncIterator()
        var some = context.saves(of: "Team", by: "other").makeAsyncIterator()
        _ = daemon.insert("Person", [:])
        _ = daemon.insert("Team", [:])
        daemon.commit(
            [.delete(object: daemon.insert("Team", [:]), baseVersion: 0)], author: "somebody")
        _ = daemon.insert("Team", [:])
        #expect(try await numbers(&all) == [1, 2, 3, 4, 5])
        #expect(try await numbers(&some) == [2, 3, 5])
    }

    @Test func `a save that changed only members has no row to evaluate and is reported`()
        async throws
    {
        let team = daemon.insert("Team", ["size": .int(1)])
        let predicate = try ObjectPredicate(format: "size > 5")
        var saves = container.saves(of: "Team", where: predicate).makeAsyncIterator()
        daemon.update(team, ["size": .int(2)])
        _ = daemon.insert("Person", ["team": .reference(team)])
        #expect(try await numbers(&saves) == [3])
    }

    @Test(arguments: [
        ("Nobody", "TRUEPREDICATE", TandemError.Code.unknownEntity),
        ("Person", "height > 1", .unknownProperty), ("Person", "team.size > 1", .usage),
    ])
    func `a filter that can't be evaluated is an error`(
        _ entity: String, _ format: String, _ code: TandemError.Code
    ) async throws {
        var saves = container.saves(of: entity, where: try ObjectPredicate(format: format))
            .makeAsyncIterator()
        _ = daemon.insert("Person", [:])
        var found: TandemError.Code?
        do { _ = try await saves.next(isolation: #isolation) } catch {
            found = (error as? TandemError)?.code
        }
        #expect(found == code)
    }
}
