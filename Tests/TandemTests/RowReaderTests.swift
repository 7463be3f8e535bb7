import FoundationEssentials
import Observation
import TandemEmbedded
import TandemModel
import TestSupport
import TestWorlds
import Testing

@testable import Tandem

private struct Title: ObjectValue, Equatable {
    let text: String
    init(_ book: RowReader<Book>) { text = book.title }
}

private struct ShelfName: ObjectValue {
    let name: String?
    init(_ book: RowReader<Book>) { name = book.shelf?.name }
}

private struct ShelfID: ObjectValue {
    let id: ObjectID?
    init(_ book: RowReader<Book>) { id = book.shelf?.id }
}

/// A value that retains its object.
private struct Kept<Object: ManagedEntity>: ObjectValue {
    // Guarded by the main actor, where it is made and read.
    nonisolated(unsafe) let object: Object
    init(_ row: RowReader<Object>) { object = row.object }
}

/// A value that retains its reader.
private struct KeptRow: ObjectValue {
    // Guarded by the main actor, on which it is made and read.
    nonisolated(unsafe) let row: RowReader<Book>
    init(_ row: RowReader<Book>) { self.row = row }
}

/// A value that calls a closure with its reader.
private struct Done: ObjectValue {
    // Guarded by the main actor, on which it is set and called.
    nonisolated(unsafe) static var work: (RowReader<Book>) -> Void = { _ in }
    let title: String

    init(_ book: RowReader<Book>) {
        Self.work(book)
        title = book.title
    }
}

/// A value of a property that the class does not declare with ``Managed``.
private struct Length: ObjectValue {
    let isLong: Bool
    init(_ book: RowReader<Book>) { isLong = book.isLong }
}

/// A value that reads a path over a relationship at once.
private struct SequelTitle: ObjectValue {
    let title: String?
    init(_ book: RowReader<Book>) { title = book[dynamicMember: \.sequel?.title] }
}

/// Values read from rows, which must equal those of the objects.
@MainActor @Suite(.serialized) struct RowReaderTests {
    static let types: [any ManagedEntity.Type] = [
        Book.self, Comic.self, Shelf.self, Label.self, Root.self,
    ]
    let daemon: EmbeddedDaemon
    let context: ManagedObjectContext
    let other: ManagedObjectContext

    init() throws {
        let daemon = try EmbeddedDaemon(.inMemory())
        self.daemon = daemon
        context = Self.context("values", daemon)
        other = Self.context("other", daemon)
    }

    fileprivate static func context(
        _ name: String, _ daemon: EmbeddedDaemon, connectMilliseconds: UInt64 = 60_000
    ) -> ManagedObjectContext {
        var limits = ClientLimits()
        limits.cachedRows = 1
        limits.connectMilliseconds = connectMilliseconds
        return PersistentContainer(
            entities: types, author: name, transport: daemon.transport, limits: limits
        ).makeContext(name: name)
    }

    /// Saves books with these titles on one shelf; each book's index is its number of pages.
    @discardableResult
    private func books(_ titles: String...) throws -> [Book] {
        let shelf = try other.insert(Shelf.self)
        shelf.name = "shelf"
        let books = try titles.enumerated().map { place, title in
            let book = try other.insert(Book.self)
            (book.title, book.pages, book.shelf) = (title, place, shelf)
            return book
        }
        try other.save()
        return books
    }

    private func done(
        in reader: ManagedObjectContext? = nil, _ work: @escaping (RowReader<Book>) -> Void
    ) throws -> [String] {
        Done.work = work
        defer { Done.work = { _ in } }
        return try (reader ?? context).fetchValues(Done.self, for: FetchRequest(sort: ["title"]))
            .map(\.title)
    }

    private func now() throws -> [Done] {
        try context.fetchValues(Done.self, for: FetchRequest(sort: ["title"]))
    }

    // MARK: Laws

