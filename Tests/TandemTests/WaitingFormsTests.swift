import Tandem
import TandemModel
import Testing

/// Operations of a container that wait exist in a blocking and an async form.
@MainActor @Suite struct WaitingFormsTests {
    let fixture: Fixture
    let container: PersistentContainer

    init() throws {
        fixture = try Fixture([Page.self])
        container = fixture.container()
    }

    final class Page: ManagedObject, ManagedEntity {
        @Managed("text") var text: String

        static let entity = Entity("Page") { Attribute("text", .string, default: .string("")) }
    }

    private var larger: ManagedObjectModel {
        ManagedObjectModel(entities: [
            Entity("Page") {
                Attribute("text", .string, default: .string(""))
                Attribute("number", .int, default: .int(1))
            }
        ])
    }

    /// The results of the blocking forms.
    private struct Blocking {
        let hash: StableHash
        let end: Position
        let next: Position
        let plan: FetchExplanation
        let report: MigrationReport
        let isThere: Bool

        @MainActor init(_ container: PersistentContainer, _ model: ManagedObjectModel) throws {
            hash = try container.compiledModel().hash
            end = try container.end()
            next = try container.wait(for: end, timeout: 1)
            plan = try container.explain(FetchRequest(entity: "Page"))
            report = try container.preview(of: model)
            isThere = try container.disconnect(client: 424_242)
            _ = try JSON(parsing: try container.status())
        }
    }

    @Test func `both forms return the same`() async throws {
        let blocking = try Blocking(container, larger)
        #expect(try await container.compiledModel().hash == blocking.hash)
        #expect(try await container.end() == blocking.end)
        #expect(try await container.wait(for: blocking.end, timeout: 1) == blocking.next)
        let plan = try await container.explain(FetchRequest(entity: "Page"))
        #expect(plan.steps == blocking.plan.steps && plan.position == blocking.plan.position)
        #expect("\(plan)" == "rows\n  Page: scan\n0 rows and 0 keys read, 0 returned")
        #expect(try await container.preview(of: larger) == blocking.report)
        #expect("\(blocking.report)".hasPrefix("Page.number: added, int"))
        #expect(try await container.disconnect(client: 424_242) == blocking.isThere)
        #expect(!blocking.isThere)
        _ = try JSON(parsing: try await container.status())
    }

    @Test func `a plan is explained at an earlier position of the same log`() throws {
        let request = FetchRequest<ManagedObject>(entity: "Page")
        let before = try container.end()
        let writer = fixture.container("writer").makeContext(name: "writer")
        try writer.insert(Page.self).text = "new"
        let after = try writer.save()
        let earlier = try container.explain(request, at: before)
        #expect(earlier.position == before && earlier.returned == 0)
        let last = try container.explain(request)
        #expect(last.position == after && last.returned == 1)
        let foreign = try #require(Position("1@9-00000000-0000-0000-0000-000000000001"))
        let error = #expect(throws: TandemError.self) {
            try container.explain(request, at: foreign)
        }
        #expect(error?.code == .historyExpired)
    }

    @Test func `a wait for a position ends when another client saves it`() async throws {
        let end = try await container.end()
        let writer = fixture.container("writer").makeContext(name: "writer")
        async let reached = container.wait(for: end.at(end.number + 1), timeout: 3_600)
        try writer.insert(Page.self).text = "new"
        let position = try await writer.save()
        #expect(try await reached == position)
        await #expect(throws: TandemError.self) {
            try await container.wait(for: position.at(position.number + 1), timeout: 0)
        }
    }

    @Test func `a model can be installed and migrated to without blocking`() async throws {
        let end = try await container.end()
        let (position, report) = try await container.migrate(to: larger)
        #expect(position.number == end.number + 1 && report != MigrationReport())
        let smaller = ManagedObjectModel(Page.self)
        _ = try await container.migrate(to: smaller)
        #expect(try await container.install(larger).number == end.number + 3)
    }

    @Test func `long contents are read blocking and without blocking`() async throws {
        let context = container.makeContext(name: "test")
        let text = String(repeating: "long ", count: 40_000)
        let page = try context.insert(Page.self)
        page.text = text
        try await context.save()
        let found = try await fixture.container("other").makeContext(name: "other")
            .fetch(Page.self)
        guard case .longText(let reference)? = found.first?.snapshot["text"] else {
            Issue.record("the text is in its row")
            return
        }
        #expect(try await container.text(of: reference) == text)
        #expect(try blockingText(reference) == text)
    }

    private func blockingText(_ reference: TextReference) throws -> String {
        try container.text(of: reference)
    }

    @Test func `the receipt of a save is returned without blocking`() async throws {
        let hash = StableHash([1])
        let context = container.makeContext(name: "test")
        #expect(try await context.tools.receipt(ofSave: [1], contentHash: hash) == nil)
        try context.insert(Page.self).text = "saved"
        try save(context, [1], hash)
        let other = fixture.container("test").makeContext(name: "other")
        let receipt = try await other.tools.receipt(ofSave: [1], contentHash: hash)
        #expect(receipt?.position == context.position)
    }

    private func save(
        _ context: ManagedObjectContext, _ saveID: [UInt8], _ hash: StableHash
    ) throws {
        try context.tools.save(saveID: saveID, contentHash: hash)
    }
}
