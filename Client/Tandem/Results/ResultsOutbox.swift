import DequeModule
import TandemModel
import TandemResults

/// The observers of a list, and the notifications that they have not received yet.
///
/// Sequences, signals and the results observer call no application code; they are notified while
/// the list is updated. Delegate and closure are notified when the context delivers changes.
final class ResultsOutbox {
    /// The controller, which notifies delegate and closure.
    weak var owner: (any ResultsOwner)?
    /// The observer that receives every change before the delegate does.
    weak var observer: (any ResultsObserver)?
    let feeds = ResultsFeeds()
    private var waiting: Deque<(report: ListReport, change: ControllerChange?)> = []
    private var isDelivering = false
    /// Whether an observer caused another delivery while it was notified.
    private var needsRedelivery = false

    /// Whether delivering has an effect.
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
    /// `change` is the report's form for observers of changes; nil if there is no change, or no
    /// list yet.
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

    /// Notifies delegate and closure, also of the changes that they cause.
    ///
    /// Returns whether everything is delivered; false if an observer that is being notified calls
    /// this.
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

/// The controller of a list, which notifies delegate and closure.
protocol ResultsOwner: AnyObject {
    /// Whether delegate or closure are also notified of fetches of the whole list.
    var isNotifiedOfFetches: Bool { get }
    /// Notifies delegate and closure of a report; `change` is the report's form for observers of
    /// changes.
    func notify(_ report: ListReport, _ change: ControllerChange?)
}

/// An observer of a controller's list that receives every change before the delegate does.
protocol ResultsObserver: AnyObject {
    /// Whether the list from before the next change must be kept.
    var needsOldList: Bool { get }
    /// Records a change, silent ones included, without notifying its own observers.
    func record(_ change: ControllerChange, from old: SectionedList?)
    /// Records that the list has failed or recovered.
    func recordFailure()
    /// Notifies the observers of the recorded changes.
    func deliver()
}
