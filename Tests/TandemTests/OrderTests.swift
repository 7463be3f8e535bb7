import FoundationEssentials
import Tandem
import TandemModel
import TestWorlds
import Testing

final class Squad: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("runners") var runners: [Runner]
    @Managed("songs") var songs: [Song]

    static let entity = Entity("Squad") {
        Attribute("name", .string, default: .string(""))
        Relationship(
            "runners", to: "Runner", inverse: "squad", toMany: true, ordered: true,
            deleteRule: .cascade)
        Relationship("songs", to: "Song", inverse: "squads", toMany: true, ordered: true)
    }
}

final class Runner: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("squad") var squad: Squad?

    static let entity = Entity("Runner") {
        Attribute("name", .string, default: .string(""))
        Relationship("squad", to: "Squad", inverse: "runners")
    }
}

final class Song: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("squads") var squads: Set<Squad>

    static let entity = Entity("Song") {
        Attribute("name", .string, default: .string(""))
        Relationship("squads", to: "Squad", inverse: "songs", toMany: true)
    }
}

let orderedTypes: [any ManagedEntity.Type] = [Squad.self, Runner.self, Song.self]

/// Ordered relationships as an app sees them.
@MainActor @Suite struct OrderTests {
    let fixture: Fixture
    let context: ManagedObjectContext
    let squad: Squad

    init() throws {
        fixture = try Fixture(orderedTypes)
        context = fixture.container().makeContext(name: "order")
        context.allowsUndo = true
        squad = try context.insert(Squad.self)
    }

    private func runners(_ names: String) throws -> [Runner] {
        try names.map {
            let runner = try context.insert(Runner.self)
            runner.name = String($0)
            return runner
        }
    }

    private func songs(_ names: String) throws -> [Song] {
        try names.map {
            let song = try context.insert(Song.self)
            song.name = String($0)
            return song
        }
    }

    /// Returns the names in the squad, in order.
    private func names(_ squad: Squad) -> String { squad.runners.map(\.name).joined() }
    private func songNames(_ squad: Squad) -> String { squad.songs.map(\.name).joined() }

    private func fresh(_ look: (Squad) -> String, of other: Squad? = nil) throws -> String {
        let context = fixture.container("fresh").makeContext(name: "fresh")
        return look(try context.existingObject(with: (other ?? squad).typedID))
    }

    /// Returns the squad's links in the last transaction.
    private func lastLinks() throws -> [LinkChange] {
        let page = try fixture.container("history").history(after: 0)
        let last = try #require(page.transactions.last)
        return try last.changes().first { $0.object.number == squad.id.number }?.links ?? []
    }

    @Test func `an array has the assigned order, before and after the save`() throws {
        let made = try runners("abcd")
        squad.runners = [made[2], made[0], made[3], made[1]]
        #expect(names(squad) == "cadb")
        #expect(made.allSatisfy { $0.squad === squad })
        try context.save()
        #expect(names(squad) == "cadb")
        #expect(try fresh(names) == "cadb")
        squad.runners.swapAt(0, 3)
        squad.runners.removeAll { $0 === made[3] }
        #expect(names(squad) == "bac" && made[3].squad == nil)
        try context.save()
        #expect(names(squad) == "bac")
        #expect(try fresh(names) == "bac")
    }

