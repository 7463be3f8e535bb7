import TandemModel
import TandemWire

/// Something that steps together with a context when it merges: a results controller, an observer.
///
/// The order of a merge: every participant is asked what it ``needs(_:)``; if any needs verdicts, one request asks for the
/// ``verdictItem`` of all and the group grows to the answer's position; rows are merged; every participant steps;
/// only then every participant delivers. Never two merges at once. A participant that lacks rows (it opens, the stream was
/// interrupted, a window runs out of rows) names a fetch in ``refill(for:_:)``; the group grows to its answer's position as well.
protocol ResultsParticipant: AnyObject {
    /// What this participant would ask the daemon; nil when it always decides everything itself.
    var verdictItem: VerdictItem? { get }
    /// Whether it can't decide this group with what the context holds. Rows are not merged yet.
    func needs(_ group: MergedGroup) -> Bool
    /// Whether it waits for a fetch, so that there is something to do also when nothing is to be merged.
    var isWaiting: Bool { get }
    /// The fetch whose answer it needs before it can step over this group; nil when it needs none.
    func refill(for group: MergedGroup, _ verdicts: [Verdict]?) -> Fetch?
    /// Keeps the answer to its fetch, or notes that it can't succeed, until the merge that reaches it.
    func take(_ result: Result<FetchedList, TandemError>, of fetch: Fetch)
    /// Lets it forget what it shows, so that it is fetched with this merge: nobody can decide what becomes of it.
    func loseThread()
    /// Takes the group into its state; rows are merged. Calls nobody else.
    func step(_ group: MergedGroup, _ verdicts: [Verdict]?)
    /// The objects that it shows around one of its own, at most `count`; none if it does not show that.
    func objects(around object: ObjectReference, _ count: Int) -> [ObjectReference]
    /// Hears that edits of an object came, went or changed, in its context or another one of the family.
    func noteEdit(_ object: ObjectReference)
    /// Hears that objects were loaded which it asked for to place edited ones.
    func noteLoaded()
    /// Lets it keep of its rows what it has to compare, before the context forgets everything it holds.
    func noteLoss()
    /// Whether all it waits for are rows in place of some that edits took out of a window.
    var isShort: Bool { get }
    /// Whether edits of its context came or went since it last took them in.
    var isOverlayStale: Bool { get }
    /// Takes edits of its context into its state that were made since it last did; says whether there is something to deliver.
    func stepOverlay() -> Bool
    /// Hears that the daemon won't have this process any more, as after a migration to a model that it does not know.
    func noteEnd(_ error: TandemError)
    /// Tells its delegates what stepping led to; they may call the context.
    func deliver()
}

extension ResultsParticipant {
    var isWaiting: Bool { false }

    func refill(for group: MergedGroup, _ verdicts: [Verdict]?) -> Fetch? { nil }

    func take(_ result: Result<FetchedList, TandemError>, of fetch: Fetch) {}

    func loseThread() {}

    func objects(around object: ObjectReference, _ count: Int) -> [ObjectReference] { [] }

    func noteEdit(_ object: ObjectReference) {}

    func noteLoaded() {}

    func noteLoss() {}

    func noteEnd(_ error: TandemError) {}

    var isShort: Bool { false }

    var isOverlayStale: Bool { false }

    func stepOverlay() -> Bool { false }
}

/// A participant that the context does not keep alive.
struct WeakParticipant {
    weak var value: (any ResultsParticipant)?
}
