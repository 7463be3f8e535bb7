import TandemDaemon
import TandemEmbedded
import TandemIO
import TandemModel
import TandemQuery
import TestSupport
import TestWorlds
import Testing

@testable import Tandem

/// A choir that counts its members.
final class Choir: ManagedObject, ManagedEntity {
    @Managed("title") var title: String
    @Managed("memberCount") var memberCount: Int
    @Managed("members") var members: Set<Singer>

    static let entity = Entity("Choir", indexes: [["memberCount"]]) {
        Attribute("title", .string)
        Attribute("memberCount", .int, optional: false, derived: .count("members"))
        Relationship("members", to: "Singer", inverse: "choir", toMany: true, deleteRule: .nullify)
    }
}

/// A singer with a derived text for sorting, folded from the name.
final class Singer: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("folded") var folded: String?
    @Managed("choir") var choir: Choir?

    static let entity = Entity("Singer", indexes: [["folded"]]) {
        Attribute("name", .string, default: .string("Ñ"))
        Attribute("folded", .string, derived: .folded("name"))
        Relationship("choir", to: "Choir", inverse: "members")
    }
}

/// Derived attributes as a context shows them, before a save and after.
@MainActor @Suite struct DerivedTests {
    let container: PersistentContainer
    let context: ManagedObjectContext

    init() throws {
        container = try PersistentContainer.inMemory(entities: [Choir.self, Singer.self])
        context = container.makeContext(name: "first")
    }

    @Test func `a folded text follows at once, a count with the save`() throws {
        let choir = try context.insert(Choir.self)
        let singer = try context.insert(Singer.self)
        #expect(singer.folded == "n" && choir.memberCount == 0)
        singer.name = "Élan"
        singer.choir = choir
        #expect(singer.folded == "elan" && choir.memberCount == 0)
        try context.save()
        #expect(singer.folded == "elan" && choir.memberCount == 1)
        #expect(!singer.hasChanges && !choir.hasChanges)
        let other = container.makeContext(name: "second")
        let seen = try #require(try other.fetch(Choir.self, where: .text("memberCount = 1")).first)
        #expect(seen.memberCount == 1)
        // A different case of the same letters changes the name, but not the folded text.
        singer.name = "ÉLAN"
        #expect(singer.folded == "elan")
        try context.save()
        #expect(try other.fetch(Singer.self, where: .text("folded = 'elan'")).first?.name == "ÉLAN")
        context.delete(singer)
        try other.reach(try context.save())
        #expect(seen.memberCount == 0 && choir.memberCount == 0)
    }

    @Test func `setting a derived attribute is refused before anything is sent`() throws {
        let choir = try context.insert(Choir.self)
        let singer = try context.insert(Singer.self)
        choir.memberCount = 7
        singer.folded = "x"
        let error = try #require(throws: TandemError.self) { try context.save() }
        #expect(error.code == .validation)
        #expect(Set(error.problems.map(\.property)) == ["memberCount", "folded"])
        #expect(Set(error.problems.map(\.object)) == [choir.id, singer.id])
        #expect(error.message.contains("derived (members.@count)"))
        choir.memberCount = 0
        singer.name = "Ö"
        try context.save()
        #expect(singer.folded == "o")
        singer.folded = nil
        #expect(throws: TandemError.self) { try context.save() }
        context.rollback()
        #expect(singer.folded == "o")
        try context.save()
    }

    @Test func `batches that set a derived attribute are refused, others update it`() throws {
        let choir = try context.insert(Choir.self)
        try context.save()
        let rows = (0..<3).map {
            BatchValues(["name": .string("Ä\($0)")], objects: ["choir": [choir.id]])
        }
        try context.execute(BatchInsertRequest(entity: "Singer", rows: rows))
        #expect(choir.memberCount == 3)
        for name in ["folded", "name"] {
            let values = BatchValues([name: .string("X")])
            let update = BatchUpdateRequest(FetchRequest(entity: "Singer"), set: values)
            if name == "name" {
                try context.execute(update)
                continue
            }
            let error = try #require(throws: TandemError.self) { try context.execute(update) }
            #expect(error.code == .validation && error.message.contains("Singer.folded"))
            let insert = BatchInsertRequest(entity: "Singer", rows: [values])
            #expect(throws: TandemError.self) { try context.execute(insert) }
        }
        #expect(try context.fetch(Singer.self).map(\.folded) == ["x", "x", "x"])
        try context.execute(BatchDeleteRequest(FetchRequest(entity: "Singer", limit: 2)))
        #expect(choir.memberCount == 1)
    }

