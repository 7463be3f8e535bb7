import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import Tandem

/// Controllers after a stream gap, while they open during many saves, and at the edge of a window.
@MainActor @Suite struct ResultsRecoveryTests {
    private func controller(
        _ context: ManagedObjectContext, _ format: String? = nil, sort: [String] = ["name"],
        limit: Int? = nil, entity: String = "Content"
    ) throws -> (FetchedResultsController<ManagedObject>, ChangeRecorder) {
        var request = FetchRequest(entity: entity, sort: sort.compactMap { SortKey($0) })
        request.predicate = try format.map { try ObjectPredicate(format: $0) }
        request.limit = limit
        let controller = try FetchedResultsController(fetchRequest: request, context: context)
        let recorder = ChangeRecorder()
        controller.delegate = recorder
        try controller.performFetch()
        return (controller, recorder)
    }

    private func names(_ controller: FetchedResultsController<ManagedObject>) -> [String] {
        controller.fetchedObjects.map { $0["name"].json.string ?? "nil" }
    }

    @Test func `after expired history the list is fetched again and the difference is one change`()
        throws
    {
        let daemon = try FakeDaemon(buckets)
        let container = daemon.container()
        let context = container.makeContext(name: "test")
        let all = ["a", "b", "c"].map { daemon.insert("Content", ["name": .string($0)]) }
        let (controller, recorder) = try controller(context)
        #expect(names(controller) == ["a", "b", "c"])
        daemon.state.withLock { $0.expiresHistory = true }
        daemon.cutConnections()
        daemon.update(all[0], ["size": .int(4)])
        daemon.delete(all[1])
        _ = daemon.insert("Content", ["name": .string("d")])
        try context.reach(daemon.end)
        #expect(names(controller) == ["a", "c", "d"])
        #expect(controller.position == daemon.end)
        #expect(recorder.changes.count == 1)
        #expect(recorder.summary == ["delete 0.1", "insert 0.2", "update 0.0-0.0"])
        #expect(recorder.changes.last?.position == daemon.end)
        daemon.update(all[0], ["name": .string("z")])
        try context.reach(daemon.end)
        #expect(names(controller) == ["c", "d", "z"])
        #expect(recorder.changes.count == 2)
    }

    @Test func `in another epoch a row counts as changed although its version is not higher`()
        throws
    {
        let daemon = try FakeDaemon(buckets)
        let container = daemon.container()
        let context = container.makeContext(name: "test")
        let first = daemon.insert("Content", ["name": .string("a")])
        for _ in 0..<5 { daemon.update(first, ["size": .int(Int64(daemon.end.number))]) }
        let (controller, recorder) = try controller(context)
        // A backup was restored: it has fewer transactions and other contents.
        daemon.state.withLock { state in
            state.epoch = 2
            state.end = 1
            state.rows[first.number]?.version = 1
            state.expiresHistory = true
        }
        daemon.cutConnections()
        _ = daemon.insert("Content", ["name": .string("b")])
        _ = try context.fetch(FetchRequest(entity: "Content"))
        #expect(names(controller) == ["a", "b"])
        #expect(recorder.summary == ["insert 0.1", "update 0.0-0.0"])
    }

    @Test func `law 4: a position is reached only when lists after a stream gap are there too`()
        async throws
    {
        let daemon = try FakeDaemon(buckets)
        let container = daemon.container()
        let context = container.makeContext(name: "test", mergesAutomatically: true)
        _ = daemon.insert("Content", ["name": .string("a")])
        let (controller, _) = try open(context)
        daemon.state.withLock { state in
            state.expiresHistory = true
            state.losesNextFetch = true
        }
        daemon.cutConnections()
        _ = daemon.insert("Content", ["name": .string("b")])
        // The context restarts automatically, and waits for the list's rows.
        while context.position != daemon.end { await Task.yield() }
        try reach(context, daemon.end)
        #expect(names(controller) == ["a", "b"] && controller.position == daemon.end)
    }

    private func open(
        _ context: ManagedObjectContext
    ) throws -> (FetchedResultsController<ManagedObject>, ChangeRecorder) {
        try controller(context)
    }

    private func reach(_ context: ManagedObjectContext, _ position: Position) throws {
        try context.reach(position)
    }

    @Test func `the delegate is not notified of a fetch`() throws {
        let daemon = try FakeDaemon(buckets)
        let container = daemon.container()
        _ = daemon.insert("Content", ["name": .string("a")])
        let (controller, recorder) = try controller(container.makeContext(name: "test"))
        controller.fetchRequest.sort = [SortKey("name", ascending: false)]
        try controller.performFetch()
        #expect(names(controller) == ["a"])
        #expect(recorder.changes.isEmpty && recorder.failures.isEmpty)
    }

