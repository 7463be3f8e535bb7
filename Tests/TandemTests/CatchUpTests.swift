import Tandem
import TandemQuery
import TestSupport
import Testing

@testable import Tandem

/// A context that merges ten thousand saves after a pause.
@MainActor @Suite struct CatchUpTests {
    private static let saves = Volume.of(2_000, deep: 10_000)

    /// A paused reader with two lists.
    @MainActor private final class Reader {
        let container: PersistentContainer
        let context: ManagedObjectContext
        let lists: [FetchedResultsController<ManagedObject>]
        let recorders: [ChangeRecorder]
        let steps: Recorder
        /// Whether the test has to sort fetched objects because the daemon is a fake one, which
        /// does not.
        let sorts: Bool

        init(_ transport: Transport, keeping count: Int, sorts: Bool = false) throws {
            self.sorts = sorts
            var limits = ClientLimits()
            limits.recentTransactions = count
            container = PersistentContainer(
                entities: [Bucket.self, Content.self], author: "reader", transport: transport,
                limits: limits)
            context = container.makeContext(name: "view", mergesAutomatically: true)
            var lists: [FetchedResultsController<ManagedObject>] = []
            for sort in ["name", "size"] {
                let request = FetchRequest(
                    entity: "Content",
                    sort: [SortKey(sort, ascending: true), SortKey("name")])
                lists.append(
                    try FetchedResultsController(fetchRequest: request, context: context))
            }
            self.lists = lists
            recorders = lists.map { _ in ChangeRecorder() }
            steps = Recorder("steps", Recorder.Journal())
            for (list, recorder) in zip(lists, recorders) {
                try list.performFetch()
                list.delegate = recorder
            }
            context.participants.add(list: steps)
            context.pause()
        }

        var held: Int { container.connection.state.withLock { $0.ring.count } }

        /// Returns the ids that the lists show, and the ids that new lists would show.
        func shown() throws -> (held: [[ObjectID]], fresh: [[ObjectID]]) {
            let fresh = try lists.map { list in
                let found = try context.fetch(list.fetchRequest)
                return (sorts ? found.sorted { isBefore($0, $1, list) } : found).map(\.id)
            }
            return (lists.map(\.fetchedObjectIDs), fresh)
        }

        private func isBefore(
            _ a: ManagedObject, _ b: ManagedObject, _ list: FetchedResultsController<ManagedObject>
        ) -> Bool {
            guard let (a, b) = (a, b) as? (Content, Content) else { return false }
            let size = list === lists[1] ? (a.size, b.size) : (0, 0)
            return (size.0, a.name, a.id.number) < (size.1, b.name, b.id.number)
        }
    }

    /// Checks that all changes arrived as one step, and that the lists are correct.
    private func check(_ reader: Reader, isRestart: Bool = false) throws {
        let steps = reader.steps.groups
        // A restart is followed by the fetches of the lists; nothing is merged.
        #expect(steps.first?.isRestart == isRestart)
        #expect(isRestart ? steps.allSatisfy(\.changes.isEmpty) : steps.count == 1)
        for recorder in reader.recorders {
            #expect(recorder.changes.count == 1 && recorder.failures.isEmpty)
        }
        let (held, fresh) = try reader.shown()
        #expect(held == fresh && held.allSatisfy { !$0.isEmpty })
    }

    /// Inserts, changes and deletes objects, one per save.
    private func save(_ context: ManagedObjectContext, _ initial: [Content]) throws {
        var contents = initial
        for number in 0..<Self.saves {
            switch number % 10 {
            case 0:
                let content = try context.insert(Content.self)
                content.name = "\(number)"
                contents.append(content)
            case 1 where contents.count > 20:
                context.delete(contents.removeFirst())
            default:
                contents[number * 7 % contents.count].size = number
            }
            try context.save()
        }
    }

    @Test func `thousands of saves are merged as one change, inside and outside the ring`()
        throws
    {
        let fixture = try Fixture()
        let writer = fixture.container("writer").makeContext(name: "writer")
        let contents = try (0..<50).map { number in
            let content = try writer.insert(Content.self)
            content.name = "first \(number)"
            return content
        }
        try writer.save()
        let near = try Reader(fixture.transport, keeping: 2 * Self.saves)
        let far = try Reader(fixture.transport, keeping: 256)
        let before = near.context.position
        try save(writer, contents)
        let end = try #require(writer.position)
        // Both containers receive all transactions, but neither context merges them.
        for reader in [near, far] {
            _ = try reader.container.wait(for: end, timeout: 60)
            #expect(reader.context.position == before && reader.steps.groups.isEmpty)
        }
        #expect(near.held == Self.saves && far.held <= 256)
        for reader in [near, far] {
            #expect(try reader.context.resume() == end)
            try check(reader)
        }
        #expect(try near.shown().held == far.shown().held)
    }

    @Test func `transactions that every context has merged are not kept`() throws {
        let fixture = try Fixture()
        let writer = fixture.container("writer").makeContext(name: "writer")
        let reader = try Reader(fixture.transport, keeping: 1_000)
        func save() throws -> Position {
            try writer.insert(Content.self).name = "a"
            return try writer.save()
        }
        var end = try save()
        for _ in 1..<20 { end = try save() }
        _ = try reader.container.wait(for: end, timeout: 60)
        #expect(reader.held == 20)
        try reader.context.resume()
        end = try save()
        _ = try reader.container.wait(for: end, timeout: 60)
        #expect(reader.held == 1)
        // A context that has no position yet may need any of these transactions.
        let other = reader.container.makeContext(name: "other")
        for _ in 0..<5 { end = try save() }
        try reader.context.reach(end)
        #expect(reader.held == 6)
        _ = try other.connect()
        end = try save()
        try reader.context.reach(end)
        #expect(reader.held <= 2)
    }

    @Test func `saves older than the journal's history are one change too, after a restart`() throws
    {
        let daemon = try FakeDaemon(buckets)
        let all = (0..<50).map { daemon.insert("Content", ["name": .string("\($0)")]) }
        let reader = try Reader(daemon.transport, keeping: 256, sorts: true)
        for number in 0..<Self.saves {
            daemon.update(all[number % 40], ["size": .int(Int64(number))])
        }
        for gone in all[45...] { daemon.delete(gone) }
        _ = try reader.container.wait(for: daemon.end, timeout: 60)
        #expect(reader.held <= 256 && reader.steps.groups.isEmpty)
        daemon.state.withLock { $0.expiresHistory = true }
        #expect(try reader.context.resume() == daemon.end)
        try check(reader, isRestart: true)
        #expect(reader.lists[0].numberOfObjects == 45)
        #expect(reader.steps.groups.first?.missed?.through == daemon.end)
    }
}
