import Tandem
import Testing

@Suite(.ownThread) struct `Blocking callers read their own answers` {
    @Test @MainActor func `each caller gets its own answer while pushes arrive`() async throws {
        let fixture = try Fixture()
        let shared = fixture.container("shared")
        try await shared.follow()
        let context = fixture.container("writer").makeContext(name: "main")
        let content = try context.insert(Content.self)
        let first = try await context.save().number
        async let counts = withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<6 {
                group.addTask {
                    var (last, count) = (UInt64(0), 0)
                    for _ in 0..<300 {
                        // Half of the tasks block their thread, the others are suspended.
                        let position =
                            task % 2 == 0 ? try endBlocking(shared) : try await shared.follow()
                        guard position.number >= last else { return -1 }
                        last = position.number
                        count += 1
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        for size in 1...300 {
            content.size = size
            try await context.save()
        }
        #expect(try await counts == 6 * 300)
        let view = shared.makeContext(name: "view")
        let end = try await view.reach(try #require(context.position))
        #expect(end.number >= first + 300)
        #expect(try await view.fetch(Content.self).map(\.size) == [300])
    }

    @Test @MainActor func `a caller whose daemon goes away receives an error`() throws {
        let fixture = try Fixture()
        var limits = ClientLimits()
        limits.connectMilliseconds = 300
        let container = PersistentContainer(
            entities: fixture.types, author: "left", transport: fixture.transport,
            limits: limits)
        container.makeContext(name: "left").connectPatiently()
        try fixture.stop()
        #expect(throws: TandemError.self) { try container.end() }
    }
}

/// Returns the journal's end in the blocking form, which an async function would not choose.
private func endBlocking(_ container: PersistentContainer) throws -> Position {
    try container.end()
}
