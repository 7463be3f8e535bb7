import Tandem
import TandemIO
import Testing

/// A context isolated to a run loop that is not part of Swift's runtime.
@MainActor @Suite struct RunLoopTests {
    let fixture: Fixture
    let loop: HandMadeLoop
    let window: LoopWindow
    let writer: ManagedObjectContext

    init() async throws {
        fixture = try Fixture()
        loop = try HandMadeLoop()
        window = LoopWindow(loop, fixture.container("window"))
        writer = fixture.container("writer").makeContext(name: "writer")
        try await window.open()
    }

    private func save(_ name: String) throws -> Position {
        try writer.insert(Content.self).name = name
        return try writer.save()
    }

    @Test func `merges automatically, only on the loop's thread`() async throws {
        for number in 1...20 { _ = try save("\(number)") }
        while await window.names.count < 20 { await Task.yield() }
        #expect(await window.position == writer.position)
        #expect(await window.changes > 0)
        #expect(await window.isOnLoop)
        loop.stop()
    }

    @Test func `saves blocking and awaited, and its list follows both`() async throws {
        let first = try #require(try await window.addBlocking("a"))
        #expect(await window.names == ["a"])
        let second = try #require(try await window.addAwaiting("b"))
        #expect(second.number == first.number + 1)
        #expect(await window.names == ["a", "b"])
        try await writer.reach(second)
        #expect(try await writer.fetch(Content.self).count == 2)
        #expect(await window.isOnLoop)
        loop.stop()
    }

    @Test func `keeps running while a save is awaited`() async throws {
        let before = loop.turns
        let window = window
        async let saves: Void = {
            for number in 0..<20 { try await window.addAwaiting("\(number)") }
        }()
        while await window.names.count < 20 { await Task.yield() }
        try await saves
        // At least one iteration for the call and one for the answer.
        #expect(loop.turns >= before + 40)
        loop.stop()
    }

    @Test func `a callback outside any task may save blocking`() async throws {
        let failure = Locked<String?>(nil)
        let clicks = Locked(0)
        let window = window
        loop.onClick {
            do {
                try window.assumeIsolated { _ = try $0.addBlocking("clicked") }
            } catch {
                failure.withLock { $0 = "\(error)" }
            }
            clicks.withLock { $0 += 1 }
        }
        loop.click()
        while clicks.withLock({ $0 }) == 0 { await Task.yield() }
        #expect(failure.withLock { $0 } == nil)
        #expect(await window.names == ["clicked"])
        loop.stop()
    }

    @Test func `a delegate may save blocking while a push is merged`() async throws {
        await window.answerNextChange(with: "reply")
        let position = try save("question")
        while await window.names.count < 2 { await Task.yield() }
        #expect(await window.failure == nil)
        #expect(await window.names == ["question", "reply"])
        let end = try #require(await window.position)
        #expect(end.number == position.number + 1)
        #expect(await window.isOnLoop)
        loop.stop()
    }
}
