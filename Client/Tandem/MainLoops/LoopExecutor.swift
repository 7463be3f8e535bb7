import TandemIO
public import TandemModel

/// A serial executor whose jobs run in a program's own main loop, such as the loop of GLib or Qt.
///
/// The loop waits for ``fileDescriptor`` and calls ``drain()`` when it is readable. Use it through
/// ``LoopActor`` if the loop runs on the program's main thread. For a loop on another thread,
/// create an executor there, and an actor that runs on it:
///
///     actor Plotter {
///         nonisolated let loop: LoopExecutor
///         nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
///         …
///     }
///
/// <doc:MainLoops> has examples for several toolkits. Cost of a job: two short locks, and a system
/// call if the queue was empty.
public final class LoopExecutor: SerialExecutor {
    /// The thread that runs the jobs.
    private enum Owner { case mainThread, thread(Int32) }

    private struct State {
        var jobs: [UnownedJob] = []
        var onWork: (@Sendable () -> Void)?
        var isDraining = false
        /// The event whose descriptor the loop waits for.
        let wake: WakeUp
    }

    private let owner: Owner
    private let state: Locked<State>
    private let wake: WakeUp

    /// The executor of the program's main thread, used by ``LoopActor``.
    public static let main: LoopExecutor = {
        do throws(IOError) {
            return LoopExecutor(.mainThread, try WakeUp())
        } catch {
            fatalError(
                "The main thread's executor needs a file descriptor (\(error)); raise the limit of open files."
            )
        }
    }()

    /// Creates an executor for a loop on the calling thread.
    ///
    /// Throws `limitExceeded` if no file descriptor is left.
    public convenience init() throws(TandemError) {
        do throws(IOError) {
            self.init(.thread(CurrentThread.id), try WakeUp())
        } catch {
            throw TandemError(
                .limitExceeded, "no file descriptor is left for a loop's executor: \(error)")
        }
    }

    private init(_ owner: Owner, _ wake: WakeUp) {
        self.owner = owner
        self.wake = wake
        state = Locked(State(wake: wake))
    }

    // MARK: The loop

    /// A descriptor that is readable while jobs are queued; valid for the lifetime of the executor.
    ///
    /// Wait for it with `poll`, `epoll`, `g_unix_fd_add` or a `QSocketNotifier`, and then call
    /// ``drain()``, which makes it unreadable. Never read from it.
    public var fileDescriptor: Int32 { wake.descriptor }

    /// Sets or removes a handler that is called when a job is added to an empty queue.
    ///
    /// Use it for a loop that can't wait for a descriptor, such as the loop of SDL: post an event
    /// that makes the loop call ``drain()``. The handler is called on any thread, must be quick,
    /// and must not drain. If jobs are queued already, it is called at once.
    ///
    ///     LoopExecutor.main.onWork { SDL_PushEvent(&wakeUpEvent) }
    public func onWork(_ handler: (@Sendable () -> Void)?) {
        let hasWork = state.withLock { state in
            state.onWork = handler
            return !state.jobs.isEmpty
        }
        if hasWork { handler?() }
    }

    /// Runs the queued jobs; call it on the loop's thread when ``fileDescriptor`` is readable.
    ///
    /// Jobs that are added meanwhile wait for the next call, so that the loop handles other events
    /// in between. A nested call, for example from the loop of a modal dialog that a job has
    /// opened, runs no jobs, because an actor's job can't run in the middle of another job. Traps
    /// on any other thread.
    ///
    ///     while poll(&descriptors, 2, -1) > 0 {
    ///         if descriptors[0].revents != 0 { LoopExecutor.main.drain() }
    ///         if descriptors[1].revents != 0 { readKey() }
    ///     }
    public func drain() {
        require(
            isCurrent, "drain() must be called on the thread of the loop.")
        // Cleared before the jobs are removed, so that a job that is added later signals again.
        wake.clear()
        let jobs = state.withLock { state -> [UnownedJob]? in
            guard !state.isDraining else { return nil }
            state.isDraining = true
            defer { state.jobs = [] }
            return state.jobs
        }
        guard let jobs else { return }
        for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
        let hasMore = state.withLock { state in
            state.isDraining = false
            return !state.jobs.isEmpty
        }
        // A nested call may have cleared the signal of the remaining jobs.
        guard hasMore else { return }
        wake.signal()
        state.withLock { $0.onWork }?()
    }

    /// Whether the calling thread is the loop's thread.
    var isCurrent: Bool {
        switch owner {
        case .mainThread: CurrentThread.isMain
        case .thread(let id): CurrentThread.id == id
        }
    }

    // MARK: The executor

    /// Adds a job; called by Swift's runtime on any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // When the lock is released, the loop may run the job, which may release the actor and with
        // it this executor. So no member of the executor is used afterwards.
        let (wake, onWork) = state.withLock { state -> (WakeUp?, (@Sendable () -> Void)?) in
            state.jobs.append(job)
            return state.jobs.count == 1 ? (state.wake, state.onWork) : (nil, nil)
        }
        wake?.signal()
        onWork?()
    }

    /// Returns the reference to return from an actor's `unownedExecutor`.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// Allows callbacks of the loop, outside any task, to enter an actor through `assumeIsolated`.
    public func checkIsolated() {
        require(isCurrent, "The calling thread is not the thread of the loop.")
    }

    /// Returns whether the calling thread is the loop's thread.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }
}
