import Observation
import TandemIO
import TandemModel
import Testing

@testable import Tandem

/// Declared lists, which are observable and take their elements from the store or from literal
/// values.
@MainActor @Suite struct QueryTests {
    struct Row: ObjectValue, Equatable {
        var name: String
        var size: Int

        init(name: String, size: Int) { (self.name, self.size) = (name, size) }
        init(_ content: RowReader<Content>) { self.init(name: content.name, size: content.size) }
    }

    @Observable final class Screen {
        @ObservationIgnored @Query(where: \.size > 0, sort: [.descending(\.size)]) var rows:
            FetchedResults<Row>
        @ObservationIgnored @Query(sort: ["size", "name"], sections: \.size, by: \.size)
        var bySize: SectionedFetchResults<Int, Content>
        @ObservationIgnored @Query(where: .text("size >"), sort: ["size"]) var broken:
            FetchedResults<Row>
    }

    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext
    let screen = Screen()

    init() throws {
        fixture = try Fixture()
        writer = fixture.container("writer").makeContext(name: "writer")
        reader = fixture.container("reader").makeContext(name: "reader")
    }

    @discardableResult
    private func save(_ sizes: Int...) throws -> [Content] {
        let contents = try sizes.map { size in
            let content = try writer.insert(Content.self)
            (content.name, content.size) = ("\(size)", size)
            return content
        }
        try reader.reach(try writer.save())
        return contents
    }

    /// Returns a counter of the notifications for the properties that `body` reads.
    private func observe(_ body: () -> Void) -> Locked<Int> {
        let count = Locked(0)
        withObservationTracking(body) { count.withLock { $0 += 1 } }
        return count
    }

    @Test func `a declared list shows nothing, then the store, then literal values`() throws {
        try save(1, 0, 3)
        #expect(screen.rows.isEmpty)
        screen.rows.source = .store(reader)
        #expect(Array(screen.rows) == [Row(name: "3", size: 3), Row(name: "1", size: 1)])
        #expect(screen.rows.position == reader.position)
        screen.rows.source = .values([Row(name: "x", size: 0)])
        #expect(screen.rows.map(\.name) == ["x"])
        #expect(screen.rows.sections.map(\.id) == [""])
        #expect(screen.rows.position == nil)
        try save(9)
        #expect(screen.rows.map(\.name) == ["x"])
        screen.rows.source = .none
        #expect(screen.rows.isEmpty && screen.rows.sections.isEmpty)
    }

    @Test func `sections have identifiers of their own type, offsets and counts`() throws {
        try save(2, 1, 2)
        screen.bySize.source = .store(reader)
        #expect(screen.bySize.sections.map(\.id) == [1, 2])
        #expect(screen.bySize.sections.map(\.offset) == [0, 1])
        #expect(screen.bySize.sections.map { $0.map(\.size) } == [[1], [2, 2]])
        let values = try writer.fetch(Content.self, sort: ["-size"])
        screen.bySize.source = .values(values)
        #expect(screen.bySize.sections.map(\.id) == [2, 1])
    }

    @Test
    func `observers of objects are notified of insertions, deletions and moves, once each time`()
        throws
    {
        let contents = try save(1, 5)
        screen.bySize.source = .store(reader)
        var heard = observe { _ = screen.bySize.count }
        contents[0].name = "0"
        try save()
        #expect(heard.withLock { $0 } == 0)
        contents[0].size = 7
        try save(3)
        #expect(heard.withLock { $0 } == 1)
        #expect(screen.bySize.lastChange?.isFirstLoad == false)
        #expect(screen.bySize.map(\.size) == [3, 5, 7])
        screen.bySize.publishesUpdates = true
        heard = observe { _ = screen.bySize.count }
        contents[0].name = "other"
        try save()
        #expect(heard.withLock { $0 } == 1)
    }

    @Test func `a key path for refreshing publishes updates without further settings`() throws {
        let contents = try save(1, 5)
        let bucket = try writer.insert(Bucket.self)
        contents[1].bucket = bucket
        try save()
        let query = Query<String, Content>(sort: ["size"], refresh: [\.bucket?.name])
        let rows = query.wrappedValue
        rows.source = .store(reader)
        var published: [[ObjectID]] = []
        rows.onChange = { _ in published.append(rows.lastChange?.updatedIDs ?? []) }
        let heard = observe { _ = rows.count }
        bucket.name = "other"
        try save()
        #expect(published == [[contents[1].id]] && heard.withLock { $0 } == 1)
        // A row's own values are not published.
        contents[0].name = "other"
        try save()
        #expect(published.count == 1)
    }

