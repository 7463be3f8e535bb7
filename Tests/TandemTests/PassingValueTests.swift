import Observation
import TandemEmbedded
import TandemModel
import TestSupport
import TestWorlds
import Testing

@testable import Tandem

class Book: ManagedObject, ManagedEntity {
    @Managed("title") var title: String
    @Managed("pages") var pages: Int
    @Managed("shelf") var shelf: Shelf?
    @Managed("sequel") var sequel: Book?

    class var entity: Entity {
        Entity("Book") {
            Attribute("title", .string, default: .string(""))
            Attribute("pages", .int, default: .int(0))
            Relationship("shelf", to: "Shelf", inverse: "books")
            Relationship("sequel", to: "Book", inverse: "prequel")
            Relationship("prequel", to: "Book", inverse: "sequel")
        }
    }
}

final class Comic: Book {
    @Managed("colors") var colors: Int

    override class var entity: Entity {
        Entity("Comic", parent: "Book") { Attribute("colors", .int, default: .int(4)) }
    }
}

final class Shelf: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("books") var books: Set<Book>

    static let entity = Entity("Shelf") {
        Attribute("name", .string, default: .string(""))
        Relationship("books", to: "Book", inverse: "shelf", toMany: true)
    }
}

/// A class with state beyond its rows.
final class Diary: ManagedObject, ManagedEntity {
    @Managed("day") var day: String
    private(set) lazy var title = "of " + day

    static let entity = Entity("Diary") { Attribute("day", .string, default: .string("")) }
}

/// A class that reads its row in `deinit`.
final class Leaf: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    // Guarded by the main actor, where the tests' objects are made and released.
    nonisolated(unsafe) static var gone: [String] = []

    static let entity = Entity("Leaf") { Attribute("name", .string, default: .string("")) }

    deinit { Self.gone.append(name) }
}

/// A class that may read other rows while its object is initialised.
final class Root: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    // Guarded by the main actor, where it is set and called.
    nonisolated(unsafe) static var look: (ManagedObjectContext) -> Void = { _ in }

    static let entity = Entity("Root") { Attribute("name", .string, default: .string("")) }

    required init(binding: ObjectBinding) {
        super.init(binding: binding)
        if let managedObjectContext { Self.look(managedObjectContext) }
    }
}

/// All visible values of a book.
struct BookLine: ObjectValue, Equatable {
    var id: ObjectID
    var title: String
    var pages: Int
    var shelf: ObjectID?
    var shelfName: String?
    var sequel: String?
    var colors: Int?
    var isOnShelf: Bool
    var states: [Bool]
    var version: UInt64

    init(_ book: Book) {
        (id, title, pages) = (book.id, book.title, book.pages)
        (shelf, shelfName, sequel) = (book.shelf?.id, book.shelf?.name, book.sequel?.title)
        colors = (book as? Comic)?.colors
        isOnShelf = book.shelf.map { $0.books.contains(book) } ?? true
        states = [book.isInserted, book.isUpdated, book.isDeleted, book.isFault]
        version = book.version
    }
}

private struct Title: ObjectValue, Equatable {
    var text: String
    init(_ book: Book) { text = book.title }
}

/// A weak reference to an object.
private struct WeakShelf {
    weak var shelf: Shelf?
}

/// A value that retains its object.
private struct Kept<Object: ManagedEntity>: ObjectValue {
    // Guarded by the main actor, where it is made and read.
    nonisolated(unsafe) let object: Object
    init(_ object: Object) { self.object = object }
}

/// A value that calls a closure with its object.
private struct Done: ObjectValue {
    // Guarded by the main actor, where it is set and called.
    nonisolated(unsafe) static var work: (Book) -> Void = { _ in }
    var title: String

    init(_ book: Book) {
        Self.work(book)
        title = book.title
    }
}

