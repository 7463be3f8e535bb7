import FoundationEssentials
import Tandem
import Testing

final class Page: ManagedObject, ManagedEntity {
    @Managed("title") var title: String
    @Managed("scan") var scan: Data

    static let entity = Entity("Page") {
        Attribute("title", .string, default: .string(""))
        Attribute("scan", .data)
    }
}

@MainActor @Suite struct `Values that are too long for a row` {
    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext
    let scan = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

    init() throws {
        fixture = try Fixture([Page.self])
        writer = fixture.container("writer").makeContext(name: "main")
        reader = fixture.container("reader").makeContext(name: "main")
    }

    @Test func `are fetched when they are read`() throws {
        let page = try writer.insert(Page.self)
        page.title = "a"
        page.scan = scan
        #expect(page.scan == scan)
        try reader.reach(try writer.save())
        #expect(page.scan == scan && !page.hasChanges)
        let seen = try #require(try reader.fetch(Page.self).first)
        #expect(seen.title == "a" && seen.scan == scan)
        seen.scan = scan
        #expect(!seen.hasChanges)
    }

    @Test func `leave the actor by reference`() async throws {
        try writer.insert(Page.self).scan = scan
        let container = fixture.container("reader")
        let context = container.makeContext(name: "other")
        try await context.reach(try await writer.save())
        let page = try #require(try await context.fetch(Page.self).first)
        guard case .blob(let blob) = page.snapshot["scan"] else {
            Issue.record("the snapshot holds \(page.snapshot["scan"])")
            return
        }
        #expect(Data(try await container.content(of: blob)) == scan)
    }

    @Test func `come back with an undo, and read as null with a reason once they are deleted`()
        throws
    {
        let page = try writer.insert(Page.self)
        page.scan = scan
        try writer.save()
        page.scan = Data([1])
        writer.rollback()
        #expect(page.scan == scan)
        let seen = try #require(try reader.fetch(Page.self).first)
        writer.delete(page)
        try writer.save()
        // The reader has not merged the deletion, and the journal still contains the content.
        #expect(seen.scan == scan)
    }
}
