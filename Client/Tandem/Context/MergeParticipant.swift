import TandemModel
import TandemWire

/// A results controller or observer, which steps together with its context on every merge.
///
/// A merge has these stages, and no two merges overlap:
///
/// - Every participant is asked whether it ``needs(_:)`` verdicts for the group. If any does, one
///   request asks for the ``verdictItem`` of all, and the group is extended to the answer's
///   position.
/// - Rows are merged.
/// - Every participant steps.
/// - Every participant delivers.
///
/// A participant may lack rows because it is being opened, the stream was interrupted, or a window
/// ran out of rows. It then returns a fetch from ``refill(for:_:)``, and the group is extended to
/// that answer's position as well.
protocol MergeParticipant: AnyObject {
    /// The verdict query of this participant, or nil if it never needs one.
    var verdictItem: VerdictItem? { get }
    /// Returns whether the loaded data does not suffice to evaluate the group; called before rows
    /// are merged.
    func needs(_ group: MergedGroup) -> Bool
    /// Whether the participant waits for a fetch, so that even an empty merge has an effect.
    var isWaiting: Bool { get }
    /// Returns the fetch that the participant needs before it steps over the group, or nil.
    func refill(for group: MergedGroup, _ verdicts: [Verdict]?) -> Fetch?
    /// Receives the result of its fetch, to be used in the merge that reaches its position.
    func receive(_ result: Result<ListAnswer, TandemError>, for fetch: Fetch)
    /// Discards the shown rows, so that they are fetched with this merge, because no verdicts are
    /// available.
    func resetAfterGap()
    /// Applies the group after rows were merged; calls no application code.
    func step(_ group: MergedGroup, _ verdicts: [Verdict]?)
    /// Returns at most `count` shown objects around one of them, or none if it is not shown.
    func objects(around object: ObjectReference, _ count: Int) -> [ObjectReference]
    /// Invalidates an object after edits of it were added, changed or removed in its context
    /// family.
    func noteEdit(_ object: ObjectReference)
    /// Reports that objects needed by the participant to place edited objects have been loaded.
    func noteLoaded()
    /// Stores the values of rows for comparison, before the context discards all loaded data.
    func noteLoss()
    /// Whether the participant waits only for rows that replace those that edits removed from a
    /// window.
    var needsRefill: Bool { get }
    /// Whether edits of its context were added or removed since it last applied them.
    var isOverlayStale: Bool { get }
    /// Applies the latest edits of its context; returns whether there is a change to deliver.
    func stepOverlay() -> Bool
    /// Reports that the daemon refuses this process, for example after a migration to a model that
    /// the process does not know.
    func noteEnd(_ error: TandemError)
    /// Notifies delegates of the result of stepping; they may call the context.
    func deliver()
}

extension MergeParticipant {
    var isWaiting: Bool { false }

    func refill(for group: MergedGroup, _ verdicts: [Verdict]?) -> Fetch? { nil }

    func receive(_ result: Result<ListAnswer, TandemError>, for fetch: Fetch) {}

    func resetAfterGap() {}

    func objects(around object: ObjectReference, _ count: Int) -> [ObjectReference] { [] }

    func noteEdit(_ object: ObjectReference) {}

    func noteLoaded() {}

    func noteLoss() {}

    func noteEnd(_ error: TandemError) {}

    var needsRefill: Bool { false }

    var isOverlayStale: Bool { false }

    func stepOverlay() -> Bool { false }
}

/// A weak reference to a participant.
struct WeakParticipant {
    weak var value: (any MergeParticipant)?
}