/// Values made of rows with flyweight objects, which must be indistinguishable from ordinary
/// objects.
@MainActor @Suite(.serialized) struct PassingValueTests {
    static let types: [any ManagedEntity.Type] = [
        Book.self, Comic.self, Shelf.self, Diary.self, Leaf.self, Root.self,
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

    private static func context(
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
        in reader: ManagedObjectContext? = nil, _ work: @escaping (Book) -> Void
    ) throws -> [String] {
        Done.work = work
        defer { Done.work = { _ in } }
        return try (reader ?? context).fetchValues(Done.self, sort: ["title"]).map(\.title)
    }

    private func now() throws -> [Done] { try context.fetchValues(Done.self, sort: ["title"]) }

    // MARK: Laws

    @Test func `law 4: values equal those of the objects, whatever is edited, retained or deleted`()
        throws
    {
        for run in 0..<Seed.worlds(2, deep: 3) {
            var library = try Library(context, other, Seed.value(run))
            for step in 0..<24 {
                try library.step()
                let sort = [["title"], ["-pages"], []][step % 3]
                let values = try context.fetchValues(BookLine.self, sort: sort)
                let found = try context.fetch(Book.self, sort: sort).map(BookLine.init)
                try #require(values == found, "TANDEM_SEED=\(Seed.value(run)) step \(step)")
                let isOnShelf = values.allSatisfy(\.isOnShelf)
                try #require(isOnShelf, "TANDEM_SEED=\(Seed.value(run)) step \(step)")
                if step % 5 == 0 {
                    let kept = try context.fetchValues(Kept<Book>.self, sort: sort)
                    try #require(kept.map { BookLine($0.object) } == found, "seed \(run), \(step)")
                    try #require(
                        kept.allSatisfy {
                            context.registeredObject(for: $0.object.id) === $0.object
                        })
                }
            }
        }
    }

    @Test func `rows that are not retained leave nothing behind`() throws {
        try books("a", "b", "c")
        #expect(
            try context.fetchValues(Title.self, sort: ["title"]).map(\.text) == ["a", "b", "c"])
        #expect(context.records.count == 0 && context.registeredObjects.isEmpty)
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

    @Test func `the committed values and the snapshot of a flyweight are those of its row`() throws
    {
        try books("a", "b", "c", "d")
        var (rows, kept): ([[String: Value]], [ObjectSnapshot]) = ([], [])
        let titles = try done { book in
            if book.pages % 2 == 0 { rows.append(book.committedValues(forKeys: ["title"])) }
            kept.append(book.snapshot)
            #expect(book.title == "abcd".map(String.init)[book.pages])
        }
        #expect(titles == ["a", "b", "c", "d"])
        #expect(rows.map { $0["title"] } == [.string("a"), .string("c")])
        #expect(kept.map { $0["title"] } == ["a", "b", "c", "d"].map { .string($0) })
        #expect(context.records.count == 0)
    }

    @Test func `a class that reads its row in deinit sees the last bound row`() throws {
        struct Name: ObjectValue {
            var text: String
            init(_ leaf: Leaf) { text = leaf.name }
        }
        for name in ["x", "y", "z"] { try other.insert(Leaf.self).name = name }
        try other.save()
        Leaf.gone = []
        #expect(try context.fetchValues(Name.self, sort: ["name"]).map(\.text) == ["x", "y", "z"])
        #expect(Leaf.gone == ["z"] && context.records.count == 0)
    }

    // MARK: Retained objects

    @Test func `a retained object stays bound to its row, with its edits and merges`() throws {
        let stored = try books("a", "b", "c", "d")
        var kept: [Book] = []
        _ = try done { if $0.pages % 2 == 1 { kept.append($0) } }
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
        var books: [Book] = []
        let reader = ObservationTests.Probe {
            _ = try? done { book in
                _ = (book.pages, book.hasChanges)
                books.append(book)
            }
        }
        books.last?.pages = 7
        #expect(reader.hasFired && kept.count == 2)
    }

    @Test func `a class with state beyond its row gets an object per row`() throws {
        struct Read: ObjectValue {
            var title: String
            init(_ diary: Diary) { title = diary.title }
        }
        for day in ["1", "2", "3"] { try other.insert(Diary.self).day = day }
        try other.save()
        let titles = try context.fetchValues(Read.self, sort: ["day"]).map(\.title)
        #expect(titles == ["of 1", "of 2", "of 3"] && context.records.count == 0)
    }

    // MARK: Side effects of making values

    @Test func `an object whose class reads other rows keeps its own row`() throws {
        for name in ["x", "y", "z"] { try other.insert(Root.self).name = name }
        try books("a")
        try other.save()
        Root.look = { _ = try? $0.fetchValues(Title.self) }
        defer { Root.look = { _ in } }
        let kept = try context.fetchValues(Kept<Root>.self, sort: ["name"]).map(\.object)
        #expect(kept.map(\.name) == ["x", "y", "z"] && context.registeredObjects == Set(kept))
        let found = try kept.map { try context.object(with: $0.typedID) }
        #expect(found.elementsEqual(kept) { $0 === $1 })
    }