    @Test func `insertions, moves and removals are one link each`() throws {
        squad.runners = try runners("abcdef")
        let made = squad.runners
        try context.save()
        func expectLinks(_ actions: [LinkChange.Action], _ order: String) throws {
            try context.save()
            #expect(names(squad) == order)
            #expect(try fresh(names) == order)
            #expect(try lastLinks().map(\.action) == actions)
        }
        squad.insert(made[5], into: "runners", at: 1)
        try expectLinks([.remove, .add], "afbcde")
        squad.runners.insert(try #require(try runners("x").first), at: 0)
        try expectLinks([.add], "xafbcde")
        squad.runners.remove(at: 2)
        try expectLinks([.remove], "xabcde")
        squad.runners.move(fromOffsets: 5, to: 1)
        try expectLinks([.remove, .add], "xeabcd")
        squad.runners.append(made[5])
        try expectLinks([.add], "xeabcdf")
    }

    @Test func `a member occurs once, at its first index`() throws {
        let made = try runners("abc")
        squad.runners = [made[0], made[1], made[0], made[2], made[1]]
        #expect(names(squad) == "abc")
        squad.runners.append(made[0])
        #expect(names(squad) == "abc")
        squad.add(made[1], to: "runners")
        #expect(names(squad) == "abc")
        squad.insert(made[0], into: "runners", at: 2)
        #expect(names(squad) == "bca")
    }

    @Test func `a member added through its own end becomes the last`() throws {
        squad.runners = try runners("ba")
        try context.save()
        let late = try runners("cd")
        late[1].squad = squad
        late[0].squad = squad
        #expect(names(squad) == "bacd")
        try context.save()
        #expect(names(squad) == "bacd")
        #expect(try fresh(names) == "bacd")
    }

    @Test func `undo and redo restore each order`() throws {
        squad.runners = try runners("abcd")
        let late = try runners("e")[0]
        try context.save()
        let made = squad.runners
        var orders = [names(squad)]
        let edits: [() -> Void] = [
            { squad.runners.reverse() }, { made[1].squad = nil },
            { squad.insert(made[0], into: "runners", at: 0) }, { late.squad = squad },
            { squad.runners = [made[3]] }, { context.delete(made[3]) },
        ]
        for edit in edits {
            edit()
            orders.append(names(squad))
        }
        #expect(orders == ["abcd", "dcba", "dca", "adc", "adce", "d", ""])
        for order in orders.dropLast().reversed() {
            context.undo()
            #expect(names(squad) == order)
        }
        #expect(!context.hasChanges)
        for order in orders.dropFirst() {
            context.redo()
            #expect(names(squad) == order)
        }
    }

    @Test func `a many-to-many relationship keeps the order too`() throws {
        squad.songs = try songs("xyz")
        try context.save()
        let made = squad.songs
        squad.songs = [made[2], made[0], try #require(try songs("w").first), made[1]]
        try context.save()
        #expect(songNames(squad) == "zxwy")
        #expect(try fresh(songNames) == "zxwy")
        made[0].squads = []
        #expect(songNames(squad) == "zwy")
        made[0].squads = [squad]
        #expect(songNames(squad) == "zxwy", "the song is in another place")
        try context.save()
        #expect(try fresh(songNames) == "zxwy")
    }

    @Test func `edits stay on top of the saves of others, and both are kept`() throws {
        squad.runners = try runners("abcdef")
        try context.save()
        let made = squad.runners
        let other = fixture.container("other").makeContext(name: "other")
        let theirs = try other.existingObject(with: squad.typedID)
        squad.insert(made[5], into: "runners", at: 0)
        theirs.runners.remove(at: 2)
        theirs.insert(theirs.runners[0], into: "runners", at: 2)
        let new = try other.insert(Runner.self)
        new.name = "n"
        theirs.runners.append(new)
        #expect(names(theirs) == "bdaefn")
        try other.save()
        // A fetch merges first.
        _ = try context.fetch(Song.self)
        #expect(names(squad) == "fbdaen")
        try context.save()
        #expect(names(squad) == "fbdaen")
        #expect(try fresh(names) == "fbdaen")
    }

    @Test func `a child saves its order into its parent`() throws {
        squad.runners = try runners("abc")
        squad.songs = try songs("xyz")
        try context.save()
        let child = context.makeChild(name: "form")
        let copy = try child.existingObject(with: squad.typedID)
        copy.runners.reverse()
        copy.runners.remove(at: 1)
        copy.songs.swapAt(0, 2)
        #expect(names(copy) == "ca" && songNames(copy) == "zyx")
        #expect(names(squad) == "abc" && songNames(squad) == "xyz")
        try child.save()
        #expect(names(squad) == "ca" && songNames(squad) == "zyx")
        try context.save()
        #expect(try fresh(names) == "ca")
        #expect(try fresh(songNames) == "zyx")
    }

    @Test func `a child saves the ranks of members that it edited after their owner`() throws {
        squad.runners = try runners("abc")
        try context.save()
        let child = context.makeChild(name: "new owner")
        let made = try squad.runners.map { try child.existingObject(with: $0.typedID) }
        let copy = try child.insert(Squad.self)
        copy.runners = [made[2], made[0], made[1]]
        try child.save()
        let team = try context.existingObject(with: copy.typedID)
        #expect(names(team) == "cab" && names(squad).isEmpty)
        try context.save()
        #expect(try fresh(names, of: team) == "cab")
        squad.runners = try runners("de")
        try context.save()
        // The parent holds the list, and receives the owner before the new member.
        #expect(names(team) == "cab")
        let form = context.makeChild(name: "old owner")
        let owner = try form.existingObject(with: team.typedID)
        owner.name = "edited first"
        let late = try #require(squad.runners.first)
        owner.runners.insert(try form.existingObject(with: late.typedID), at: 0)
        try form.save()
        #expect(names(team) == "dcab" && names(squad) == "e")
        try context.save()
        #expect(try fresh(names, of: team) == "dcab")
    }

    @Test func `typed conditions and class types keep the order`() throws {
        squad.runners = try runners("ab")
        try context.save()
        let named = (\Squad.runners).any(\.name == "b")
        #expect(try context.fetch(Squad.self, where: named) == [squad])
        #expect(try context.fetch(Squad.self, where: .text("runners.@count = 2")) == [squad])
        let none = try context.fetch(
            Squad.self, where: #Predicate { $0.runners.contains { $0.name == "c" } })
        #expect(none.isEmpty)
    }

    @Test func `an array property for an unordered relationship is refused`() throws {
        final class Fan: ManagedObject, ManagedEntity {
            @Managed("idols") var idols: [Fan]
            static let entity = Entity("Fan") {
                Relationship("idols", to: "Fan", inverse: "fans", toMany: true)
                Relationship("fans", to: "Fan", inverse: "idols", toMany: true)
            }
        }
        let fans = try Fixture([Fan.self])
        #expect {
            try fans.container().makeContext(name: "fans").insert(Fan.self)
        } throws: { error in
            "\(error)".contains("an unordered to-many relationship")
        }
    }

    @Test func `an earlier position shows the earlier order`() throws {
        squad.runners = try runners("abc")
        let first = try context.save()
        squad.runners.reverse()
        try context.save()
        let then = try context.fetch(
            FetchRequest(entity: "Squad"), at: first, members: ["runners"])
        let names = try then.first?.members["runners"]?.map {
            try context.existingObject(with: $0)["name"]
        }
        #expect(names == ["a", "b", "c"].map { .string($0) })
    }

    @Test func `rows of a batch insert keep their order`() throws {
        let made = try songs("xyz")
        try context.save()
        let ids = [made[1], made[2], made[0]].map(\.id)
        try context.execute(
            BatchInsertRequest(
                entity: "Squad", rows: [BatchValues([:], objects: ["songs": ids])]))
        let squads = try context.fetch(Squad.self, where: .text("songs.@count = 3"))
        #expect(squads.first?.songs.map(\.name) == ["y", "z", "x"])
    }
}

extension Array {
    /// Moves an element like SwiftUI's method of this name: to before the element at `destination`.
    fileprivate mutating func move(fromOffsets source: Int, to destination: Int) {
        let element = remove(at: source)
        insert(element, at: destination > source ? destination - 1 : destination)
    }
}
