import TandemModel
import TandemWire

/// Something that steps together with a context when it merges: a results controller, an observer.
///
/// The order of a merge: every participant is asked what it ``needs(_:)``; if any needs verdicts, one request asks for the
/// ``verdictItem`` of all and the group grows to the answer's position; rows are merged; every participant steps;
/// only then every participant delivers. Never two merges at once.
protocol ResultsParticipant: AnyObject {
    /// What this participant would ask the daemon; nil when it always decides everything itself.
    var verdictItem: VerdictItem? { get }
    /// Whether it can't decide this group with what the context holds. Rows are not merged yet.
    func needs(_ group: MergedGroup) -> Bool
    /// Takes the group into its state; rows are merged. Calls nobody else.
    func step(_ group: MergedGroup, _ verdicts: [Verdict]?)
    /// Tells its delegates what stepping led to; they may call the context.
    func deliver()
}

/// A participant that the context does not keep alive.
struct WeakParticipant {
    weak var value: (any ResultsParticipant)?
}
