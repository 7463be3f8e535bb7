import Tandem
import TandemModel
import Testing

/// The values that a row view shows of a content object.
private struct ContentRow: ObjectValue, Equatable {
    var id: TypedID<Content>
    var name: String
    var bucket: String?

    init(_ content: RowReader<Content>) {
        (id, name, bucket) = (content.typedID, content.name, content.bucket?.name)
    }

    init(id: TypedID<Content>, name: String) { (self.id, self.name) = (id, name) }
}

/// Values made of objects, and typed ids, passed to other contexts.
@MainActor @Suite struct ObjectValueTests {
    let fixture: Fixture
    let container: PersistentContainer
    let context: ManagedObjectContext

    init() throws {
        fixture = try Fixture()
        container = fixture.container()
        context = container.makeContext(name: "values")
    }

    private func content(_ name: String) throws -> Content {
        let content = try context.insert(Content.self)
        content.name = name
        return content
    }

    @Test func `values leave the context, and ids give the objects elsewhere`() async throws {
        let bucket = try context.insert(Bucket.self)
        bucket.name = "in"
        try content("a").bucket = bucket
        let last = try content("b")
        let position = try await context.save()
        let row = ContentRow(RowReader(last))
        let rows = try await container.withContext { context in
            try context.reach(position)
            try context.existingObject(with: row.id).size = 3
            try context.object(with: row.id).name += "!"
            return try context.fetchValues(ContentRow.self, for: FetchRequest(sort: ["name"]))
        }
        #expect(rows.map(\.name) == ["a", "b!"] && rows.map(\.bucket) == ["in", nil])
        #expect(rows[1].id == row.id && row.name == "b")
        let found = try await context.fetchValues(
            ContentRow.self, for: FetchRequest(where: .text("name == 'b'")))
        #expect(found == [row])
    }

    @Test func `a preview can use invented values and ids`() {
        let row = ContentRow(id: TypedID(ObjectID(entity: "Content", number: 7)), name: "shown")
        #expect(row.id.description == "Content/7")
    }

    @Test func `an id of another class, or of a missing object, is refused`() async throws {
        let bucket = try context.insert(Bucket.self)
        try await context.save()
        let wrong = TypedID<Content>(bucket.id)
        let error = #expect(throws: TandemError.self) { _ = try context.object(with: wrong) }
        #expect(error?.code == .usage)
        let nothing = TypedID<Content>(ObjectID(entity: "Content", number: 1_000_000))
        let missing = await #expect(throws: TandemError.self) {
            _ = try await context.existingObject(with: nothing)
        }
        #expect(missing?.code == .unknownObject)
    }
}
