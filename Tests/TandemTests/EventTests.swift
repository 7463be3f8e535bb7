import Observation
import TandemIO
import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// Sequences whose readers are slow or interrupted: nothing is left out silently (law 8).
@MainActor @Suite struct EventTests {
    @Test func `law 8: a slow reader of connection events receives the number of missed events`()
        async
    {
        var limits = ClientLimits()
        limits.bufferedConnectionEvents = 3
        let hub = PayloadHub(limits)
        let feed = hub.events()
        func event(_ number: UInt64) -> ConnectionEvent {
            ConnectionEvent(
                state: .lost,
                position: Position(log: LogID(high: 1, low: 1), epoch: 1, number: number))
        }
        for number in 1...3 { hub.publish(event(UInt64(number))) }
        #expect(await feed.next() == event(1))
        for number in 4...9 { hub.publish(event(UInt64(number))) }
        var seen: [(UInt64, Int)] = []
        for _ in 0..<3 {
            if let event = await feed.next() { seen.append((event.position.number, event.skipped)) }
        }
        #expect(seen.map(\.0) == [7, 8, 9] && seen.map(\.1) == [5, 0, 0])
        hub.finish()
        #expect(await feed.next() == nil)
    }

    @Test func `connection events name what was lost and where it resumes`() async throws {
        let daemon = try FakeDaemon(buckets)
        let container = daemon.container()
        var events = container.connectionEvents.makeAsyncIterator()
        _ = try await container.makeContext(name: "test").fetch(FetchRequest(entity: "Content"))
        daemon.cutConnections()
        #expect(await events.next(isolation: #isolation)?.state == .lost)
        #expect(await events.next(isolation: #isolation)?.state == .restored)
        container.close()
        #expect(await events.next(isolation: #isolation) == nil)
        var late = container.connectionEvents.makeAsyncIterator()
        #expect(await late.next(isolation: #isolation) == nil)
        var lateSaves = container.didSave.makeAsyncIterator()
        #expect(try await lateSaves.next() == nil)
    }

    @Test func `law 2: readers of every save are notified if some were missed`() async throws {
        let daemon = try FakeDaemon(buckets)
        let container = daemon.container()
        let reference = daemon.insert("Content", ["size": .int(1)])
        let context = container.makeContext(name: "test")
        _ = try await context.fetch(FetchRequest(entity: "Content"))
        var all = container.didSave.makeAsyncIterator()
        var merged = context.didSave.makeAsyncIterator()
        daemon.update(reference, ["size": .int(2)])
        try await context.reach(daemon.end)
        let heard = [
            try await all.next()?.position, try await merged.next(isolation: #isolation)?.position,
        ]
        #expect(heard == [daemon.end, daemon.end])
        daemon.state.withLock { $0.expiresHistory = true }
        daemon.cutConnections()
        daemon.update(reference, ["size": .int(3)])
        try await context.reach(daemon.end)
        var ends: [TandemError.Code?] = []
        do { _ = try await all.next() } catch { ends.append((error as? TandemError)?.code) }
        do { _ = try await merged.next(isolation: #isolation) } catch {
            ends.append((error as? TandemError)?.code)
        }
        #expect(ends == [.historyExpired, .historyExpired])
    }

    /// An observer that commits a save of another client and merges it when an object is about to
    /// change for the first time.
    @MainActor private final class Meddler {
        let daemon: FakeDaemon
        let context: ManagedObjectContext
        let reference: ObjectReference
        /// Whether the observer has committed its save; the merge notifies it of the same object
        /// once more.
        private var hasMeddled = false

        init(_ daemon: FakeDaemon, _ context: ManagedObjectContext, _ reference: ObjectReference) {
            (self.daemon, self.context, self.reference) = (daemon, context, reference)
        }

        func observe(_ content: Content) {
            withObservationTracking {
                _ = content.size
            } onChange: { [self] in
                MainActor.assumeIsolated {
                    if hasMeddled { return }
                    hasMeddled = true
                    daemon.update(reference, ["size": .int(9)])
                    _ = try? context.reach(daemon.end)
                }
            }
        }
    }

    @Test func `law 2: a merge inside an object's notification loses no save`() async throws {
        let daemon = try FakeDaemon(buckets)
        let context = daemon.container().makeContext(name: "test")
        let reference = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try await context.fetch(Content.self).first)
        var saves = context.didSave.makeAsyncIterator()
        Meddler(daemon, context, reference).observe(content)
        let start = daemon.end.number
        for size in 2...3 { daemon.update(reference, ["size": .int(Int64(size))]) }
        try await context.reach(daemon.end)
        #expect(content.size == 9 && daemon.end.number == start + 3)
        daemon.update(reference, ["size": .int(10)])
        try await context.reach(daemon.end)
        var heard: [UInt64] = []
        while heard.last != daemon.end.number {
            let save = try await saves.next(isolation: #isolation)
            heard.append(try #require(save?.position.number))
        }
        #expect(heard == Array(start + 1...start + 4))
    }

    @Test
    func `law 2: an observer is notified once of the saves it missed, and continues after them`()
        throws
    {
        let daemon = try FakeDaemon(buckets)
        let container = daemon.container()
        let reference = daemon.insert("Content", ["size": .int(1)])
        let context = container.makeContext(name: "test")
        var heard: [String] = []
        let observer = try context.observe("Content") { observation in
            switch observation {
            case .saved(let save): heard.append("\(save.payload.position.number)")
            case .missed(let missed):
                heard.append("\(missed.after.number)-\(missed.through.number)")
            case .failed(let error): heard.append(error.code.rawValue)
            }
        }
        daemon.update(reference, ["size": .int(2)])
        try context.reach(daemon.end)
        daemon.state.withLock { $0.expiresHistory = true }
        daemon.cutConnections()
        for size in 3...5 { daemon.update(reference, ["size": .int(Int64(size))]) }
        try context.reach(daemon.end)
        daemon.update(reference, ["size": .int(6)])
        try context.reach(daemon.end)
        #expect(heard == ["2", "2-5", "6"])
        observer.cancel()
    }
}
