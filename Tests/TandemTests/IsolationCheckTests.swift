import Tandem
import TandemEmbedded
import TandemIO
import TestSupport
import Testing

/// The check, in debug builds, that a context and its objects are used on their actor.
@MainActor @Suite struct IsolationCheckTests {
    /// A use of a context or an object on the wrong thread that the compiler can't detect.
    enum Use: String, CaseIterable, Codable, Sendable {
        case read, write, insert, hasChanges, fetch, state

        func callAsFunction(_ context: ManagedObjectContext, _ content: Content) throws {
            switch self {
            case .read: _ = content.size
            case .write: content.size = 7
            case .insert: _ = try context.insert(Content.self) as Content
            case .hasChanges: _ = context.hasChanges
            case .fetch: _ = try context.fetch(Content.self) as [Content]
            case .state: _ = content.isDeleted
            }
        }
    }

    /// Makes a context of the main actor, and an object in it.
    private static func make() throws -> (ManagedObjectContext, Content) {
        let container = try PersistentContainer.inMemory(entities: [Bucket.self, Content.self])
        let context = container.makeContext(name: "test")
        let content = try context.insert(Content.self)
        try context.save()
        return (context, content)
    }

    /// Uses a context of the main actor outside any task, as a callback of C code would.
    private static func useInCallback(_ use: Use) throws {
        let (context, content) = try make()
        let callback: () throws -> Void = { try use(context, content) }
        try callback()
    }

    @Test(arguments: Use.allCases)
    func `a callback on the main thread may use the main actor's context`(use: Use) async throws {
        try Self.useInCallback(use)
    }

    // Release builds check nothing.
    #if DEBUG
    /// Uses a context of the main actor on another thread, as a careless callback would.
    private static func useElsewhere(_ use: Use) throws {
        // Guard: none. That is the mistake whose detection is tested.
        nonisolated(unsafe) let (context, content) = try make()
        let thread = try KernelThread.start(name: "elsewhere") { try? use(context, content) }
        thread.join()
    }

    /// Edits an object of the main actor in a detached task.
    private static func smuggle() async throws {
        // Guard: none. That is the mistake whose detection is tested.
        nonisolated(unsafe) let (context, content) = try make()
        let pool = try OneThread()
        await Task.detached(executorPreference: pool) { content.size = 7 }.value
        withExtendedLifetime(context) {}
    }

    @Test(arguments: Use.allCases)
    func `a use on another thread traps with a message`(use: Use) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        { [use = use as Use] in
            try await MainActor.run { try IsolationCheckTests.useElsewhere(use) }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("is used outside of the actor"), "\(message)")
    }

    @Test func `a smuggled object traps in a detached task`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            try await IsolationCheckTests.smuggle()
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("is used outside of the actor"), "\(message)")
    }
    #endif
}
