import Tandem
import TandemModel
import TestWorlds
import Testing

final class Note: ManagedObject, ManagedEntity {
    @Managed("title") var title: String
    @Managed("rank") var rank: Int

    static let entity = Entity("Note", indexes: [["title"]]) {
        Attribute("title", .string, default: .string(""))
        Attribute("rank", .int, default: .int(0))
    }
}

/// Texts that are too long for a row, in contexts and lists over a real daemon.
@MainActor @Suite struct LongTextTests {
    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext

    init() throws {
        fixture = try Fixture([Note.self])
        writer = fixture.container("writer").makeContext(name: "writer")
        reader = fixture.container("reader").makeContext(name: "reader")
    }

    private func long(_ beginning: String, _ end: String = "") -> String {
        beginning + String(repeating: "-", count: 66_000) + end
    }

    private func controller(
        _ format: String, sections: String? = nil, in context: ManagedObjectContext
    ) throws -> FetchedResultsController<ManagedObject> {
        var request = FetchRequest(entity: "Note", sort: [SortKey("title")])
        request.predicate = try ObjectPredicate(format: format)
        let controller = try FetchedResultsController(
            fetchRequest: request, context: context, sectionNameKeyPath: sections)
        try controller.performFetch()
        return controller
    }

    @Test func `a long text is read, changed and rolled back like any other`() throws {
        let note = try writer.insert(Note.self)
        note.title = long("a", "end")
        #expect(note.title == long("a", "end"))
        try reader.reach(try writer.save())
        #expect(note.title == long("a", "end") && !note.hasChanges)
        let seen = try #require(try reader.fetch(Note.self).first)
        #expect(seen.title == long("a", "end"))
        seen.title = long("a", "end")
        #expect(!seen.hasChanges)
        seen.title = "short"
        try writer.reach(try reader.save())
        #expect(note.title == "short")
    }

    @Test func `a snapshot has a reference to a long text, and its container returns the text`()
        async throws
    {
        try writer.insert(Note.self).title = long("a", "end")
        let container = fixture.container("reader")
        let context = container.makeContext(name: "other")
        try await context.reach(try await writer.save())
        let note = try #require(try await context.fetch(Note.self).first)
        guard case .longText(let text) = note.snapshot["title"] else {
            Issue.record("the snapshot holds \(note.snapshot["title"])")
            return
        }
        #expect(try await container.text(of: text) == long("a", "end"))
    }

    @Test func `law 4: a list sends a request if only the whole text decides`() throws {
        let list = try controller("title CONTAINS 'needle'", in: reader)
        let note = try writer.insert(Note.self)
        note.title = long("a", "needle")
        try reader.reach(try writer.save())
        #expect(list.fetchedObjects.count == 1)
        note.title = long("a", "nothing")
        try reader.reach(try writer.save())
        #expect(list.fetchedObjects.isEmpty)
        note.title = long("needle")
        note.rank = 1
        try reader.reach(try writer.save())
        #expect(list.fetchedObjects.count == 1)
        note.rank = 2
        try reader.reach(try writer.save())
        #expect(list.fetchedObjects.count == 1)
        writer.delete(note)
        try reader.reach(try writer.save())
        #expect(list.fetchedObjects.isEmpty)
    }

    @Test func `pending long texts are evaluated like stored ones`() throws {
        let request = FetchRequest(
            entity: "Note", predicate: try ObjectPredicate(format: "title ENDSWITH 'z'"))
        let note = try writer.insert(Note.self)
        note.title = long("a", "z")
        #expect(try writer.fetch(request).count == 1)
        note.title = long("a", "y")
        #expect(try writer.fetch(request).isEmpty)
    }

    @Test func `an observer is notified if only the whole text could exclude a match`() throws {
        var told: [Int] = []
        let observer = try reader.observe(
            "Note", where: try ObjectPredicate(format: "title CONTAINS 'needle'")
        ) { if case .saved(let save) = $0 { told.append(save.inserted.count) } }
        defer { observer.cancel() }
        for title in [long("a", "needle"), "needle", "other"] {
            let note = try writer.insert(Note.self)
            note.title = title
            try reader.reach(try writer.save())
        }
        #expect(told == [1, 1])
    }

    private static let predicates = [
        "title CONTAINS 'n1'", "NOT title ENDSWITH[c] 'N2'", "title LIKE '?-*n?'",
        "title BEGINSWITH 'b'", "title > 'b' AND rank < 3", "rank > 1 OR title CONTAINS 'n0'",
    ]

    @Test(arguments: 0..<Seed.worlds(2, deep: 2))
    func `laws 4 and 5: lists over long texts equal a fresh fetch`(_ run: Int) throws {
        var random = SplitMix(Seed.value(run))
        let lists = try Self.predicates.map { format in
            try controller(format, sections: random.next(2) == 0 ? "title" : nil, in: reader)
        }
        for round in 0..<30 {
            for _ in 0..<(1 + random.next(2)) { try edit(&random) }
            let position = try writer.save()
            if random.next(3) == 0 { continue }
            try reader.reach(position)
            let fresh = fixture.container("fresh").makeContext(name: "fresh")
            try fresh.reach(position)
            for (format, list) in zip(Self.predicates, lists) {
                let path = list.sectionNameKeyPath
                let expected = try controller(format, sections: path, in: fresh)
                #expect(
                    list.sections == expected.sections,
                    "TANDEM_SEED=\(Seed.value(run)) round \(round) \(format)")
            }
        }
    }

    private func edit(_ random: inout SplitMix) throws {
        let all = try writer.fetch(Note.self)
        let isNew = all.count < 4 || random.next(5) == 0
        let note = isNew ? try writer.insert(Note.self) : all[random.next(all.count)]
        if !isNew, random.next(6) == 0 { return writer.delete(note) }
        if random.next(4) == 0 { note.rank = random.next(5) }
        let (begin, end) = (["a", "b"][random.next(2)], "n\(random.next(3))")
        note.title = random.next(2) == 0 ? long(begin, end) : begin + "-" + end
    }
}
