import ServiceLifecycle
import ServiceLifecycleTestKit
import Tandem
import TandemEmbedded
import TandemService
import TestSupport
import Testing

/// A consumer that a group of services runs.
@Suite(.ownThread) struct ConsumerServiceTests {
    private struct Refusal: Error {}

    private let daemon: EmbeddedDaemon
    private let container: PersistentContainer

    init() throws {
        daemon = try EmbeddedDaemon(.inMemory())
        container = PersistentContainer(entities: [Item.self], transport: daemon.transport)
    }

    /// Runs a service until it has processed the change with the last of the titles; returns the
    /// titles.
    private func titles(through last: String) async throws -> [String] {
        let (titles, continuation) = AsyncStream<String>.makeStream()
        let service = ConsumerService("mailer", of: Item.self, in: container) { change in
            continuation.yield(change.after?[\.title] ?? "")
        }
        return try await testGracefulShutdown { shutdown in
            async let run: Void = service.run()
            var read: [String] = []
            for await title in titles {
                read.append(title)
                if title == last { break }
            }
            shutdown.triggerGracefulShutdown()
            try await run
            return read
        }
    }

    @Test func `a service processes and acknowledges changes until its group shuts down`()
        async throws
    {
        let first = try await container.consumer(named: "mailer").acknowledged
        for title in ["tea", "cake"] { try await container.save(title) }
        #expect(try await titles(through: "cake") == ["tea", "cake"])
        let acknowledged = try await container.consumer(named: "mailer").acknowledged
        #expect(acknowledged > first)
        try await container.save("letter")
        #expect(try await titles(through: "letter") == ["letter"])
    }

    @Test func `a save is delivered again as a whole`() async throws {
        _ = try await container.consumer(named: "mailer")
        try await container.save("tea")
        try await container.withContext { context in
            for title in ["cake", "letter"] { try context.insert(Item.self).title = title }
            try await context.save()
        }
        let failing = ConsumerService("mailer", of: Item.self, in: container) { change in
            if change.after?[\.title] == "letter" { throw Refusal() }
        }
        await #expect(throws: Refusal.self) { try await failing.run() }
        #expect(try await Set(titles(through: "letter")) == ["cake", "letter"])
    }

    @Test func `only changes of the given properties are delivered`() async throws {
        _ = try await container.consumer(named: "mailer")
        try await container.save("tea")
        try await container.withContext { context in
            let item = try #require(try await context.fetch(Item.self).first)
            item.isDone = true
            try await context.save()
            item.title = "cake"
            try await context.save()
        }
        let (kinds, continuation) = AsyncStream<[String]>.makeStream()
        let service = ConsumerService(
            "mailer", of: Item.self, in: container, properties: [\.title]
        ) { continuation.yield($0.changed.sorted()) }
        try await testGracefulShutdown { shutdown in
            async let run: Void = service.run()
            var read: [[String]] = []
            for await changed in kinds {
                read.append(changed)
                if read.count == 2 { break }
            }
            shutdown.triggerGracefulShutdown()
            try await run
            #expect(read.last == ["title"])
        }
    }

    @Test func `a change whose processing fails is delivered again`() async throws {
        _ = try await container.consumer(named: "mailer")
        try await container.save("tea")
        let failing = ConsumerService("mailer", of: Item.self, in: container) { _ in
            throw Refusal()
        }
        await #expect(throws: Refusal.self) { try await failing.run() }
        #expect(try await titles(through: "tea") == ["tea"])
    }

    @Test func `a second process is refused`() async throws {
        _ = try await container.consumer(named: "mailer")
        let other = PersistentContainer(entities: [Item.self], transport: daemon.transport)
        let second = ConsumerService("mailer", of: Item.self, in: other) { _ in }
        let error = await #expect(throws: TandemError.self) { try await second.run() }
        #expect(error?.code == .consumerInUse)
    }
}
