import TandemModel
import TandemWire

/// A list or an observer that steps with its context on every merge.
///
/// A merge has these stages, and no two merges overlap:
///
/// - Every list reports whether it ``ListParticipant/needs(_:)`` verdicts for the group. If any
///   does, one request with the ``ListParticipant/verdictItem`` of each is sent, and the group is
///   extended to the answer's position.
/// - Rows are merged.
/// - Every participant steps.
/// - Every participant delivers.
///
/// A list may lack rows because it is being opened, the stream was interrupted, or a window ran out
/// of rows. It then returns a fetch from ``ListParticipant/refill(for:_:)``, and the group is
/// extended to that answer's position as well.
protocol MergeParticipant: AnyObject {
    /// Applies the group after rows were merged; calls no application code.
    func step(_ group: MergedGroup, _ verdicts: [Verdict]?)
    /// Notifies delegates of the result of stepping; they may call the context.
    func deliver()
}

/// A participant that shows rows and unsaved edits, and may need data from the daemon to follow a
/// merge.
protocol ListParticipant: MergeParticipant {
    /// The verdict query of this list, or nil if it never needs one.
    var verdictItem: VerdictItem? { get }
    /// Returns whether the loaded data is insufficient to evaluate the group; called before rows
    /// are merged.
    func needs(_ group: MergedGroup) -> Bool
    /// Whether the list waits for a fetch, so that even an empty merge has an effect.
    var isWaiting: Bool { get }
    /// Whether the list waits only for rows that replace rows removed from its window by edits.
    var needsRefill: Bool { get }
    /// Returns the fetch that the list needs before it steps over the group, or nil.
    func refill(for group: MergedGroup, _ verdicts: [Verdict]?) -> Fetch?
    /// Receives the result of the list's fetch, to be used in the merge that reaches the result's
    /// position.
    func receive(_ result: Result<ListAnswer, TandemError>, for fetch: Fetch)
    /// Discards the shown rows because no verdicts are available; they are fetched again during
    /// this merge.
    func resetAfterGap()
    /// Returns at most `count` shown objects around `object`, or none if it is not shown.
    func objects(around object: ObjectReference, _ count: Int) -> [ObjectReference]
    /// Invalidates an object after edits to it were added, changed or removed in its context
    /// family, or after it was loaded because a list needs it.
    func invalidate(_ object: ObjectReference)
    /// Stores the values of rows for comparison, before the context discards all loaded data.
    func willDiscardData()
    /// Whether objects were invalidated since the list last applied the edits of its context.
    var isOverlayStale: Bool { get }
    /// Applies the latest edits in the list's context; returns whether there is a change to
    /// deliver.
    func stepOverlay() -> Bool
    /// Notifies the list that the daemon refuses this process, for example after a migration to a
    /// model that the process does not know.
    func didEndConnection(_ error: TandemError)
}
