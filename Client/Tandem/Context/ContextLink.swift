import Synchronization

/// The path from a connection's thread to a context: through the context's actor only.
final class ContextLink: PushReceiver {
    let actor: any Actor
    private let isScheduled = Atomic<Bool>(false)
    private let standing = Atomic<UInt64>(0)
    // Guard: set once on the actor before the link is attached, and read on the actor only.
    nonisolated(unsafe) weak var context: ManagedObjectContext?

    init(actor: any Actor) { self.actor = actor }

    /// The position up to which the context has merged; 0 before its first read.
    ///
    /// The value may be slightly out of date. It only determines which transactions the connection
    /// may drop.
    var merged: UInt64 {
        get { standing.load(ordering: .relaxed) }
        set { standing.store(newValue, ordering: .relaxed) }
    }

    /// Schedules a merge of received transactions; further signals before it runs are coalesced.
    func signal() {
        if isScheduled.exchange(true, ordering: .acquiringAndReleasing) { return }
        Task { await run(on: actor) }
    }

    /// Makes the context report its object changes after the current job.
    func signalChanges() { Task { await process(on: actor) } }

    private func process(on actor: isolated any Actor) async {
        guard let context else { return }
        context.reporter.processScheduled()
        await context.listUpdater.loadLacking()
        await context.listUpdater.fillWindows()
        // Parts don't retain their context, which the work above may have been the last to use.
        withExtendedLifetime(context) {}
    }

    private func run(on actor: isolated any Actor) async {
        isScheduled.store(false, ordering: .releasing)
        await context?.follower.followPushes()
    }
}
