import Tandem
import TandemDaemon
import TandemEmbedded
import Testing

/// A daemon driven by hand through the transport that app authors have.
@MainActor @Suite struct ScriptedTransportTests {
    let daemon: EmbeddedDaemon
    let script: ScriptedTransport
    let context: ManagedObjectContext
    let other: ManagedObjectContext

    init() throws {
        daemon = try EmbeddedDaemon(.inMemory())
        script = ScriptedTransport(daemon.transport)
        func context(_ transport: Transport, _ name: String) -> ManagedObjectContext {
            PersistentContainer(
                entities: [Bucket.self, Content.self], author: name, transport: transport
            ).makeContext(name: name, mergesAutomatically: true)
        }
        self.context = context(script.transport, "scripted")
        other = context(daemon.transport, "other")
    }

    private func insert(_ name: String, _ context: ManagedObjectContext) throws -> Content {
        let content = try context.insert(Content.self)
        content.name = name
        return content
    }

    @Test func `law 3: a save whose answer is lost, or that was cut off, happens once`() throws {
        script.next(.lost, .cut, .answered, .cut, .lost)
        _ = try insert("first", context)
        let first = try context.save()
        #expect(script.saves == 3)
        _ = try insert("second", context)
        #expect(try context.save().number == first.number + 1)
        #expect(script.saves == 6)
        #expect(try other.fetch(Content.self, sort: ["name"]).map(\.name) == ["first", "second"])
    }

    @Test func `a save that is refused stays pending, and may be saved later`() throws {
        let content = try insert("again", context)
        script.next(.refused(TandemError(.readOnly, "the disk is full")))
        let error = #expect(throws: TandemError.self) { try context.save() }
        #expect(error?.code == .readOnly && content.hasChanges)
        #expect(try other.fetch(Content.self).isEmpty)
        try context.save()
        #expect(try other.fetch(Content.self).count == 1 && !content.hasChanges)
    }

    @Test func `held messages are received in order after their release`() async throws {
        let content = try insert("0", other)
        try await other.save()
        let seen = try #require(try await context.fetch(Content.self).first)
        script.hold()
        for number in 1...5 {
            content.name = "\(number)"
            try await other.save()
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(seen.name == "0")
        script.release()
        while seen.name != "5" { await Task.yield() }
        #expect(context.position == other.position)
    }

    @Test func `law 2: a client that was away receives all saves made meanwhile`() async throws {
        let content = try insert("0", other)
        try await other.save()
        let seen = try #require(try await context.fetch(Content.self).first)
        script.refuseConnections()
        content.name = "1"
        try await other.save()
        script.acceptConnections()
        while seen.name != "1" { await Task.yield() }
        script.cut()
        content.name = "2"
        let end = try await other.save()
        try await context.reach(end)
        #expect(seen.name == "2")
    }
}
