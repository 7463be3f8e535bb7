import TandemIO
import TandemModel
import TandemQuery
import TestWorlds
import Testing

@testable import Tandem

/// Reconnecting, and the events that report it.
@MainActor @Suite struct ConnectingTests {
    @Test func `law 8: pauses double up to their bound, with a jitter that the generator decides`()
    {
        var limits = ClientLimits()
        limits.firstBackoffMilliseconds = 8
        limits.longestBackoffMilliseconds = 100
        var random = SplitMix(Seed.value(0))
        var backoff = Backoff(limits)
        for _ in 0..<50 {
            for bound: UInt64 in [8, 16, 32, 64, 100, 100, 100] {
                let pause = backoff.next(using: &random)
                #expect(pause >= bound / 2 && pause <= bound, "\(pause) of \(bound)")
            }
            backoff.reset()
        }
        var (one, other) = (SplitMix(1), SplitMix(2))
        var (first, second) = (Backoff(limits), Backoff(limits))
        let pauses = (0..<20).map { _ in first.next(using: &one) }
        #expect(pauses != (0..<20).map { _ in second.next(using: &other) })
        var (again, same) = (Backoff(limits), SplitMix(1))
        #expect(pauses == (0..<20).map { _ in again.next(using: &same) })
    }

    @Test func `law 8: pauses of any limits neither vanish nor overflow`() {
        var random = SplitMix(Seed.value(1))
        for (first, longest): (UInt64, UInt64) in [(0, 0), (5, 1), (.max, .max), (1, .max)] {
            var limits = ClientLimits()
            limits.firstBackoffMilliseconds = first
            limits.longestBackoffMilliseconds = longest
            var backoff = Backoff(limits)
            let bound = max(1, first, longest)
            for _ in 0..<200 { #expect(backoff.next(using: &random) <= bound) }
        }
    }

    @Test func `a daemon that accepts and sends nothing is abandoned for the next one`() throws {
        let daemon = try FakeDaemon(buckets)
        daemon.state.withLock { $0.silentWelcomes = 2 }
        _ = daemon.insert("Content", ["size": .int(1)])
        var limits = ClientLimits()
        limits.connectMilliseconds = 20
        let container = PersistentContainer(transport: daemon.transport, limits: limits)
        let context = container.makeContext(name: "test")
        var errors: [TandemError.Code] = []
        var found: [Content]?
        while found == nil, errors.count < 1_000 {
            do { found = try context.fetch(Content.self) } catch {
                errors.append((error as? TandemError)?.code ?? .storage)
            }
        }
        #expect(found?.map(\.size) == [1] && daemon.hellos().count == 3)
        #expect(!errors.isEmpty && Set(errors).isSubset(of: [.timeout, .disconnected]))
    }

    @Test
    func `connection events report that saves are refused, why, and that they are accepted again`()
        async throws
    {
        let daemon = try FakeDaemon(buckets)
        let container = daemon.container()
        var events = container.connectionEvents.makeAsyncIterator()
        let context = container.makeContext(name: "test")
        let content = try context.insert(Content.self)
        daemon.sendState(isReadOnly: true, reason: "the disk is full; make room")
        let refused = await events.next(isolation: #isolation)
        #expect(refused?.state == .readOnly && refused?.position == daemon.end)
        #expect(refused?.reason == "the disk is full; make room")
        daemon.state.withLock { $0.refusesSaves = TandemError(.readOnly, "the disk is full") }
        content.name = "kept"
        let error = #expect(throws: TandemError.self) { try save(context) }
        #expect(error?.code == .readOnly && context.hasChanges && content.name == "kept")
        daemon.state.withLock { $0.refusesSaves = nil }
        daemon.sendState(isReadOnly: false)
        let taken = await events.next(isolation: #isolation)
        #expect(taken?.state == .writable && taken?.reason == "")
        try save(context)
        #expect(daemon.end.number == 1 && !context.hasChanges)
        // Repeating a known state causes no event.
        daemon.sendState(isReadOnly: false)
        daemon.cutConnections()
        #expect(await events.next(isolation: #isolation)?.state == .lost)
    }

    @Test func `a daemon that reconnects as writable is reported, though it sent no state`()
        async throws
    {
        let daemon = try FakeDaemon(buckets)
        let container = daemon.container()
        var events = container.connectionEvents.makeAsyncIterator()
        _ = try await container.makeContext(name: "test").fetch(FetchRequest(entity: "Content"))
        daemon.sendState(isReadOnly: true, reason: "full")
        #expect(await events.next(isolation: #isolation)?.state == .readOnly)
        daemon.cutConnections()
        #expect(await events.next(isolation: #isolation)?.state == .lost)
        let both = [
            await events.next(isolation: #isolation)?.state,
            await events.next(isolation: #isolation)?.state,
        ]
        #expect(both.contains(.writable) && both.contains(.restored))
    }

    private func save(_ context: ManagedObjectContext) throws { try context.save() }
}
