import TandemEmbedded
import TandemModel
import TandemWire
import TestWorlds
import Testing

@testable import Tandem
@testable import TandemDaemon

/// A content object's name; tests can set a closure that is called with the reader.
private struct Name: ObjectValue, Equatable {
    // Guarded by the main actor, on which it is set and called.
    nonisolated(unsafe) static var work: (RowReader<Content>) -> Void = { _ in }
    var text: String

    init(_ content: RowReader<Content>) {
        Self.work(content)
        text = content.name
    }
}

/// Chunked answers whose values are made while later chunks are still to come.
@MainActor @Suite(.serialized) struct ChunkedValuesTests {
    /// Returns a daemon that sends answers in chunks of one row.
    private func daemon() throws -> EmbeddedDaemon {
        var configuration = DaemonConfiguration.inMemory()
        configuration.limits.chunkBytes = 1
        return try EmbeddedDaemon(configuration)
    }

    /// Returns a fake daemon with contents of these names, and a context that holds none of them.
    private func fake(_ names: [String]) throws -> (FakeDaemon, ManagedObjectContext) {
        let fake = try FakeDaemon.sendingParts(of: names)
        return (fake, fake.container().makeContext(name: "values"))
    }

    private func interrupt(
        _ fake: FakeDaemon, after messages: Int, _ event: FakeDaemon.Interruption
    ) {
        fake.state.withLock { $0.interruption = (messages, event) }
    }

    private func names(
        _ context: ManagedObjectContext, _ work: @escaping (RowReader<Content>) -> Void = { _ in }
    ) throws -> [String] {
        Name.work = work
        defer { Name.work = { _ in } }
        return try context.fetchValues(Name.self).map(\.text)
    }

    @Test
    func `law 4: values of chunks equal the objects', whatever is edited, merged or deleted`()
        throws
    {
        let daemon = try daemon()
        func context(_ name: String) -> ManagedObjectContext {
            var limits = ClientLimits()
            limits.cachedRows = 1
            return PersistentContainer(
                entities: RowReaderTests.types, author: name, transport: daemon.transport,
                limits: limits
            ).makeContext(name: name)
        }
        let (context, other) = (context("values"), context("other"))
        for run in 0..<Seed.worlds(2, deep: 3) {
            var library = try Library(context, other, Seed.value(run))
            for step in 0..<24 {
                try library.step()
                let sort: [SortKey<Book>] = [["title"], ["-pages"], []][step % 3]
                let values = try context.fetchValues(BookLine.self, for: FetchRequest(sort: sort))
                let found = try context.fetch(Book.self, sort: sort).map(BookLine.init(of:))
                try #require(values == found, "TANDEM_SEED=\(Seed.value(run)) step \(step)")
            }
        }
    }

    @Test func `making a value may fetch and save meanwhile`() throws {
        let daemon = try daemon()
        let container = PersistentContainer(
            entities: [Bucket.self, Content.self], author: "values", transport: daemon.transport)
        let (context, other) = (
            container.makeContext(name: "values"), container.makeContext(name: "other")
        )
        for number in 0..<40 {
            try other.insert(Content.self).name = "\(number / 10)\(number % 10)"
        }
        try other.save()
        var calls = 0
        let found = try names(context) { content in
            calls += 1
            guard calls == 5 else { return }
            // Another context saves, and a read advances this one: the remaining rows are made at
            // the new position.
            for some in (try? other.fetch(Content.self)) ?? [] where some.name >= "20" {
                some.name += "!"
            }
            _ = try? other.save()
            #expect((try? context.fetchIDs(FetchRequest(entity: "Content")))?.count == 40)
        }
        let expected = (0..<40).map { "\($0 / 10)\($0 % 10)" + ($0 >= 20 ? "!" : "") }
        #expect(found.sorted() == expected && calls == 40)
    }

    @Test func `a chunked answer is requested again if its connection is lost`() throws {
        let (fake, context) = try fake(["a", "b", "c", "d"])
        for messages in 1...4 {
            let before = fake.fetchCount
            interrupt(fake, after: messages, .cut)
            #expect(try names(context).sorted() == ["a", "b", "c", "d"], "after \(messages)")
            #expect(fake.fetchCount == before + 2, "after \(messages)")
        }
        // The same holds for answers that are assembled.
        interrupt(fake, after: 2, .cut)
        #expect(try context.fetch(Content.self).count == 4)
    }

    @Test
    func `a failure in place of the remaining chunks is thrown, and the connection stays usable`()
        throws
    {
        let (fake, context) = try fake(["a", "b", "c"])
        for isWhole in [false, true] {
            interrupt(fake, after: 2, .failure(TandemError(.limitExceeded, "no room")))
            let error = #expect(throws: TandemError.self) {
                if isWhole { _ = try context.fetch(Content.self) } else { _ = try names(context) }
            }
            #expect(error?.code == .limitExceeded)
        }
        #expect(try names(context).count == 3)
        #expect(fake.hellos().count == 2)
    }

    @Test func `law 2: a save between chunks is merged after them`() throws {
        let (fake, context) = try fake(["a", "b", "c"])
        _ = try context.fetchIDs(FetchRequest(entity: "Content"))
        for isWhole in [false, true] {
            interrupt(fake, after: 2, .save)
            let start = fake.end.number
            let found = isWhole ? try context.fetch(Content.self).map(\.name) : try names(context)
            #expect(found.count == 3 && !found.contains("\(start)"))
            #expect(context.merged == start)
            try context.reach(fake.end)
            #expect(try context.fetch(Content.self).contains { $0.name == "\(start)" })
        }
    }

    @Test func `an awaited answer is not requested again because of pushes between its chunks`()
        async throws
    {
        let (fake, _) = try fake(["a", "b", "c", "d"])
        let context = fake.container().makeContext(name: "following", mergesAutomatically: true)
        let request = FetchRequest(entity: "Content")
        _ = try await context.fetchIDs(request)
        var again = 0
        for _ in 0..<40 {
            interrupt(fake, after: 2, .save)
            fake.state.withLock { $0.requests = [] }
            #expect(try await context.fetch(request).count == 4)
            let asked = fake.state.withLock { $0.requests }
            again += asked.count { if case .verdicts = $0 { true } else { false } }
            #expect(fake.fetchCount == 1)
            try await context.reach(fake.end)
        }
        #expect(again == 0 && context.family.mergeDeferral.isIdle)
    }

    @Test
    func `chunks that do not belong to their answer end the connection, and nothing traps`()
        throws
    {
        let (fake, context) = try fake(["a", "b", "c"])
        // A chunk too many: the answer has more rows than announced.
        interrupt(fake, after: 2, .repetition)
        #expect(try names(context).count == 3)
        #expect(fake.hellos().count == 3)
    }
}
