import TandemModel
import TandemResults

/// The delegate and the closure of a controller, which are notified when the context delivers
/// changes.
final class ResultsNotifier<Object: ManagedObject> {
    weak var delegate: (any FetchedResultsControllerDelegate<Object>)?
    var onChange: ((ControllerChange) -> Void)?

    /// Whether the delegate or the closure is also notified of fetches of the whole list.
    var isNotifiedOfFetches: Bool {
        onChange != nil || delegate is any FetchedResultsSnapshotDelegate<Object>
    }

    /// Notifies the delegate and the closure of a report.
    func notify(
        _ report: ListReport, _ change: ControllerChange?,
        _ controller: FetchedResultsController<Object>
    ) {
        switch report.content {
        case .change:
            if let change { notify(change, report.isFullFetch, controller) }
        case .unchanged:
            (delegate as? any FetchedResultsSnapshotDelegate<Object>)?.controller(
                controller,
                didChangeContentWith: FetchedResultsSnapshot(sections: controller.sections))
        case .failure(let error): delegate?.controller(controller, didFailWith: error)
        }
        if let change { onChange?(change) }
    }

    /// Notifies the delegate in the richest form that it supports, and only in that form.
    private func notify(
        _ change: ControllerChange, _ isFullFetch: Bool,
        _ controller: FetchedResultsController<Object>
    ) {
        if let delegate = delegate as? any FetchedResultsSnapshotDelegate<Object> {
            let snapshot = FetchedResultsSnapshot(
                sections: controller.sections, reloaded: change.reloadedIDs,
                isFirstLoad: change.isFirstLoad)
            delegate.controller(controller, didChangeContentWith: snapshot)
        } else if isFullFetch {
            return
        } else if let delegate = delegate as? any FetchedResultsDifferenceDelegate<Object>,
            let difference = change.collectionDifference
        {
            delegate.controller(
                controller, didChangeContentWith: difference, updated: change.updatedIDs)
        } else {
            notifyParts(change, controller)
        }
    }

    private func notifyParts(
        _ change: ControllerChange, _ controller: FetchedResultsController<Object>
    ) {
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
