import TandemIO
import TandemModel
import TandemQuery
import Testing

@testable import Tandem

@MainActor @Suite struct ReconnectTests {
    let daemon: FakeDaemon
    let container: PersistentContainer
    let context: ManagedObjectContext

    init() throws {
        daemon = try FakeDaemon(buckets)
        container = daemon.container()
        context = container.makeContext(name: "test")
    }

    @Test func `law 2: a gap in the stream is detected, and the stream resumes before it`()
        async throws
    {
        let reference = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try await context.fetch(Content.self).first)
        var events = container.connectionEvents.makeAsyncIterator()
        daemon.state.withLock { $0.losesNextPush = true }
        daemon.update(reference, ["size": .int(2)])
        daemon.update(reference, ["name": .string("after")])
        _ = try await context.reach(daemon.end)
        #expect(content.size == 2 && content.name == "after")
        let hellos = daemon.hellos()
        #expect(hellos.count == 2)
        #expect(hellos.last?.resume?.number == 1)
        #expect(hellos.last?.interests == ["Content"])
        let states = [
            await events.next(isolation: #isolation)?.state,
            await events.next(isolation: #isolation)?.state,
        ]
        #expect(states == [.lost, .restored])
    }

    @Test func `law 2: a lost connection resumes at its position`() throws {
        let reference = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        daemon.cutConnections()
        daemon.update(reference, ["size": .int(9)])
        try context.reach(daemon.end)
        #expect(content.size == 9)
    }

    @Test func `law 3: a save whose answer is lost is repeated under its id and applied once`()
        throws
    {
        let content = try context.insert(Content.self)
        content.name = "once"
        daemon.state.withLock { $0.cutsBeforeSaved = true }
        try context.save()
        #expect(daemon.end.number == 1)
        #expect(content.name == "once" && !context.hasChanges)
        let saves = daemon.state.withLock { state in
            state.requests.count { if case .save = $0 { true } else { false } }
        }
        #expect(saves == 2)
    }

    @Test func `expired history makes a context reload everything and keep its edits`() throws {
        let reference = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        content.name = "mine"
        daemon.state.withLock { $0.expiresHistory = true }
        daemon.cutConnections()
        daemon.update(reference, ["size": .int(4)])
        try context.reach(daemon.end)
        // A later save still conflicts with changes by others from here on.
        #expect(content.isFault && content.record.version == context.merged)
        #expect(content.size == 4 && content.name == "mine")
    }

    @Test func `law 4: a save in flight while history expires leaves no stale state`() throws {
        let reference = daemon.insert("Content", ["size": .int(1)])
        let gone = daemon.insert("Content", ["size": .int(2)])
        let all = try context.fetch(Content.self)
        let content = try #require(all.first { $0.id.number == reference.number })
        content.name = "mine"
        context.delete(try #require(all.first { $0.id.number == gone.number }))
        daemon.state.withLock { state in
            state.expiresHistory = true
            state.cutsBeforeSaved = true
        }
        try context.save()
        #expect(content.name == "mine" && !context.hasChanges)
        let leftovers = context.graph.filter(\.hasEdits)
        #expect(leftovers.isEmpty)
        daemon.update(reference, ["name": .string("theirs")])
        try context.reach(daemon.end)
        #expect(content.name == "theirs")
    }

    @Test func `a position of an epoch that the context does not know yet is reached`() throws {
        let reference = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        let old = daemon.end
        daemon.state.withLock { state in
            state.epoch = 2
            state.expiresHistory = true
        }
        daemon.cutConnections()
        daemon.update(reference, ["size": .int(4)])
        #expect(try context.reach(daemon.end) == daemon.end)
        #expect(content.size == 4)
        let error = #expect(throws: TandemError.self) { try context.reach(old) }
        #expect(error?.code == .historyExpired)
    }

    @Test func `a context that has fallen behind the ring requests history`() throws {
        var limits = ClientLimits()
        limits.recentTransactions = 2
        let container = PersistentContainer(transport: daemon.transport, limits: limits)
        let context = container.makeContext(name: "slow")
        let reference = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        for size in 2...9 { daemon.update(reference, ["size": .int(Int64(size))]) }
        try context.reach(daemon.end)
        #expect(content.size == 9)
        let asked = daemon.state.withLock { state in
            state.requests.contains { if case .history = $0 { true } else { false } }
        }
        #expect(asked)
    }

    @Test
    func `law 4: a context that has fallen behind the ring catches up under a stream of saves`()
        throws
    {
        var limits = ClientLimits()
        limits.recentTransactions = 1
        limits.historyBatch = 2
        let container = PersistentContainer(transport: daemon.transport, limits: limits)
        let context = container.makeContext(name: "slow")
        let reference = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try context.fetch(Content.self).first)
        for size in 2...9 { daemon.update(reference, ["size": .int(Int64(size))]) }
        let goal = daemon.end
        // The ring advances between each request and its answer.
        daemon.state.withLock { $0.savesBeforeHistory = 1_000 }
        try context.reach(goal)
        #expect(content.size >= 9)
        #expect(daemon.state.withLock { $0.savesBeforeHistory } > 900)
    }

    @Test func `a missing daemon is reported as disconnected, with a hint`() throws {
        var limits = ClientLimits()
        limits.connectMilliseconds = 50
        let container = PersistentContainer(socket: "/nowhere/tandem.sock", limits: limits)
        let context = container.makeContext(name: "test")
        let error = #expect(throws: TandemError.self) { try context.insert("Content") }
        #expect(error?.code == .disconnected)
        #expect(error?.message.contains("start it with `tandemd --store DIR") == true)
    }

    @Test func `a merging context follows automatically, a paused one when it resumes`()
        async throws
    {
        let follower = container.makeContext(name: "view", mergesAutomatically: true)
        let reference = daemon.insert("Content", ["size": .int(1)])
        let content = try #require(try await follower.fetch(Content.self).first)
        daemon.update(reference, ["size": .int(2)])
        while content.size != 2 { await Task.yield() }
        follower.pause()
        let before = follower.position
        daemon.update(reference, ["size": .int(3)])
        daemon.update(reference, ["size": .int(4)])
        try await context.reach(daemon.end)
        for _ in 0..<100 { await Task.yield() }
        #expect(follower.position == before)
        #expect(try await follower.resume() == daemon.end)
        #expect(content.size == 4)
    }

    @Test func `payloads contain the changes and their author`() async throws {
        let reference = daemon.insert("Content", ["size": .int(1)])
        try await container.follow(["Content"])
        var saves = container.saves(of: "Content", by: "other").makeAsyncIterator()
        daemon.update(reference, ["size": .int(2)])
        let payload = try #require(try await saves.next())
        #expect(payload.author == "other" && payload.position == daemon.end)
        #expect(payload.updated.map(\.changed) == [["size"]])
    }

    @Test func `background work has a context of its own`() async throws {
        let position = try await container.withContext { context in
            let content = try context.insert(Content.self)
            content.name = "made elsewhere"
            return try await context.save()
        }
        #expect(position == daemon.end)
    }
}
