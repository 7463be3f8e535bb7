import Tandem
import TandemResults
import Testing

/// The sequences of a controller's changes: their buffering policies, and refetches.
@MainActor @Suite struct ResultsStreamTests {
    let daemon: FakeDaemon
    let container: PersistentContainer
    let context: ManagedObjectContext
    let controller: FetchedResultsController<ManagedObject>

    init() throws {
        daemon = try FakeDaemon(buckets)
        container = daemon.container()
        context = container.makeContext(name: "test")
        for name in ["a", "b"] { _ = daemon.insert("Content", ["name": .string(name)]) }
        let request = FetchRequest(entity: "Content", sort: [SortKey("name")])
        controller = try FetchedResultsController(fetchRequest: request, context: context)
        try controller.performFetch()
    }

    private var shown: [SectionIDs] {
        controller.sections.map { section in
            SectionIDs(name: section.name, numbers: section.objectIDs.map(\.number))
        }
    }

    private func save(_ name: String) throws {
        _ = daemon.insert("Content", ["name": .string(name)])
        try context.reach(daemon.end)
    }

    @Test func `a reader of the latest gets one change for all it missed`() async throws {
        let old = shown
        var reader = controller.changes(.latest).makeAsyncIterator()
        for name in ["c", "_", "d"] { try save(name) }
        let next = try await reader.next()
        let change = try #require(next)
        #expect(change.position == daemon.end)
        #expect(try change.change.apply(to: old) == shown)
        #expect(change.change.objects.count == 3)
    }

    @Test func `a reader that lags too far receives an error`() async throws {
        var reader = controller.changes(.every(limit: 2)).makeAsyncIterator()
        for name in ["c", "d", "e"] { try save(name) }
        for _ in 0..<2 {
            let change = try await reader.next()
            #expect(change != nil)
        }
        do {
            let more = try await reader.next()
            Issue.record("the stream continues with \(String(describing: more))")
        } catch let error as TandemError {
            #expect(error.code == .limitExceeded)
        }
    }

    @Test func `law 5: a refetch is a change like others for readers that replay`() async throws {
        let old = shown
        var reader = controller.changes().makeAsyncIterator()
        controller.fetchRequest.sort = [SortKey("name", ascending: false)]
        try await controller.performFetch()
        let next = try await reader.next()
        let change = try #require(next)
        #expect(try change.change.apply(to: old) == shown)
    }
}