    @Test func `law 4: values equal those of the objects, whatever is edited, merged or deleted`()
        throws
    {
        for run in 0..<Seed.worlds(2, deep: 3) {
            var library = try Library(context, other, Seed.value(run))
            for step in 0..<24 {
                try library.step()
                let place: Comment = "TANDEM_SEED=\(Seed.value(run)) step \(step)"
                let sort: [SortKey<Book>] = [["title"], ["-pages"], []][step % 3]
                let values = try context.fetchValues(BookLine.self, for: FetchRequest(sort: sort))
                let rows = try context.fetchValues(KeptRow.self, for: FetchRequest(sort: sort)).map(
                    \.row)
                let objects = try context.fetch(Book.self, sort: sort)
                let found = objects.map(BookLine.init(of:))
                try #require(values == found, place)
                try #require(objects.map { BookLine(RowReader($0)) } == found, place)
                try #require(rows.map { BookLine($0) } == found, place)
                let kept = try context.fetchValues(Kept<Book>.self, for: FetchRequest(sort: sort))
                    .map(\.object)
                try #require(kept == objects, place)
                // Retained readers show later changes.
                try library.step()
                let later = rows.map { BookLine(of: $0.object) }
                try #require(rows.map { BookLine($0) } == later, place)
            }
        }
    }

