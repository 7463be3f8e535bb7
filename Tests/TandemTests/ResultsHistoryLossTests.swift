import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// The reports of lists whose context restarts in the same epoch because history was lost (law 5).
@MainActor @Suite struct ResultsHistoryLossTests {
    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext
    let buckets: [Bucket]
    let contents: [Content]

    /// Inserts contents with sizes 0 … 3, two each in buckets named x and y.
    init() throws {
        fixture = try Fixture()
        writer = fixture.container("writer").makeContext(name: "writer")
        reader = fixture.container("reader").makeContext(name: "reader")
        let writer = writer
        let buckets = try ["x", "y"].map { name in
            let bucket = try writer.insert(Bucket.self)
            bucket.name = name
            return bucket
        }
        contents = try (0..<4).map { number in
            let content = try writer.insert(Content.self)
            (content.name, content.size) = ("\(number)", number)
            content.bucket = buckets[number / 2]
            return content
        }
        self.buckets = buckets
        try reader.reach(try writer.save())
    }

    private func list(
        _ entity: String = "Content", _ format: String? = nil,
        sort: [SortKey<ManagedObject>] = ["size"],
        sections: String? = nil, refreshing: [String] = []
    ) throws -> (FetchedResultsController<ManagedObject>, ChangeRecorder) {
        let predicate = try format.map { try ObjectPredicate(format: $0) }
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: entity, predicate: predicate, sort: sort),
            context: reader, sectionNameKeyPath: sections,
            relationshipKeyPathsForRefreshing: refreshing)
        try list.performFetch()
        let recorder = ChangeRecorder()
        list.delegate = recorder
        return (list, recorder)
    }

    /// Saves the writer's edits, and restarts the reader at that position.
    private func startAnew() throws {
        let end = try writer.save()
        let now = try #require(reader.connection.knownSession)
        try reader.blocking { try await reader.merger.restartAndMerge(in: now, at: end.number, $0) }
        #expect(reader.position == end)
    }

    @Test func `law 5: a row that shows a related value is reported if that value differs`() throws
    {
        let (first, refreshed) = try list(refreshing: ["bucket.name"])
        let (second, sectioned) = try list(sort: ["bucket.name", "size"], sections: "bucket.name")
        let (third, own) = try list()
        defer { withExtendedLifetime((first, second, third)) {} }
        buckets[1].name = "z"
        try startAnew()
        let ids = Set(contents[2...].map(\.id))
        #expect(refreshed.updated == ids && refreshed.changes.count == 1)
        #expect(sectioned.changes.count == 1)
        #expect(sectioned.changes.last?.change.objects.count == 2)
        #expect(own.changes.isEmpty)
        try startAnew()
        #expect(refreshed.changes.count == 1 && sectioned.changes.count == 1)
    }

    @Test func `law 5: a row whose members were read is reported`() throws {
        let (list, recorder) = try list("Bucket", sort: ["name"])
        let first = try #require(list.fetchedObjects.first as? Bucket)
        #expect(first.contents.count == 2)
        contents[3].bucket = buckets[0]
        try startAnew()
        #expect(recorder.updated == [first.id])
        #expect(first.contents.count == 3)
    }

    @Test func `law 5: rows that can't be compared are reported rather than missed`() throws {
        let (list, recorder) = try list(
            "Content", "bucket.name != 'q'", refreshing: ["bucket.name"])
        defer { withExtendedLifetime(list) {} }
        buckets[1].name = "z"
        try startAnew()
        #expect(recorder.updated.isSuperset(of: contents[2...].map(\.id)))
        #expect(recorder.changes.count == 1)
    }
}
