import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import Tandem

/// Pins while the context moves to another position, and the saves that observers receive then.
@MainActor @Suite struct PinMovingTests {
    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext
    let buckets: [Bucket]
    let contents: [Content]
    let start: Position

    /// Inserts contents with sizes 0 … 3, two each in buckets named x and y, with alternating
    /// names; the reader is pinned after that save.
    init() throws {
        fixture = try Fixture()
        writer = fixture.container("writer").makeContext(name: "writer")
        let writer = writer
        let buckets = try ["x", "y"].map { name in
            let bucket = try writer.insert(Bucket.self)
            bucket.name = name
            return bucket
        }
        contents = try (0..<4).map { number in
            let content = try writer.insert(Content.self)
            (content.name, content.size) = (["0", "2", "1", "3"][number], number)
            content.bucket = buckets[number / 2]
            return content
        }
        self.buckets = buckets
        start = try writer.save()
        var limits = ClientLimits()
        limits.windowSlack = 0
        reader = PersistentContainer(
            entities: fixture.types, author: "reader", transport: fixture.transport, limits: limits
        ).makeContext(name: "reader")
        try reader.reach(start)
        try reader.pin()
    }

    private func request(
        _ format: String? = nil, sort: String = "size", limit: Int? = nil
    ) throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest(entity: "Content", sort: [SortKey(sort)].compactMap { $0 })
        request.predicate = try format.map { try ObjectPredicate(format: $0) }
        request.limit = limit
        return request
    }

    private func list(_ request: FetchRequest<ManagedObject>) throws -> FetchedResultsController<
        ManagedObject
    > {
        let list = try FetchedResultsController(fetchRequest: request, context: reader)
        try list.performFetch()
        return list
    }

    /// Moves the reader, and calls `body` before the first matching answer is used.
    private func move(
        to position: Position, before isWanted: @escaping (ClientMessage) -> Bool,
        _ body: () throws -> Void
    ) throws {
        try reader.interrupting(beforeUsing: isWanted, body) {
            try await reader.follower.reach(position, 10, $0)
        }
        #expect(reader.position == position)
    }

    private func isVerdicts(_ message: ClientMessage) -> Bool {
        if case .verdicts = message { true } else { false }
    }

    private func isFetch(_ message: ClientMessage) -> Bool {
        if case .fetch = message { true } else { false }
    }

    private func ids(_ request: FetchRequest<ManagedObject>) throws -> [ObjectID] {
        try reader.fetch(request).map(\.id)
    }

    // MARK: Reads while the context moves

    @Test func `law 4: verdicts for a request are not used for a later request`() throws {
        let list = try list(request("bucket.name = 'x'"))
        let other = try request("bucket.name = 'y'")
        contents[0].bucket = buckets[1]
        contents[3].bucket = buckets[0]
        let end = try writer.save()
        try move(to: end, before: isVerdicts) {
            list.fetchRequest = other
            try list.performFetch()
            #expect(reader.position == start)
        }
        #expect(try list.fetchedObjectIDs == ids(other))
        #expect(list.numberOfObjects == 2)
    }

    @Test func `law 4: a list that is fetched during the move is evaluated too`() throws {
        let first = try list(request("bucket.name = 'x'"))
        contents[0].bucket = buckets[1]
        let end = try writer.save()
        var second: FetchedResultsController<ManagedObject>?
        try move(to: end, before: isVerdicts) {
            second = try list(request("bucket.name = 'y'"))
        }
        #expect(try first.fetchedObjectIDs == ids(first.fetchRequest))
        #expect(second?.numberOfObjects == 3)
    }

    @Test func `law 4: objects first read during the move are moved too`() throws {
        let window = try list(request(limit: 2))
        for content in contents[..<2] { writer.delete(content) }
        buckets[0].name = "renamed"
        let end = try writer.save()
        var bucket: Bucket?
        try move(to: end, before: isFetch) {
            let object = try reader.existingObject(with: buckets[0].id)
            bucket = object as? Bucket
            #expect(bucket?.name == "x")
        }
        #expect(bucket?.name == "renamed")
        #expect(try window.fetchedObjectIDs == ids(window.fetchRequest))
    }

    @Test func `law 4: an answer to a request is not used for a later request`() throws {
        let list = try FetchedResultsController(fetchRequest: request(), context: reader)
        try reader.interrupting(beforeUsing: isFetch) {
            list.fetchRequest = try request("size > 1")
            try list.performFetch()
        } _: {
            try await list.open($0)
        }
        contents[0].size = 9
        try reader.reach(try writer.save())
        #expect(try list.fetchedObjectIDs == ids(list.fetchRequest))
        #expect(list.numberOfObjects == 3)
    }

    @Test func `law 4: if a fetch fails while the context moves back, the list moves back too`()
        throws
    {
        let good = try request()
        contents[0].size = 9
        try reader.reach(try writer.save())
        let list = try list(good)
        list.fetchRequest = try request(sort: "name")
        list.sectionNameKeyPath = "bucket.name"
        let error = #expect(throws: TandemError.self) {
            try reader.interrupting(beforeUsing: isFetch) {
                try reader.pin(at: start)
            } _: {
                try await list.open($0)
            }
        }
        #expect(error?.code == .outOfOrderSection)
        #expect(try list.fetchedObjectIDs == ids(good))
        #expect(list.fetchedObjectIDs.first == contents[0].id)
    }

    // MARK: Observers

    /// The events that an observer received.
    private final class Heard {
        var saves: [UInt64] = []
        var missed: [SaveGap] = []
        var observer: ContextObserver?

        init(_ context: ManagedObjectContext) throws {
            observer = try context.observe("Content") { [unowned self] change in
                switch change {
                case .saved(let save): saves.append(save.payload.position.number)
                case .missed(let missed): self.missed.append(missed)
                case .failed(let error): Issue.record("\(error)")
                }
            }
        }
    }

    private func startAnew(at position: Position) throws {
        let now = try #require(reader.connection.knownSession)
        try reader.blocking {
            try await reader.merger.restartAndMerge(in: now, at: position.number, $0)
        }
        #expect(reader.position == position)
    }

    @Test func `law 2: an observer receives no save twice after a restart at an earlier position`()
        throws
    {
        try reader.unpin()
        let heard = try Heard(reader)
        contents[0].size = 10
        let one = try writer.save()
        contents[0].size = 11
        let two = try writer.save()
        try reader.reach(two)
        try startAnew(at: start)
        try reader.reach(two)
        #expect(heard.saves == [one.number, two.number] && heard.missed.isEmpty)
    }

    @Test func `law 2: after a restart an observer misses earlier saves and receives later ones`()
        throws
    {
        try reader.unpin()
        let heard = try Heard(reader)
        contents[0].size = 10
        let one = try writer.save()
        contents[0].size = 11
        let two = try writer.save()
        try startAnew(at: one)
        try reader.reach(two)
        #expect(heard.missed == [SaveGap(after: start, through: one)])
        #expect(heard.saves == [two.number])
    }
}