    @Test func `rows that are not retained leave nothing behind`() throws {
        try books("a", "b", "c")
        #expect(
            try context.fetchValues(Title.self, for: FetchRequest(sort: ["title"])).map(\.text) == [
                "a", "b", "c",
            ])
        #expect(context.graph.count == 0 && context.registeredObjects.isEmpty)
    }

    @Test func `a context that made values is released with its last user`() throws {
        try books("a", "b")
        weak var made: ManagedObjectContext?
        do {
            let context = PersistentContainer(
                entities: Self.types, author: "short", transport: daemon.transport
            ).makeContext(name: "short")
            made = context
            let lines = try context.fetchValues(BookLine.self)
            #expect(lines.count == 2)
        }
        #expect(made == nil)
    }

    @Test func `related objects are loaded once each, and no objects are created`() throws {
        for name in ["x", "y", "z"] {
            let shelf = try other.insert(Shelf.self)
            shelf.name = name
            for _ in 0..<3 { try other.insert(Book.self).shelf = shelf }
        }
        try other.save()
        let names = try context.fetchValues(ShelfName.self).compactMap(\.name)
        #expect(names.sorted() == ["x", "x", "x", "y", "y", "y", "z", "z", "z"])
        #expect(context.registeredObjects.isEmpty && context.graph.count <= 3)
        let ids = try context.fetchValues(ShelfID.self).compactMap(\.id)
        #expect(Set(ids).count == 3)
    }

    @Test func `a reader of a related object reads what the object's key path reads`() throws {
        let stored = try books("a", "b", "c", "d")
        (stored[0].sequel, stored[1].sequel, stored[2].sequel) = (stored[1], stored[2], stored[3])
        (stored[1].remark, stored[1].grade, stored[3].grade) = ("good", .good, .best)
        let long = String(repeating: "x", count: 70_000)
        (stored[2].remark, stored[2].site) = (long, URL(string: "https://example.org"))
        try other.save()
        for _ in 0..<2 {
            let lines = try context.fetchValues(BookLine.self, for: FetchRequest(sort: ["title"]))
            #expect(lines == stored.map { BookLine(of: $0) })
            #expect(lines[0].sequel == ["b", "good", "good", nil, "shelf"])
            #expect(lines[1].sequel[1] == long && lines[2].remarks == [long, long])
            #expect(lines[3].sequel == Array(repeating: nil, count: 5))
            context.refreshAllObjects()
        }
    }

    @Test func `only properties declared with Managed can be read`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            try await MainActor.run {
                let daemon = try EmbeddedDaemon(.inMemory())
                let context = RowReaderTests.context("values", daemon)
                _ = try context.insert(Book.self)
                _ = try context.fetchValues(Length.self)
            }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("it must name properties declared with @Managed"))
    }

    @Test func `a path over a relationship is refused with the members to use instead`()
        async throws
    {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            try await MainActor.run {
                let daemon = try EmbeddedDaemon(.inMemory())
                let context = RowReaderTests.context("values", daemon)
                _ = try context.insert(Book.self)
                _ = try context.fetchValues(SequelTitle.self)
            }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("not the path sequel.title; write `row.sequel?.title`"))
    }

    // MARK: Retained readers and objects

    @Test func `a retained reader shows its object, with edits and merges`() throws {
        let stored = try books("a", "b", "c")
        let kept = try context.fetchValues(KeptRow.self, for: FetchRequest(sort: ["title"])).map(
            \.row)
        #expect(kept.map(\.title) == ["a", "b", "c"] && kept.map { $0.shelf?.name }.count == 3)
        #expect(context.registeredObjects.isEmpty)
        try context.existingObject(with: kept[1].typedID).title = "edited"
        #expect(kept.map(\.title) == ["a", "edited", "c"])
        (stored[0].title, stored[0].shelf) = ("x", nil)
        other.delete(stored[2])
        try context.reach(try other.save())
        #expect(kept.map(\.title) == ["x", "edited", ""])
        #expect(kept.map { $0.shelf?.name } == [nil, "shelf", nil])
        #expect(kept.map(\.id) == stored.map(\.id) && kept[2].object.isDeleted)
    }

    @Test func `a retained object is that of its row, with its edits and merges`() throws {
        let stored = try books("a", "b", "c", "d")
        var kept: [Book] = []
        _ = try done { if $0.pages % 2 == 1 { kept.append($0.object) } }
        #expect(kept.map(\.title) == ["b", "d"] && context.registeredObjects == Set(kept))
        let again = try context.fetch(Book.self, sort: ["title"])
        #expect(again[1] === kept[0] && again[3] === kept[1])
        kept[0].title = "e"
        stored[3].title = "f"
        try context.reach(try other.save())
        #expect(kept[0].isUpdated && kept[1].title == "f")
        try other.reach(try context.save())
        #expect(stored[1].title == "e")
    }

    @Test func `an object retained under observation is observed`() throws {
        try books("a", "b")
        var kept: [Kept<Book>] = []
        let probe = ObservationTests.Probe {
            kept = (try? context.fetchValues(Kept<Book>.self)) ?? []
        }
        kept.first?.object.title = "unread"
        #expect(!probe.hasFired)
        let reader = ObservationTests.Probe {
            _ = try? done { _ = ($0.pages, $0.object.hasChanges) }
        }
        kept.last?.object.pages = 7
        #expect(reader.hasFired && kept.count == 2)
    }

    @Test(arguments: [false, true], [false, true])
    func `reads are observed, whether or not the context holds the object`(
        isHeld: Bool, isMerged: Bool
    ) throws {
        let stored = try books("a", "b")
        let held = isHeld ? try context.fetch(Book.self) : []
        var titles: [Title] = []
        let title = ObservationTests.Probe {
            titles =
                (try? context.fetchValues(Title.self, for: FetchRequest(sort: ["title"]))) ?? []
        }
        var names: [ShelfName] = []
        let name = ObservationTests.Probe {
            names = (try? context.fetchValues(ShelfName.self)) ?? []
        }
        #expect(titles.count == 2 && names.map(\.name) == ["shelf", "shelf"])
        let book = isMerged ? stored[1] : try context.existingObject(with: stored[1].typedID)
        book.title = "c"
        if isMerged { try context.reach(try other.save()) }
        #expect(title.hasFired && !name.hasFired)
        book.shelf?.name = "other"
        if isMerged { try context.reach(try other.save()) }
        #expect(name.hasFired)
        withExtendedLifetime(held) {}
    }

    // MARK: Side effects of making values

    @Test func `an object whose class reads other rows keeps its own row`() throws {
        for name in ["x", "y", "z"] { try other.insert(Root.self).name = name }
        try books("a")
        try other.save()
        Root.look = { _ = try? $0.fetchValues(Title.self) }
        defer { Root.look = { _ in } }
        let kept = try context.fetchValues(Kept<Root>.self, for: FetchRequest(sort: ["name"])).map(
            \.object)
        #expect(kept.map(\.name) == ["x", "y", "z"] && context.registeredObjects == Set(kept))
        let found = try kept.map { try context.object(with: $0.typedID) }
        #expect(found.elementsEqual(kept) { $0 === $1 })
    }

    @Test func `an object that its initialiser looks up is made once`() throws {
        let root = try other.insert(Root.self)
        try other.save()
        try context.reach(other.position ?? context.connect())
        var found: Root?
        Root.look = { context in
            Root.look = { _ in }
            found = try? context.object(with: root.typedID)
        }
        defer { Root.look = { _ in } }
        let object = try context.object(with: root.typedID)
        #expect(found != nil && object === found && context.registeredObjects.count == 1)
    }

    @Test func `no relationship refers to an object deleted while values are made`() throws {
        try books("a", "b", "c")
        var shelves: [Bool] = []
        _ = try done { book in
            shelves.append(book.shelf != nil)
            if book.pages == 1 { book.shelf.map { context.delete($0.object) } }
            shelves.append(book.shelf != nil)
        }
        #expect(shelves == [true, true, true, false, false, false])
    }

    @Test func `relationships refer to the object that a value is being made of`() throws {
        try books("a", "b", "c")
        var same = 0
        _ = try done { book in
            let (object, shelf) = (book.object, book.shelf?.object)
            let found = shelf?.books.first { $0.id == book.id }
            same += found === object && shelf === found?.shelf ? 1 : 0
        }
        #expect(same == 3)
    }

    @Test func `making a value may edit objects and undo the edit`() throws {
        let stored = try books("a", "b", "c")
        var changes: [ObjectsChange] = []
        let observation = context.onObjectsDidChange { changes.append($0) }
        let titles = try done { book in
            book.object.title += "!"
            if book.pages == 1 { context.rollback() }
        }
        #expect(titles == ["a!", "b", "c!"] && context.updatedObjects.count == 1)
        try other.reach(try context.save())
        #expect(stored.map(\.title) == ["a", "b", "c!"] && !changes.isEmpty)
        withExtendedLifetime(observation) {}
    }

    @Test func `making a value may make other values`() throws {
        try books("a", "b", "c")
        var inner: [[String]] = []
        var kept: [Book] = []
        let titles = try done { book in
            let all =
                (try? context.fetchValues(Title.self, for: FetchRequest(sort: ["-title"]))) ?? []
            inner.append(all.map(\.text))
            if book.pages == 2 { kept.append(book.object) }
        }
        #expect(titles == ["a", "b", "c"])
        #expect(inner == Array(repeating: ["c", "b", "a"], count: 3))
        #expect(kept.map(\.title) == ["c"] && context.registeredObjects == Set(kept))
    }

    @Test(arguments: [false, true], [false, true])
    func `values after a save that is merged in between reflect the save`(
        isAsync: Bool, isEdited: Bool
    ) async throws {
        let stored = try books("a", "b", "c", "d")
        // Edits have to be overlaid on the answer, which requires objects.
        if isEdited { try await context.existingObject(with: stored[0].typedID).pages = 9 }
        Done.work = { book in
            guard book.pages == 1, let context = book.object.managedObjectContext else { return }
            (stored[0].title, stored[2].title) = ("x", "y")
            stored[3].managedObjectContext?.delete(stored[3])
            do {
                try context.reach(try #require(try stored[0].managedObjectContext?.save()))
            } catch {
                Issue.record(error)
            }
        }
        defer { Done.work = { _ in } }
        let values =
            isAsync
            ? try await context.fetchValues(Done.self, for: FetchRequest(sort: ["title"]))
            : try now()
        #expect(values.map(\.title) == ["a", "b", "y"])
    }

    @Test func `a model change while values are made moves the object to the new model`() throws {
        try books("a", "b", "c")
        // Adds a property before the existing ones, so that every slot changes.
        var later = Book.entity
        later.attributes["alpha"] = Attribute("alpha", .string)
        let entities = [later] + Self.types.dropFirst().map { $0.entity }
        let installer = PersistentContainer(author: "installer", transport: daemon.transport)
        var kept: [Book] = []
        let titles = try done { book in
            guard book.pages == 1 else { return }
            kept.append(book.object)
            do {
                try context.reach(try installer.install(ManagedObjectModel(entities: entities)))
            } catch {
                Issue.record(error)
            }
            #expect(book.pages == 1 && book.object["alpha"] == .null)
            #expect(book.shelf?.name == "shelf")
        }
        #expect(titles == ["a", "b", "c"] && kept.map(\.title) == ["b"])
        #expect(context.registeredObjects.isSuperset(of: kept))
        kept[0].title = "d"
        try context.save()
        #expect(try context.fetch(Book.self, sort: ["title"]).map(\.title) == ["a", "c", "d"])
    }

    @Test func `a relationship that can't be loaded makes the fetch throw`() throws {
        try books("a", "b")
        // The short timeout is for the stopped daemon, not for a busy machine.
        let context = Self.context("short", daemon, connectMilliseconds: 300)
        context.connectPatiently()
        let error = #expect(throws: TandemError.self) {
            _ = try done(in: context) { book in
                if book.pages == 0 { try? daemon.stop() }
                _ = book.shelf?.name
            }
        }
        #expect(error?.code == .disconnected && context.faultFailure == nil)
    }

    @Test func `children and pinned contexts make values like other contexts`() throws {
        let stored = try books("a", "b")
        try context.pin()
        stored[0].title = "later"
        let position = try other.save()
        #expect(
            try context.fetchValues(Title.self, for: FetchRequest(sort: ["title"])).map(\.text) == [
                "a", "b",
            ])
        try context.unpin()
        try context.reach(position)
        let child = context.makeChild(name: "child")
        try child.existingObject(with: stored[1].typedID).title = "child's"
        let titles = try child.fetchValues(Title.self, for: FetchRequest(sort: ["title"])).map(
            \.text)
        #expect(titles == ["child's", "later"])
    }
}