    @Test func `related objects are kept as long as they are retained`() throws {
        // More shelves than the cache holds, each with two books.
        for place in 0..<100 {
            let shelf = try other.insert(Shelf.self)
            for half in [0, 1] {
                let book = try other.insert(Book.self)
                (book.title, book.pages) = (
                    "\(half) \(1_000 + place * (half * 36 + 1) % 100)", place
                )
                book.shelf = shelf
            }
        }
        try other.save()
        var kept: [Int: Shelf] = [:]
        var known: [Int: WeakShelf] = [:]
        _ = try done { book in
            let shelf = book.shelf
            #expect(shelf === book.shelf && kept[book.pages].map { $0 === shelf } != false)
            known[book.pages] = WeakShelf(shelf: shelf)
            if book.pages % 7 == 0 { kept[book.pages] = shelf }
        }
        #expect(known.count == 100)
        #expect(known.filter { $0.value.shelf != nil }.keys.sorted() == kept.keys.sorted())
        #expect(context.registeredObjects == Set(kept.values) && kept.count == 15)
        let again = try context.fetch(Book.self).filter { $0.pages % 7 == 0 }
        #expect(again.count == 30 && again.allSatisfy { $0.shelf === kept[$0.pages] })
    }

    @Test func `no relationship refers to an object deleted while values are made`() throws {
        try books("a", "b", "c")
        var shelves: [Bool] = []
        _ = try done { book in
            shelves.append(book.shelf != nil)
            if book.pages == 1 { book.shelf.map { book.managedObjectContext?.delete($0) } }
            shelves.append(book.shelf != nil)
        }
        #expect(shelves == [true, true, true, false, false, false])
    }

    @Test func `relationships refer to the object that a value is being made of`() throws {
        try books("a", "b", "c")
        var same = 0
        _ = try done { book in
            let found = book.shelf?.books.first { $0.id == book.id }
            same += found === book && book.shelf === found?.shelf ? 1 : 0
        }
        #expect(same == 3)
    }

    @Test func `making a value may edit objects and undo the edit`() throws {
        let stored = try books("a", "b", "c")
        var changes: [ObjectsChange] = []
        let observation = context.onObjectsDidChange { changes.append($0) }
        let titles = try done { book in
            book.title += "!"
            if book.pages == 1 { book.managedObjectContext?.rollback() }
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
            let all = (try? context.fetchValues(Title.self, sort: ["-title"])) ?? []
            inner.append(all.map(\.text))
            if book.pages == 2 { kept.append(book) }
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
            guard book.pages == 1, let context = book.managedObjectContext else { return }
            (stored[0].title, stored[2].title) = ("x", "y")
            stored[3].managedObjectContext?.delete(stored[3])
            do {
                try context.reach(try #require(try stored[0].managedObjectContext?.save()))
            } catch {
                Issue.record(error)
            }
        }
        defer { Done.work = { _ in } }
        let values = isAsync ? try await context.fetchValues(Done.self, sort: ["title"]) : try now()
        #expect(values.map(\.title) == ["a", "b", "y"])
    }

    @Test func `a model change while values are made moves the object to the new model`() throws {
        try books("a", "b", "c")
        // Adds a new property before the existing ones, so that every slot changes.
        let later = Entity("Book") {
            Attribute("alpha", .string)
            Attribute("title", .string, default: .string(""))
            Attribute("pages", .int, default: .int(0))
            Relationship("shelf", to: "Shelf", inverse: "books")
            Relationship("sequel", to: "Book", inverse: "prequel")
            Relationship("prequel", to: "Book", inverse: "sequel")
        }
        let entities = [later] + Self.types.dropFirst().map { $0.entity }
        let installer = PersistentContainer(author: "installer", transport: daemon.transport)
        var kept: [Book] = []
        let titles = try done { book in
            guard book.pages == 1 else { return }
            kept.append(book)
            do {
                try context.reach(try installer.install(Model(entities: entities)))
            } catch {
                Issue.record(error)
            }
            #expect(book.pages == 1 && book["alpha"] == .null)
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
        #expect(try context.fetchValues(Title.self, sort: ["title"]).map(\.text) == ["a", "b"])
        try context.unpin()
        try context.reach(position)
        let child = context.makeChild(name: "child")
        try child.existingObject(with: stored[1].typedID).title = "child's"
        let titles = try child.fetchValues(Title.self, sort: ["title"]).map(\.text)
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
            try context.insert(Shelf.self).name = "shelf \(random.next(9))"
            return
        case 1: book = try context.insert(Comic.self)
        case 2: book = try context.insert(Book.self)
        default:
            guard let some = try self.book(context) else { return }
            book = some
        }
        switch random.next(6) {
        case 0: context.delete(book)
        case 1: book.sequel = try self.book(context)
        case 2: book.shelf = try context.fetch(Shelf.self).randomElement(using: &random)
        case 3: (book as? Comic)?.colors = random.next(9)
        default: (book.title, book.pages) = ("t\(random.next(20))", random.next(20))
        }
    }

    private mutating func book(_ context: ManagedObjectContext) throws -> Book? {
        try context.fetch(Book.self, sort: ["title"]).filter { !$0.isDeleted }
            .randomElement(using: &random)
    }
}
