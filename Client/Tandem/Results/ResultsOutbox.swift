import DequeModule
import TandemModel
import TandemResults

/// The observers of a list, and the notifications that they have not received yet.
///
/// Sequences, signals and the first observer call no application code; they are notified while the
/// list steps. Delegate and closure are notified when the context delivers.
final class ResultsOutbox {
    /// The controller on whose behalf delegates are called.
    weak var controller: FetchedResultsController?
    weak var delegate: (any FetchedResultsControllerDelegate)?
    var onChange: ((ControllerChange) -> Void)?
    /// The observer that receives every change before the delegate does.
    weak var observer: (any ResultsObserver)?
    let feeds = ResultsFeeds()
    private var waiting: Deque<(report: ListReport, change: ControllerChange?)> = []
    private var isDelivering = false
    /// Whether there may be more notifications, because observers acted while they were notified.
    private var needsRedelivery = false

    deinit { feeds.finish() }

    /// Whether delivering has an effect.
    var needsDelivery: Bool { !waiting.isEmpty || observer != nil }

    /// Whether any observer also receives fetches of the whole list.
    var isHeardSilently: Bool {
        !feeds.isEmpty || observer != nil || onChange != nil
            || delegate is any FetchedResultsSnapshotDelegate
    }

    /// Whether any observer may need the list from before the next change.
    var needsOldList: Bool { feeds.needsOldList || observer?.needsOldList ?? false }

    // MARK: Reporting

    /// Publishes a report, and queues it for the delegate.
    ///
    /// `change` is its form for observers of changes; nil if there is no change, or no list yet.
    func publish(_ report: ListReport, _ change: ControllerChange?, visible: SectionedList) {
        if report.isRecovery || report.isFailure { observer?.noteFailure() }
        if let change {
            feeds.publish(change, from: report.old, to: visible)
            if !change.change.isEmpty { observer?.note(change, from: report.old) }
        }
        var report = report
        report.old = nil
        waiting.append((report, change))
    }

    /// Discards notifications about a list that is replaced.
    func discard() { waiting.removeAll() }

    // MARK: Delivering

    /// Notifies delegate and closure, and then the effects of their calls.
    ///
    /// Returns whether all is delivered; false for a call by an observer that is being notified.
    func deliver() -> Bool {
        guard !isDelivering else {
            needsRedelivery = true
            return false
        }
        isDelivering = true
        defer { isDelivering = false }
        repeat {
            needsRedelivery = false
            while let controller, let (report, change) = waiting.popFirst() {
                notify(report, change, controller)
            }
            observer?.deliver()
        } while controller != nil && (!waiting.isEmpty || needsRedelivery)
        return true
    }

    private func notify(
        _ report: ListReport, _ change: ControllerChange?, _ controller: FetchedResultsController
    ) {
        switch report.content {
        case .change:
            if let change { notify(change, report.isSilent, controller) }
        case .unchanged:
            (delegate as? any FetchedResultsSnapshotDelegate)?.controller(
                controller,
                didChangeContentWith: FetchedResultsSnapshot(sections: controller.sections))
        case .failure(let error): delegate?.controller(controller, didFailWith: error)
        }
        if let change { onChange?(change) }
    }

    /// Notifies the delegate in the richest form that it supports, and in no other.
    private func notify(
        _ change: ControllerChange, _ isSilent: Bool, _ controller: FetchedResultsController
    ) {
        if let delegate = delegate as? any FetchedResultsSnapshotDelegate {
            let snapshot = FetchedResultsSnapshot(
                sections: controller.sections, reloaded: change.reloadedIDs,
                isFirstLoad: change.isFirstLoad)
            delegate.controller(controller, didChangeContentWith: snapshot)
        } else if isSilent {
            return
        } else if let delegate = delegate as? any FetchedResultsDifferenceDelegate,
            let difference = change.collectionDifference
        {
            delegate.controller(
                controller, didChangeContentWith: difference, updated: change.updatedIDs)
        } else {
            notifyParts(change, controller)
        }
    }

    private func notifyParts(_ change: ControllerChange, _ controller: FetchedResultsController) {
        guard let delegate else { return }
        delegate.controllerWillChangeContent(controller)
        let objects = change.change.objects
        func send(_ isWanted: (ResultsChange.ObjectChange) -> Bool) {
            for object in objects where isWanted(object) {
                delegate.controller(controller, didChangeObject: object, id: change.id(of: object))
            }
        }
        send { if case .delete = $0 { true } else { false } }
        for section in change.change.sections {
            delegate.controller(controller, didChangeSection: section)
        }
        send { if case .delete = $0 { false } else { true } }
        delegate.controllerDidChangeContent(controller)
        delegate.controller(controller, didChange: change)
    }
}

/// An observer of a controller's list that receives every change before the delegate does.
protocol ResultsObserver: AnyObject {
    /// Whether the list from before the next change must be kept.
    var needsOldList: Bool { get }
    /// Records a change, silent ones included, without notifying its own observers.
    func note(_ change: ControllerChange, from old: SectionedList?)
    /// Records that the list has failed or recovered.
    func noteFailure()
    /// Notifies the observers of the recorded changes.
    func deliver()
}