    @Test func `sections by a computed identifier are those of the same literal values`() throws {
        try save(91, 12, 15, 11, 93)
        let decade = { (content: Content) in content.size / 10 }
        let values = try writer.fetch(Content.self, sort: ["-size"])
        for keyPath in ["size", nil] {
            var request = ResultsRequest(sort: ["-size"], sectionNameKeyPath: keyPath)
            let live = SectionedFetchResults<Int, Content>(
                source: .store(reader), request: request, sectionIdentifier: decade)
            let preview = SectionedFetchResults<Int, Content>(
                source: .values(values), request: request, sectionIdentifier: decade)
            for results in [live, preview] {
                #expect(results.sections.map(\.id) == [9, 1])
                #expect(results.sections.map(\.offset) == [0, 2])
                #expect(results.sections.map { $0.map(\.size) } == [[93, 91], [15, 12, 11]])
            }
            request.predicate = try ObjectPredicate(format: "size < 0")
            live.request = request
            #expect(live.sections.isEmpty && live.error == nil)
        }
        let query = Query<Int, Content>(sort: ["size"], by: decade)
        query.wrappedValue.source = .store(reader)
        #expect(query.wrappedValue.sections.map(\.count) == [3, 2])
        let heard = observe { _ = query.wrappedValue.sections.count }
        try writer.fetch(Content.self, sort: ["size"])[2].size = 16
        try save()
        #expect(heard.withLock { $0 } == 1)
    }

    @Test func `an object that was read notifies on its own, without the list`() throws {
        let contents = try save(1, 5)
        screen.bySize.source = .store(reader)
        let row = screen.bySize[0]
        let heard = observe { _ = row.name }
        contents[1].name = "other row"
        try save()
        #expect(heard.withLock { $0 } == 0)
        contents[0].name = "this row"
        try save()
        #expect(heard.withLock { $0 } == 1)
    }

    @Test func `observers of values are notified of updates too`() throws {
        let contents = try save(1, 5)
        screen.rows.source = .store(reader)
        let heard = observe { _ = screen.rows.count }
        contents[0].name = "other"
        try save()
        #expect(heard.withLock { $0 } == 1)
        #expect(screen.rows.map(\.name) == ["5", "other"])
    }

    @Test
    func `condition and order are replaced in one step, and a bad request leaves the list alone`()
        throws
    {
        try save(1, 5, 0)
        screen.rows.source = .store(reader)
        var published = 0
        screen.rows.onChange = { _ in published += 1 }
        screen.rows.request = ResultsRequest(
            predicate: try ObjectPredicate(format: "size < 5"), sort: ["size"],
            sectionNameKeyPath: "size")
        #expect(published == 1)
        #expect(screen.rows.map(\.size) == [0, 1])
        #expect(screen.rows.sections.map(\.id) == ["0", "1"])
        screen.rows.request?.sort = ["nothing"]
        #expect(screen.rows.error?.code == .unknownProperty)
        #expect(screen.rows.map(\.size) == [0, 1])
        screen.rows.request?.sort = ["-size"]
        #expect(screen.rows.error == nil)
        #expect(screen.rows.map(\.size) == [1, 0])
    }

    @Test func `the first list is marked, so that it need not be animated`() async throws {
        var firsts: [Bool] = []
        screen.rows.onChange = { firsts.append($0) }
        try await screen.rows.load(from: .store(reader), screen.rows.request)
        try save(1)
        try save(2)
        #expect(firsts == [true, false, false])
    }

    @Test func `of several concurrent loads the last one counts`() async throws {
        try save(1, 5)
        let (rows, context) = (screen.rows, reader)
        let small = ResultsRequest(
            predicate: try ObjectPredicate(format: "size < 3"), sort: ["size"])
        let large = ResultsRequest(
            predicate: try ObjectPredicate(format: "size > 3"), sort: ["size"])
        let first = Task { @MainActor in try await rows.load(from: .store(context), small) }
        let second = Task { @MainActor in try await rows.load(from: .store(context), large) }
        try await first.value
        try await second.value
        #expect(rows.map(\.size) == [5] && rows.error == nil)
    }

    @Test func `a read within a notification sees newly merged rows, and is notified of them`()
        async throws
    {
        let rowID = try save(1, 5)[1].id
        screen.rows.source = .store(reader)
        var counts: [Int] = []
        screen.rows.onChange = { _ in
            if counts.isEmpty {
                // Loading the object merges all saves up to this point.
                try? reader.refresh(reader.existingObject(with: rowID), mergeChanges: false)
                _ = try? writer.insert(Content.self).size = 7
                _ = try? writer.save()
            }
            counts.append(screen.rows.map(\.size).count)
        }
        try save(9)
        while screen.rows.count != 4 { await Task.yield() }
        #expect(counts.last == 4)
    }

    @Test func `a predicate that can't be parsed is the list's error`() {
        #expect(screen.broken.error?.code == .invalidPredicate)
        #expect(screen.broken.isEmpty)
    }

    @Test func `unsaved edits show only if the request includes them`() throws {
        try save(1)
        screen.rows.source = .store(reader)
        try reader.insert(Content.self).size = 4
        reader.processPendingChanges()
        #expect(screen.rows.map(\.size) == [4, 1])
        screen.rows.request?.includesPendingChanges = false
        #expect(screen.rows.map(\.size) == [1])
    }

