import DequeModule
import TandemModel
import TandemResults

/// The observers of a list, and the notifications that they have not received yet.
///
/// Sequences, signals and the results observer call no application code, so they are notified while
/// the list is updated. The delegate and the closure are notified when the context delivers
/// changes.
final class ResultsOutbox {
    /// The controller, which notifies the delegate and the closure.
    weak var owner: (any ResultsOwner)?
    /// The observer that receives every change before the delegate does.
    weak var observer: (any ResultsObserver)?
    let feeds = ResultsFeeds()
    private var waiting: Deque<(report: ListReport, change: ControllerChange?)> = []
    private var isDelivering = false
    /// Whether an observer caused another delivery while it was notified.
    private var needsRedelivery = false

    /// Whether there is anything to deliver.
    var needsDelivery: Bool { !waiting.isEmpty || observer != nil }

    /// Whether any observer also receives fetches of the whole list.
    var hasFetchObserver: Bool {
        !feeds.isEmpty || observer != nil || owner?.isNotifiedOfFetches ?? false
    }

    /// Whether any observer may need the list from before the next change.
    var needsOldList: Bool { feeds.needsOldList || observer?.needsOldList ?? false }

    // MARK: Reporting

    /// Publishes a report, and queues it for the delegate.
    ///
    /// `change` is the report in the form that observers of changes receive; nil if there is no
    /// change, or no list yet.
    func publish(_ report: ListReport, _ change: ControllerChange?, visible: SectionedList) {
        if report.isRecovery || report.isFailure { observer?.recordFailure() }
        if let change {
            feeds.publish(change, from: report.old, to: visible)
            if !change.change.isEmpty { observer?.record(change, from: report.old) }
        }
        var report = report
        report.old = nil
        waiting.append((report, change))
    }

    /// Discards notifications about a list that is replaced.
    func discard() { waiting.removeAll() }

    // MARK: Delivering

    /// Notifies the delegate and the closure, including of changes that they cause themselves.
    ///
    /// Returns whether everything has been delivered; false if the caller is an observer that is
    /// being notified.
    func deliver() -> Bool {
        guard !isDelivering else {
            needsRedelivery = true
            return false
        }
        isDelivering = true
        defer { isDelivering = false }
        repeat {
            needsRedelivery = false
            while let owner, let (report, change) = waiting.popFirst() {
                owner.notify(report, change)
            }
            observer?.deliver()
        } while owner != nil && (!waiting.isEmpty || needsRedelivery)
        return true
    }
}

/// The controller of a list, which notifies the delegate and the closure.
protocol ResultsOwner: AnyObject {
    /// Whether the delegate or the closure is also notified of fetches of the whole list.
    var isNotifiedOfFetches: Bool { get }
    /// Notifies the delegate and the closure of a report; `change` is the report in the form that
    /// observers of changes receive.
    func notify(_ report: ListReport, _ change: ControllerChange?)
}

/// An observer of a controller's list that receives every change before the delegate does.
protocol ResultsObserver: AnyObject {
    /// Whether the list from before the next change must be kept.
    var needsOldList: Bool { get }
    /// Records a change, even a silent one, without notifying the observer's own observers.
    func record(_ change: ControllerChange, from old: SectionedList?)
    /// Records that the list has failed or recovered.
    func recordFailure()
    /// Notifies the observers of the recorded changes.
    func deliver()
}