    @Test func `lists are sorted and sectioned by derived attributes, edits included`() throws {
        for name in ["b", "Á", "C"] { try context.insert(Singer.self).name = name }
        try context.save()
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Singer", sort: [SortKey("folded")]),
            context: context, sectionNameKeyPath: "folded")
        try list.performFetch()
        func names() -> [String] { list.fetchedObjects.compactMap { ($0 as? Singer)?.name } }
        #expect(names() == ["Á", "b", "C"])
        let singer = try #require(list.fetchedObjects.last as? Singer)
        singer.name = "À la"
        context.processPendingChanges()
        #expect(names() == ["Á", "À la", "b"])
        #expect(list.sections.map(\.name) == ["a", "a la", "b"])
        try context.save()
        #expect(names() == ["Á", "À la", "b"])
    }

    @Test func `undoing a name undoes its folded text, and a child saves both into its parent`()
        throws
    {
        context.allowsUndo = true
        let singer = try context.insert(Singer.self)
        singer.name = "Ä"
        context.undo()
        #expect(singer.name == "Ñ" && singer.folded == "n")
        context.redo()
        #expect(singer.folded == "a")
        let child = context.makeChild(name: "form")
        let (own, choir) = (
            try child.existingObject(with: singer.typedID), try child.insert(Choir.self)
        )
        own.name = "Ü"
        own.choir = choir
        #expect(own.folded == "u" && singer.folded == "a")
        try child.save()
        #expect(singer.folded == "u")
        try context.save()
        #expect(singer.folded == "u" && singer.choir?.memberCount == 1)
    }

    @Test func `overwriting a whole object leaves out derived attributes`() throws {
        let choir = try context.insert(Choir.self)
        choir.title = "a"
        try context.save()
        let other = container.makeContext(name: "second")
        let theirs = try other.existingObject(with: choir.typedID)
        theirs.title = "b"
        try other.insert(Singer.self).choir = theirs
        try other.save()
        let stale = container.makeContext(name: "third")
        let mine = try stale.existingObject(with: choir.typedID)
        mine.title = "c"
        try stale.save(policy: .overwrite)
        #expect(mine.memberCount == 1 && mine.title == "c")
    }

    @Test func `law 4: adding a singer does not conflict with editing its choir`() throws {
        let choir = try context.insert(Choir.self)
        try context.save()
        choir.title = "edited"
        let other = container.makeContext(name: "second")
        try other.insert(Singer.self).choir = try other.existingObject(with: choir.typedID)
        let position = try other.save()
        try context.save(policy: .error)
        #expect(choir.memberCount == 1 && choir.title == "edited")
        #expect(choir.version == position.number + 1)
    }

    @Test func `law 4: lists by counts and folded texts follow random saves`() throws {
        let seed = Seed.value(0)
        var random = SeededGenerator(seed: seed)
        let reader = container.makeContext(name: "reader")
        var requests = [
            FetchRequest(entity: "Choir", sort: ["-memberCount", "title"]),
            FetchRequest(entity: "Singer", sort: ["folded", "name"]),
            FetchRequest(entity: "Singer", sort: ["choir.memberCount", "folded"]),
        ]
        requests[0].predicate = try ObjectPredicate(format: "memberCount > 1")
        requests[2].predicate = try ObjectPredicate(format: "choir.memberCount > 0")
        let lists = try requests.map {
            try FetchedResultsController(fetchRequest: $0, context: reader)
        }
        for list in lists { try list.performFetch() }
        var (choirs, singers): ([Choir], [Singer]) = ([], [])
        for step in 0..<60 {
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                try change(&choirs, &singers, &random)
            }
            try reader.reach(try context.save())
            let fresh = container.makeContext(name: "fresh")
            for (request, list) in zip(requests, lists) {
                let expected = try fresh.fetch(request)
                let found = list.fetchedObjects
                #expect(
                    found.map(\.id) == expected.map(\.id), "seed \(seed) step \(step) \(request)")
            }
            for choir in try fresh.fetch(Choir.self) {
                #expect(choir.memberCount == choir.members.count, "seed \(seed) step \(step)")
                let held = try reader.existingObject(with: choir.typedID)
                #expect(held.memberCount == choir.memberCount, "seed \(seed) step \(step)")
            }
        }
    }

    /// Makes one random edit.
    private func change(
        _ choirs: inout [Choir], _ singers: inout [Singer], _ random: inout SeededGenerator
    ) throws {
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            let choir = try context.insert(Choir.self)
            choir.title = "\(choirs.count)"
            choirs.append(choir)
        case 1, 2:
            let singer = try context.insert(Singer.self)
            singer.choir = choirs.randomElement(using: &random)
            singers.append(singer)
        case 3, 4:
            let choir = choirs.randomElement(using: &random)
            singers.randomElement(using: &random)?.choir =
                Int.random(in: 0..<4, using: &random) == 0 ? nil : choir
        case 5, 6:
            let name = ["É", "e", "Z", "ß", "ss", "Ångström"].randomElement(using: &random)
            singers.randomElement(using: &random)?.name = name ?? ""
        default:
            if Bool.random(using: &random), choirs.count > 3 {
                let index = Int.random(in: 0..<choirs.count, using: &random)
                context.delete(choirs.remove(at: index))
            } else if !singers.isEmpty {
                let index = Int.random(in: 0..<singers.count, using: &random)
                context.delete(singers.remove(at: index))
            }
        }
    }

    @Test func `law 5: a count that grew during a history gap is reported`() throws {
        let fixture = try Fixture([Choir.self, Singer.self])
        let writer = fixture.container("writer").makeContext(name: "writer")
        let reader = fixture.container("reader").makeContext(name: "reader")
        let choir = try writer.insert(Choir.self)
        try reader.reach(try writer.save())
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Choir", sort: ["title"]), context: reader)
        try list.performFetch()
        let recorder = ChangeRecorder()
        list.delegate = recorder
        try writer.insert(Singer.self).choir = choir
        let end = try writer.save()
        let now = try #require(reader.connection.knownSession)
        try reader.blocking { try await reader.merger.restartAndMerge(in: now, at: end.number, $0) }
        #expect(recorder.updated == [choir.id])
        #expect((list.fetchedObjects.first as? Choir)?.memberCount == 1)
    }

    @Test
    func `an app of an older model keeps working, and is refused only newly derived attributes`()
        throws
    {
        let old = ManagedObjectModel {
            Entity("Choir") {
                Attribute("title", .string)
                Relationship("members", to: "Singer", inverse: "choir", toMany: true)
            }
            Entity("Singer") {
                Attribute("name", .string)
                Attribute("size", .int)
                Relationship("choir", to: "Choir", inverse: "members")
            }
        }
        var new = old
        new.entities["Choir"]?.attributes["memberCount"] = Attribute(
            "memberCount", .int, derived: .count("members"))
        new.entities["Choir"]?.indexes = [["memberCount"]]
        let daemon = try EmbeddedDaemon(DaemonConfiguration.inMemory())
        let older = PersistentContainer(model: old, transport: daemon.transport)
        let early = older.makeContext(name: "early")
        let choir = try early.insert("Choir")
        for _ in 0..<3 { try early.insert("Singer").setObject(choir, for: "choir") }
        try early.save()
        let newer = PersistentContainer(model: new, transport: daemon.transport)
        let late = newer.makeContext(name: "late")
        #expect(
            try late.fetch(FetchRequest(entity: "Choir")).map { $0["memberCount"] } == [.int(3)])
        try early.insert("Singer").setObject(choir, for: "choir")
        choir["title"] = .string("t")
        try late.reach(try early.save(policy: .overwrite))
        #expect(
            try late.fetch(FetchRequest(entity: "Choir")).map { $0["memberCount"] } == [.int(4)])
        #expect(
            try late.count(
                for: FetchRequest(
                    entity: "Choir", predicate: try ObjectPredicate(format: "memberCount = 4")))
                == 1)
    }
}
