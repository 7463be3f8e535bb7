import Tandem
import TandemModel
import TandemQuery
import Testing

/// A blocking fetch answers at the context's position, whatever others save between request and
/// answer.
@MainActor @Suite struct LookUpTests {
    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext
    let theirs: Content

    init() throws {
        fixture = try Fixture()
        writer = fixture.container("writer").makeContext(name: "writer")
        reader = fixture.container("reader").makeContext(name: "reader")
        theirs = try writer.insert(Content.self)
        theirs.name = "first"
        try writer.save()
    }

    private func found(_ name: String) throws -> [Content] {
        try reader.fetch(Content.self, where: \.name == name)
    }

    @Test func `each fetch merges the saves before its answer`() throws {
        let ours = try #require(try found("first").first)
        for size in 1...50 {
            theirs.size = size
            theirs.name = "name \(size)"
            let position = try writer.save()
            #expect(ours.size == size - 1)
            let again = try found("name \(size)")
            // The retained object is merged together with the answer, at the answer's position.
            #expect(again.count == 1 && again.first === ours && ours.size == size)
            #expect(reader.position == position)
            #expect(try found("name \(size - 1)").isEmpty)
        }
    }

    @Test func `edits of the context overlay the fetched objects`() throws {
        let ours = try #require(try found("first").first)
        ours.name = "mine"
        #expect(try found("first").isEmpty)
        #expect(try found("mine").first === ours)
        reader.rollback()
        #expect(try found("first").first === ours)
        #expect(try found("mine").isEmpty)
    }

    @Test func `a pinned context finds the objects of its pin`() throws {
        _ = try found("first")
        try reader.pin()
        theirs.name = "second"
        try writer.save()
        #expect(try found("first").count == 1)
        #expect(try found("second").isEmpty)
        try reader.unpin()
        #expect(try found("second").count == 1)
    }

    @Test func `an invalid request is refused, and the next one is answered`() throws {
        #expect(try found("first").count == 1)
        let unknown = try #require(throws: TandemError.self) {
            try reader.fetch(FetchRequest(entity: "Nothing"))
        }
        #expect(unknown.code == .unknownEntity)
        let negative = try #require(throws: TandemError.self) {
            try reader.fetch(FetchRequest(entity: "Content", limit: -1))
        }
        #expect(negative.code == .usage)
        let property = try #require(throws: TandemError.self) {
            try reader.fetch(Content.self, where: .text("nothing == 1"))
        }
        #expect(property.code == .unknownProperty)
        #expect(try found("first").count == 1)
    }
}
