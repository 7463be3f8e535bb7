import TandemEmbedded
import TandemIO
import TestSupport
import Testing

@testable import Tandem

/// Opening a container, which fails at once if it can't connect.
@MainActor @Suite struct OpeningTests {
    private static let types: [any ManagedEntity.Type] = [Bucket.self, Content.self]

    /// Limits under which a repeated attempt would take an hour.
    private static var patient: ClientLimits {
        var limits = ClientLimits()
        limits.connectMilliseconds = 3_600_000
        limits.absentMilliseconds = 3_600_000
        limits.firstBackoffMilliseconds = 3_600_000
        limits.longestBackoffMilliseconds = 3_600_000
        return limits
    }

    /// Opens a container in both forms, and returns the error of each.
    private func errors(
        _ open: @MainActor () throws -> PersistentContainer,
        _ openAsync: @MainActor () async throws -> PersistentContainer
    ) async -> [TandemError?] {
        let first = #expect(throws: TandemError.self) { try open() }
        let second = await #expect(throws: TandemError.self) { try await openAsync() }
        return [first, second]
    }

    @Test
    func `without a daemon opening fails after one attempt, and the error names the remedies`()
        async throws
    {
        let path = "/nowhere/at/all"
        let found = await errors {
            try PersistentContainer.open(
                entities: Self.types, socket: path, limits: Self.patient)
        } _: {
            try await PersistentContainer.open(
                entities: Self.types, socket: path, limits: Self.patient)
        }
        for error in found {
            #expect(error?.code == .disconnected)
            let message = error?.message ?? ""
            for part in [path, "ENOENT", "tandemd --store", "`socket:`", "TANDEM_SOCKET"] {
                #expect(message.contains(part), "\(message)")
            }
        }
    }

    @Test(arguments: [TandemError.Code.denied, .disconnected])
    func `a refused socket is tried once`(code: TandemError.Code) async throws {
        let attempts = Locked(0)
        let transport = Transport.connected {
            attempts.withLock { $0 += 1 }
            throw TandemError(code, "no entry")
        }
        let found = await errors {
            try PersistentContainer.open(transport: transport, limits: Self.patient)
        } _: {
            try await PersistentContainer.open(transport: transport, limits: Self.patient)
        }
        #expect(found.map { $0?.code } == [code, code])
        #expect(found.allSatisfy { $0?.message.contains("no entry") == true })
        #expect(attempts.withLock { $0 } == 2)
    }

    @Test func `a daemon that disconnects during the handshake is not tried again`() async throws {
        let transport = Transport.connected { try Socket.pair().0 }
        let found = await errors {
            try PersistentContainer.open(transport: transport, limits: Self.patient)
        } _: {
            try await PersistentContainer.open(transport: transport, limits: Self.patient)
        }
        #expect(found.map { $0?.code } == [.disconnected, .disconnected])
    }

    @Test func `errors of the model are thrown`() async throws {
        let fixture = try Fixture()
        let context = fixture.container().makeContext(name: "test")
        try context.insert(Content.self).name = "text"
        try await context.save()
        let other = ManagedObjectModel(entities: [
            Entity("Content") { Attribute("name", .int, default: .int(0)) }
        ])
        let invalid = ManagedObjectModel(entities: [
            Entity("A") { Relationship("b", to: "B", inverse: "a") }
        ])
        for (model, code) in [(other, TandemError.Code.schemaMismatch), (invalid, .usage)] {
            let found = await errors {
                try PersistentContainer.open(model: model, transport: fixture.transport)
            } _: {
                try await PersistentContainer.open(model: model, transport: fixture.transport)
            }
            #expect(found.map { $0?.code } == [code, code])
        }
    }

    @Test func `an opened container has the model and numbers for new objects`() async throws {
        let fixture = try Fixture()
        let script = ScriptedTransport(fixture.transport)
        let container = try await PersistentContainer.open(
            entities: Self.types, author: "opener", transport: script.transport)
        #expect(container.author == "opener")
        #expect(try await container.compiledModel().entity(named: "Content") != nil)
        #expect(script.readRequests == 0)
        let context = container.makeContext(name: "test")
        try await context.connect()
        let asked = script.readRequests
        for number in 0..<20 { try context.insert(Content.self).size = number }
        #expect(script.readRequests == asked)
        try await context.save()
    }

    @Test func `a lazily opened container retries at once when it is used again`() async throws {
        let fixture = try Fixture()
        let attempts = Locked(0)
        let transport = Transport.connected {
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            if attempt == 1 { throw TandemError(.disconnected, "not yet") }
            return try fixture.transport.connect()
        }
        let container = PersistentContainer(
            entities: Self.types, transport: transport, limits: Self.patient)
        async let first = container.compiledModel()
        while attempts.withLock({ $0 }) == 0 { await Task.yield() }
        let second = try await container.compiledModel()
        #expect(try await first === second)
        #expect(attempts.withLock { $0 } == 2)
    }

    @Test func `a lazily opened container gives each caller its own deadline`() {
        var limits = ClientLimits()
        limits.connectMilliseconds = 5_000
        limits.absentMilliseconds = 1_000
        let absence = Absence(since: 10_000_000_000, limits)
        let second: UInt64 = 1_000_000_000
        // Callers at 9, 10, 12 seconds, each with a deadline 5 seconds later.
        #expect(absence.end(ofWaitUntil: 14 * second) == 11 * second)
        #expect(absence.end(ofWaitUntil: 15 * second) == 11 * second)
        #expect(absence.end(ofWaitUntil: 17 * second) == 13 * second)
        // A deadline that ends earlier is kept.
        #expect(absence.end(ofWaitUntil: 10 * second) == 10 * second)
    }

    @Test func `a lazily opened container waits for an absent daemon for at most a second`() {
        #expect(ClientLimits().absentMilliseconds <= 1_000)
    }

    // MARK: Inside the process

    @Test func `an embedded store keeps saved objects`() async throws {
        let scratch = try Scratch(inMemory: true)
        let store = scratch.path + "/store"
        let daemon = try EmbeddedDaemon(store: store)
        let first = PersistentContainer(entities: Self.types, transport: daemon.transport)
        let context = first.makeContext(name: "first")
        try context.insert(Content.self).name = "kept"
        try await context.save()
        first.close()
        try daemon.stop()
        let second = try await PersistentContainer.embedded(entities: Self.types, at: store)
        let found = try await second.makeContext(name: "second").fetch(Content.self)
        #expect(found.map(\.name) == ["kept"])
    }

    @Test func `a store that is in use is refused with its path`() async throws {
        let scratch = try Scratch(inMemory: true)
        let store = scratch.path + "/store"
        let container = try openEmbedded(store, socket: scratch.path + "/socket")
        let other = try await PersistentContainer.open(
            entities: Self.types, socket: scratch.path + "/socket")
        try await other.makeContext(name: "other").save()
        let found = await errors {
            try PersistentContainer.embedded(entities: Self.types, at: store)
        } _: {
            try await PersistentContainer.embedded(at: store)
        }
        #expect(found.map { $0?.code } == [.limitExceeded, .limitExceeded])
        #expect(found.allSatisfy { $0?.message.contains(store) == true })
        withExtendedLifetime(container) {}
    }

    private func openEmbedded(_ store: String, socket: String) throws -> PersistentContainer {
        try PersistentContainer.embedded(entities: Self.types, at: store, socket: socket)
    }
}
