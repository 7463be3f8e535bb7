import TandemModel

/// A global actor whose code runs in the program's own main loop, on the main thread.
///
/// Use it in place of the main actor in a program whose main thread runs the loop of GLib, Qt, SDL
/// or ncurses. The main actor's jobs are queued in libdispatch's main queue, which these loops
/// don't serve. The loop serves ``LoopExecutor/main`` instead:
///
///     @LoopActor final class Window {
///         private let context: ManagedObjectContext
///
///         init(_ container: PersistentContainer) {
///             context = container.makeContext(name: "window", mergesAutomatically: true)
///         }
///     }
///
///     let window = LoopActor.assumeIsolated { Window(container) }
///
/// The context merges the saves of other processes in the loop, where its lists also report
/// changes. Blocking operations block the loop; awaited operations do not. <doc:MainLoops> has
/// examples.
@globalActor public actor LoopActor {
    /// The actor.
    public static let shared = LoopActor()

    private init() {}

    /// The executor of the main thread, ``LoopExecutor/main``.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        LoopExecutor.main.asUnownedSerialExecutor()
    }

    /// Runs a function on the actor immediately; intended for callbacks of the loop.
    ///
    ///     g_signal_connect(button, "clicked") {
    ///         LoopActor.assumeIsolated { window.addItem() }
    ///     }
    ///
    /// Traps on any thread but the main thread. Cost: less than a microsecond.
    public static func assumeIsolated<Result: Sendable>(
        _ operation: @LoopActor () throws -> Result
    ) rethrows -> Result {
        require(
            LoopExecutor.main.isCurrent,
            "LoopActor.assumeIsolated must be called on the main thread, where the loop runs.")
        typealias Nonisolated = () throws -> Result
        return try withoutActuallyEscaping(operation) { operation in
            // Both types have the same representation; the isolation was checked above. The main
            // actor's assumeIsolated does the same.
            try unsafeBitCast(operation, to: Nonisolated.self)()
        }
    }
}