/// Books and shelves that two contexts change at random.
@MainActor struct Library {
    private let context: ManagedObjectContext
    private let other: ManagedObjectContext
    private var random: SplitMix
    private var held: [ManagedObject] = []

    init(_ context: ManagedObjectContext, _ other: ManagedObjectContext, _ seed: UInt64) throws {
        (self.context, self.other, random) = (context, other, SplitMix(seed))
        context.rollback()
        context.mergePolicy = .objectTrump
        other.mergePolicy = .objectTrump
        for _ in 0..<12 { try change(other) }
        try other.save()
    }

    mutating func step() throws {
        switch random.next(8) {
        case 0, 1:
            for _ in 0...random.next(4) { try change(other) }
            try other.save()
        case 2, 3: try change(context)
        case 4: try context.save()
        case 5: context.rollback()
        case 6:
            held = []
            // Only a request releases unused rows.
            _ = try context.count(for: FetchRequest(entity: "Book"))
        default:
            if let book = try book(context) { held.append(book) }
            if let book = held.randomElement(using: &random) {
                context.refresh(book, mergeChanges: random.next(2) == 0)
            }
        }
    }

    private mutating func change(_ context: ManagedObjectContext) throws {
        let book: Book
        switch random.next(8) {
        case 0:
            let shelf = try context.insert(Shelf.self)
            shelf.name = "shelf \(random.next(9))"
            for _ in 0..<random.next(3) {
                let label = try context.insert(Label.self)
                label.text = "label \(random.next(9))"
                shelf.labels.insert(label, at: random.next(shelf.labels.count + 1))
            }
            return
        case 1: book = try context.insert(Comic.self)
        case 2: book = try context.insert(Book.self)
        default:
            guard let some = try self.book(context) else { return }
            book = some
        }
        switch random.next(8) {
        case 0: context.delete(book)
        case 1: book.sequel = try self.book(context)
        case 2: book.shelf = try context.fetch(Shelf.self).randomElement(using: &random)
        case 3: (book as? Comic)?.colors = random.next(9)
        case 4:
            book.anyGrade = [nil, .good, .best][random.next(3)]
            book.site = random.next(2) == 0 ? nil : URL(string: "https://example.org")
        case 5:
            let long = random.next(9) == 0 ? 66_000 : random.next(20)
            book.remark = long == 0 ? nil : String(repeating: "r", count: long)
        default: (book.title, book.pages) = ("t\(random.next(20))", random.next(20))
        }
    }

    private mutating func book(_ context: ManagedObjectContext) throws -> Book? {
        try context.fetch(Book.self, sort: ["title"]).filter { !$0.isDeleted }
            .randomElement(using: &random)
    }
}