    @Test
    func
        `changes merged by a read are published after it, and the read completes on the old list`()
        async throws
    {
        let contents = try save(1, 5, 9)
        screen.rows.source = .store(reader)
        var published = 0
        screen.rows.onChange = { _ in published += 1 }
        // Reading has to load these objects, which merges the saves made since.
        for content in contents {
            reader.refresh(try reader.object(with: content.id), mergeChanges: false)
        }
        try writer.insert(Content.self).size = 7
        try await writer.save()
        #expect(screen.rows.map(\.size) == [9, 5, 1])
        #expect(published == 0)
        while published == 0 { await Task.yield() }
        #expect(screen.rows.map(\.size) == [9, 7, 5, 1])
    }

    @Test func `changes merged by reading properties are published after the read too`()
        async throws
    {
        let contents = try save(1, 5, 5)
        screen.bySize.source = .store(reader)
        var published = 0
        screen.bySize.onChange = { _ in published += 1 }
        let shown = Array(screen.bySize)
        for content in shown { reader.refresh(content, mergeChanges: false) }
        writer.delete(contents[0])
        (contents[1].name, contents[2].name) = ("first", "second")
        try writer.insert(Content.self).size = 3
        try await writer.save()
        // One row is deleted and another inserted while the body reads.
        var read: [[String]] = []
        var heard = observe {
            for section in screen.bySize.sections { read.append(section.map(\.name)) }
        }
        #expect(read.map(\.count) == [1, 2] && read.last == ["first", "second"])
        #expect(published == 0 && heard.withLock { $0 } == 0)
        while published == 0 { await Task.yield() }
        #expect(heard.withLock { $0 } == 1)
        #expect(screen.bySize.map(\.size) == [3, 5, 5])
        // The same holds for an object read before others in the same body.
        heard = observe { _ = shown[1].name }
        reader.refresh(shown[2], mergeChanges: false)
        contents[1].name = "changed"
        try await writer.save()
        let late = observe { _ = (shown[1].name, shown[2].name) }
        #expect(shown[1].name == "changed")
        while late.withLock({ $0 }) == 0 { await Task.yield() }
        #expect(heard.withLock { $0 } == 1)
    }

    @Test func `literal values have sections by name, or report that they can't`() throws {
        var request = ResultsRequest(sort: ["-size"], sectionNameKeyPath: "name")
        let values = [("x", 1), ("x", 2), ("y", 3)].map { Row(name: $0, size: $1) }
        let rows = FetchedResults<Row>(source: .values(values), request: request)
        #expect(rows.error?.code == .usage && rows.isEmpty)
        rows.source = .values(values, sectionName: \.name)
        #expect(rows.error == nil && rows.sections.map(\.id) == ["x", "y"])
        #expect(rows.sections.map { $0.map(\.size) } == [[1, 2], [3]])
        rows.source = .values([])
        #expect(rows.error == nil && rows.sections.isEmpty)
        request.sectionNameKeyPath = nil
        rows.request = request
        #expect(rows.sections.map(\.count) == [0])
        // Section names are read from the objects, even across relationships.
        let bucket = try writer.insert(Bucket.self)
        bucket.name = "home"
        let contents = try save(1, 2)
        contents[0].bucket = bucket
        request.sectionNameKeyPath = "bucket.name"
        let objects = FetchedResults<Content>(source: .values(contents), request: request)
        #expect(objects.sections.map(\.id) == ["home", ""])
    }

    @Test func `a declared list is cached and summed as its request says`() throws {
        let contents = try save(1, 5)
        reader.core.cacheDirectory = fixture.cacheDirectory
        var request = ResultsRequest(sort: ["size"])
        request.sumProperties = ["size"]
        let rows = FetchedResults<Row>(source: .store(reader), request: request)
        #expect(rows.controller?.sum(of: "size") == .int(6))
        #expect(rows.controller?.offset(of: contents[1].id) == 1)
        request.sumProperties = []
        request.cacheName = "declared"
        rows.request = request
        #expect(rows.controller?.fetches == 1)
        rows.request = request
        #expect(rows.controller?.fetches == 0 && rows.map(\.size) == [1, 5])
    }

    final class Other: ManagedObject, ManagedEntity {
        static let entity = Content.entity
    }

    @Test func `objects that can't be elements are the list's error`() throws {
        try save(1, 5)
        let plain = PersistentContainer(author: "plain", transport: fixture.transport)
            .makeContext(name: "plain")
        var objects = try plain.fetch(FetchRequest(entity: "Content"))
        #expect(objects.count == 2)
        let request = ResultsRequest(sort: ["size"])
        let contents = FetchedResults<Content>(source: .store(plain), request: request)
        #expect(contents.error?.code == .usage && contents.isEmpty)
        let rows = FetchedResults<Row>(source: .store(plain), request: request)
        #expect(rows.error?.code == .usage && rows.isEmpty)
        objects = []
        rows.source = .store(plain)
        #expect(rows.error == nil && rows.map(\.size) == [1, 5])
        // An entity has one class, so another class is refused.
        let others = FetchedResults<Other>(source: .store(plain), request: request)
        #expect(others.error?.code == .usage && others.isEmpty)
        #expect(rows.map(\.size) == [1, 5])
    }
}
