import Synchronization

/// How a connection reaches a context: from its thread to the context's actor, never further.
final class ContextLink: Sendable {
    let actor: any Actor
    private let isScheduled = Atomic<Bool>(false)
    private let standing = Atomic<UInt64>(0)
    // Guard: set once on the actor before the link is attached, and read on the actor only.
    nonisolated(unsafe) weak var context: ManagedObjectContext?

    init(actor: any Actor) { self.actor = actor }

    /// The position up to which the context has merged; 0 before it stands anywhere.
    ///
    /// Only a hint of what need not be kept for it: it may be a moment old.
    var merged: UInt64 {
        get { standing.load(ordering: .relaxed) }
        set { standing.store(newValue, ordering: .relaxed) }
    }

    /// Lets the context follow what has come in, soon; signals until then count as one.
    func signal() {
        if isScheduled.exchange(true, ordering: .acquiringAndReleasing) { return }
        Task { await run(on: actor) }
    }

    /// Lets the context tell what became of its objects, once the job that changes them is over.
    func signalChanges() { Task { await process(on: actor) } }

    private func process(on actor: isolated any Actor) async {
        context?.processScheduled()
        await context?.loadLacking()
        await context?.fillWindows()
    }

    private func run(on actor: isolated any Actor) async {
        isScheduled.store(false, ordering: .releasing)
        await context?.followPushes()
    }
}
