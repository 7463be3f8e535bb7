import Synchronization
import TandemIO
import TandemModel

/// The channel through which a connection's thread signals a context, on the context's actor.
///
/// A context without an actor belongs to the code that holds it. No job can be scheduled for it, so
/// postponed work waits for the context's next operation.
final class ContextLink: PushReceiver {
    /// The context's actor; nil if the context was made outside of an actor's isolation.
    let actor: (any Actor)?
    private let isOfMainActor: Bool
    private let isScheduled = Atomic<Bool>(false)
    private let mergedPosition = Atomic<UInt64>(0)
    /// Whether a context without an actor has work that waits for its next operation.
    private let hasWaitingWork = Atomic<Bool>(false)
    // Guard: set once on the actor before the link is attached, and read on the actor only.
    nonisolated(unsafe) weak var context: ManagedObjectContext?

    init(actor: (any Actor)?) {
        self.actor = actor
        isOfMainActor = actor === MainActor.shared
    }

    /// The position up to which the context has merged; 0 before its first read.
    ///
    /// The value may be slightly out of date. It only determines which transactions the connection
    /// may drop.
    var merged: UInt64 {
        get { mergedPosition.load(ordering: .relaxed) }
        set { mergedPosition.store(newValue, ordering: .relaxed) }
    }

    /// Schedules a merge of received transactions; further signals are coalesced until the merge
    /// runs.
    ///
    /// Does nothing for a context without an actor, which never merges automatically.
    func signal() {
        guard let actor else { return }
        if isScheduled.exchange(true, ordering: .acquiringAndReleasing) { return }
        start(.merge, on: actor)
    }

    /// Makes the context report its object changes after the current job.
    func signalChanges() {
        guard let actor else { return hasWaitingWork.store(true, ordering: .relaxed) }
        start(.report, on: actor)
    }

    /// The work that a task of the link does.
    private enum Work {
        /// Merges received transactions.
        case merge
        /// Reports object changes, and requests what lists lack.
        case report
    }

    /// Starts a task for work on the context's actor.
    ///
    /// A task isolated to the main actor begins on its thread. A task that hops to another actor
    /// begins on the concurrent pool, which wakes one more thread.
    private func start(_ work: Work, on actor: any Actor) {
        if isOfMainActor {
            Task { @MainActor in await perform(work, on: MainActor.shared) }
        } else {
            Task { await perform(work, on: actor) }
        }
    }

    private func perform(_ work: Work, on actor: isolated any Actor) async {
        switch work {
        case .merge:
            isScheduled.store(false, ordering: .releasing)
            await context?.follower.followPushes()
        case .report:
            guard let context else { return }
            context.reporter.processScheduled()
            await context.listUpdater.loadLacking()
            await context.listUpdater.fillWindows()
            // Parts don't retain their context, so it has to be retained until the work above is
            // done.
            withExtendedLifetime(context) {}
        }
    }

    /// Runs the work that was postponed to the next operation of a context without an actor.
    func processWaitingWork() {
        guard actor == nil, hasWaitingWork.exchange(false, ordering: .relaxed), let context else {
            return
        }
        context.reporter.processScheduled()
    }

    // MARK: Checks

    /// Traps in a debug build unless the calling code is isolated to the context's actor.
    ///
    /// Cost: none in a release build. For a context without an actor, only the compiler checks the
    /// isolation.
    @inline(__always)
    func checkIsolation() {
        #if DEBUG
        if let actor { Self.check(actor, isMain: isOfMainActor) }
        #endif
    }

    /// Traps if the calling code is not isolated to an actor.
    ///
    /// The runtime's own check of the main actor traps without a message.
    private static func check(_ actor: any Actor, isMain: Bool) {
        if isMain, let isCurrent = CurrentExecutor.isCurrent(MainActor.sharedUnownedExecutor) {
            require(
                isCurrent,
                "A context of the main actor, or one of its objects, is used outside of the actor; pass ids or snapshots to other actors and threads."
            )
        } else {
            actor.preconditionIsolated("a context belongs to the actor that made it")
        }
    }
}