    @Test func `lists open under a steady stream of saves although another needs verdicts`()
        async throws
    {
        let fixture = try Fixture()
        let writer = fixture.container("writer").makeContext(name: "writer")
        let home = try writer.insert(Bucket.self)
        home.name = "home"
        try await writer.save()
        let reader = fixture.container("reader").makeContext(name: "reader")
        let (first, _) = try controller(
            reader, "ANY contents.size > 100", entity: "Bucket")
        let noise = fixture.container("noise")
        let isDone = Locked(false)
        let bucket = home.id
        let stream = Task.detached(executorPreference: ThreadPerJob()) {
            try await noise.withContext { context in
                var size = 0
                while !isDone.withLock({ $0 }) {
                    let content = try context.insert(Content.self)
                    content.size = size % 7
                    content.setObject(try context.object(with: bucket), for: "bucket")
                    size += 1
                    try await context.save()
                }
            }
        }
        for _ in 1...10 {
            let (other, _) = try controller(reader, "size > 3", sort: ["-size"])
            #expect(other.position == first.position)
            let limited = try controller(
                reader, "bucket.name = 'home'", sort: ["bucket.name"], limit: 3)
            #expect(limited.0.position == first.position)
        }
        isDone.withLock { $0 = true }
        try await stream.value
    }

    @Test func `a window holds some slack, and refills in the merge that uses it up`() throws {
        let fixture = try Fixture()
        let writer = fixture.container("writer").makeContext(name: "writer")
        var all: [Content] = []
        for number in 0..<600 {
            let content = try writer.insert(Content.self)
            content.size = number
            all.append(content)
        }
        try writer.save()
        let reader = fixture.container("reader").makeContext(name: "reader")
        let (controller, recorder) = try controller(reader, sort: ["size"], limit: 5)
        #expect(controller.follower.list.window.map { $0.rows.count < 100 } ?? false)
        func sizes() -> [Int64] {
            controller.fetchedObjects.map { $0["size"].json.int ?? -1 }
        }
        writer.delete(all[0])
        try reader.reach(try writer.save())
        #expect(sizes() == [1, 2, 3, 4, 5])
        #expect(controller.fetches == 1)
        for content in all[1..<300] { writer.delete(content) }
        try reader.reach(try writer.save())
        #expect(sizes() == [300, 301, 302, 303, 304])
        #expect(controller.fetches == 2)
        #expect(recorder.changes.count == 2)
    }

    /// Uses a list without related values, a list whose verdict request is refused, and one whose
    /// request is answered.
    @Test
    func `law 8: a list whose verdicts are refused is fetched, and does not block the others`()
        throws
    {
        let daemon = try FakeDaemon(buckets)
        let context = daemon.container().makeContext(name: "test")
        let all = ["a", "b"].map { daemon.insert("Content", ["name": .string($0)]) }
        let home = daemon.insert("Bucket", ["name": .string("home")])
        let (plain, _) = try controller(context)
        let (judged, _) = try controller(context, "ANY bucket.contents.size >= 0")
        let (refused, recorder) = try controller(
            context, "ANY contents.size >= 0", entity: "Bucket")
        daemon.state.withLock { $0.unjudged = ["Bucket"] }
        daemon.update(all[0], ["name": .string("z"), "bucket": .reference(home)])
        #expect(try context.reach(daemon.end) == daemon.end)
        #expect(names(plain) == ["b", "z"] && judged.position == daemon.end)
        #expect(refused.error == nil && refused.position == daemon.end)
        daemon.state.withLock { $0.unfetched = ["Bucket"] }
        daemon.update(home, ["name": .string("house")])
        daemon.update(all[1], ["name": .string("y"), "bucket": .reference(home)])
        #expect(try context.fetch(FetchRequest(entity: "Content")).count == 2)
        #expect(try context.reach(daemon.end) == daemon.end)
        #expect(names(plain) == ["y", "z"] && judged.position == daemon.end)
        #expect(refused.error?.code == .limitExceeded && plain.error == nil)
        #expect(recorder.failures.map(\.code) == [.limitExceeded])
        daemon.update(all[0], ["bucket": .null])
        #expect(try context.reach(daemon.end) == daemon.end)
        #expect(names(plain) == ["y", "z"] && recorder.failures.count == 1)
        daemon.state.withLock { ($0.unjudged, $0.unfetched) = ([], []) }
        try refused.performFetch()
        #expect(refused.error == nil && names(refused) == ["house"])
    }
}
