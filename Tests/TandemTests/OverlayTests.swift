import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// Fetches of a context with unsaved edits.
///
/// The edits move the edited objects and the objects whose order depends on them.
@MainActor @Suite struct OverlayTests {
    let fixture: Fixture
    let contents: [ObjectID]

    /// Inserts contents c0 … c3 in buckets named z, y, x and in none, so that their order by bucket
    /// is 3, 2, 1, 0.
    init() throws {
        fixture = try Fixture()
        let writer = fixture.container("writer").makeContext(name: "writer")
        var contents: [ObjectID] = []
        for (number, name) in ["z", "y", "x", nil].enumerated() {
            let content = try writer.insert(Content.self)
            content.name = "c\(number)"
            content.size = number
            if let name {
                content.bucket = try writer.insert(Bucket.self)
                content.bucket?.name = name
            }
            contents.append(content.id)
        }
        try writer.save()
        self.contents = contents
    }

    private func fetch(
        _ context: ManagedObjectContext, _ format: String? = nil, sort: String = "bucket.name",
        offset: Int = 0, limit: Int? = nil
    ) throws -> [String] {
        var request = FetchRequest(entity: "Content", sort: [SortKey(sort)].compactMap { $0 })
        request.predicate = try format.map { try ObjectPredicate(format: $0) }
        request.offset = offset
        request.limit = limit
        return try context.fetch(request).map { $0["name"].json.string ?? "nil" }
    }

    private func context() -> ManagedObjectContext {
        fixture.container("reader").makeContext(name: "reader")
    }

    @Test func `law 4: an edit elsewhere leaves rows in the order of their related objects`() throws
    {
        let context = context()
        #expect(try fetch(context) == ["c3", "c2", "c1", "c0"])
        let edited = try #require(
            try context.existingObject(with: contents[1]) as? Content)
        edited.size = 9
        #expect(try fetch(context) == ["c3", "c2", "c1", "c0"])
        #expect(try fetch(context, sort: "-bucket.name") == ["c0", "c1", "c2", "c3"])
    }

    @Test func `an object that is ordered by an edited object moves with it`() throws {
        let context = context()
        #expect(try fetch(context) == ["c3", "c2", "c1", "c0"])
        let first = try #require(try context.existingObject(with: contents[0]) as? Content)
        first.bucket?.name = "a"
        #expect(try fetch(context) == ["c3", "c0", "c2", "c1"])
        // A limit, and a predicate over related objects, are evaluated on the stored values.
        #expect(try fetch(context, limit: 2) == ["c3", "c2"])
        #expect(try fetch(context, "bucket.name = 'z'") == ["c0"])
        context.rollback()
        #expect(try fetch(context) == ["c3", "c2", "c1", "c0"])
    }

    @Test func `an edited object is placed by its edits, including related objects`()
        throws
    {
        let context = context()
        let edited = try #require(try context.existingObject(with: contents[3]) as? Content)
        let other = try #require(try context.existingObject(with: contents[0]) as? Content)
        edited.setObject(other.object("bucket"), for: "bucket")
        #expect(try fetch(context, sort: "-bucket.name") == ["c0", "c3", "c1", "c2"])
        #expect(try fetch(context, "bucket.name = 'z'") == ["c0", "c3"])
    }

    @Test func `limit and offset apply to the result with all edits`() throws {
        let context = context()
        let edited = try #require(try context.existingObject(with: contents[3]) as? Content)
        edited.size = -1
        context.delete(try context.existingObject(with: contents[1]))
        #expect(try fetch(context, sort: "size") == ["c3", "c0", "c2"])
        #expect(try fetch(context, sort: "size", offset: 1, limit: 1) == ["c0"])
        #expect(try fetch(context, sort: "size", offset: 1, limit: 2) == ["c0", "c2"])
        #expect(try fetch(context, sort: "size", offset: 2) == ["c2"])
        #expect(try fetch(context, "size >= 0", sort: "-size", limit: 1) == ["c2"])
    }
}
