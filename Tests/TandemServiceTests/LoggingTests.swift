import Logging
import Tandem
import TandemEmbedded
import TandemService
import TestSupport
import Testing

/// Operations and changes of the connection in a swift-log logger.
@Suite(.ownThread) struct LoggingTests {
    @Test func `operations are logged as debug messages with their fields`() async throws {
        let output = LogLines(.debug)
        let container = try PersistentContainer.inMemory(entities: [Item.self])
        container.log(to: output.logger)
        let position = try await container.save("tea")
        let line = try #require(await output.next("save"))
        #expect(line.level == .debug)
        #expect(line.metadata["context"] == "saver" && line.metadata["objects"] == "1")
        #expect(line.metadata["position"] == "\(position.number)")
        #expect(line.metadata["ms"] != nil)
        let count = try await container.withContext { context in
            try await context.fetch(Item.self, where: \.title == "tea").count
        }
        #expect(count == 1)
        let fetch = try #require(await output.next("fetch"))
        #expect(fetch.metadata["where"] == #"title == "tea""# && fetch.metadata["count"] == "1")
    }

    @Test func `a logger that ignores debug messages gets none`() async throws {
        let output = LogLines(.info)
        let container = try PersistentContainer.inMemory(entities: [Item.self])
        container.log(to: output.logger)
        try await container.save("tea")
        await #expect(throws: TandemError.self) { try await container.save("") }
        #expect(await output.all().isEmpty)
    }

    @Test func `operations that TANDEM_DEBUG names are logged at any level`() async throws {
        let output = LogLines(.error)
        let container = try PersistentContainer.inMemory(entities: [Item.self])
        container.log(to: output.logger, always: [.save])
        try await container.save("tea")
        _ = try await container.withContext { try await $0.fetch(Item.self).count }
        #expect(await output.all().map(\.message) == ["save"])
    }

    @Test func `a missing daemon is logged as a warning`() async throws {
        let output = LogLines(.info)
        var limits = ClientLimits()
        limits.absentMilliseconds = 1
        let container = PersistentContainer(
            entities: [Item.self], socket: "/nonexistent/socket", limits: limits)
        container.log(to: output.logger)
        #expect(throws: TandemError.self) { _ = try container.end() }
        let line = try #require(await output.next("connect"))
        #expect(line.level == .warning)
        #expect("\(line.metadata["error"] ?? "")".contains("no daemon listens on /nonexistent"))
    }

    @Test func `a lost connection is logged as a notice`() async throws {
        let output = LogLines(.notice)
        let daemon = try EmbeddedDaemon(.inMemory())
        let container = PersistentContainer(entities: [Item.self], transport: daemon.transport)
        try await container.save("tea")
        container.log(to: output.logger)
        try daemon.stop()
        let line = try #require(await output.next("connection lost"))
        #expect(line.level == .notice && line.metadata["position"] != nil)
    }
}
