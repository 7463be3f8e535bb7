import TandemModel
import TandemResults

/// A notification that observers of a controller have not received yet.
enum ResultsDelivery {
    /// A change; it is silent if it comes from a fetch of the whole list, which only snapshot
    /// delegates receive.
    case change(ControllerChange, isSilent: Bool)
    /// The whole list was fetched, and nothing differs.
    case unchanged
    /// The list failed; the change reports this to observers that only receive changes.
    case failure(TandemError, ControllerChange?)
}

extension FetchedResultsController {
    /// Notifies observers of the outcome of stepping; the effects of their calls are delivered
    /// after they return.
    func deliver() {
        guard !isDelivering else {
            needsRedelivery = true
            return
        }
        isDelivering = true
        defer { isDelivering = false }
        repeat {
            needsRedelivery = false
            tellOutbox()
            observer?.deliver()
        } while !outbox.isEmpty || needsRedelivery
        keepInCache()
    }

    private func tellOutbox() {
        while !outbox.isEmpty {
            switch outbox.removeFirst() {
            case .change(let change, let isSilent):
                tell(change, isSilent)
                onChange?(change)
            case .unchanged:
                (delegate as? any FetchedResultsSnapshotDelegate)?
                    .controller(
                        self, didChangeContentWith: FetchedResultsSnapshot(sections: sections))
            case .failure(let error, let change):
                delegate?.controller(self, didFailWith: error)
                if let change { onChange?(change) }
            }
        }
    }

    /// Notifies the delegate in the richest form that it supports, and in no other.
    private func tell(_ change: ControllerChange, _ isSilent: Bool) {
        if let delegate = delegate as? any FetchedResultsSnapshotDelegate {
            delegate.controller(self, didChangeContentWith: snapshot(change))
        } else if isSilent {
            return
        } else if let delegate = delegate as? any FetchedResultsDifferenceDelegate,
            let difference = change.collectionDifference
        {
            delegate.controller(
                self, didChangeContentWith: difference, updated: change.updatedIDs)
        } else {
            tellParts(change)
        }
    }

    /// Returns the list as ids, with the ids to be reloaded.
    private func snapshot(_ change: ControllerChange) -> FetchedResultsSnapshot {
        FetchedResultsSnapshot(
            sections: sections, reloaded: change.reloadedIDs, isFirstLoad: change.isFirstLoad)
    }

    private func tellParts(_ change: ControllerChange) {
        guard let delegate else { return }
        delegate.controllerWillChangeContent(self)
        let objects = change.change.objects
        func tell(_ isWanted: (ResultsChange.ObjectChange) -> Bool) {
            for object in objects where isWanted(object) {
                delegate.controller(self, didChangeObject: object, id: change.id(of: object))
            }
        }
        tell { if case .delete = $0 { true } else { false } }
        for section in change.change.sections {
            delegate.controller(self, didChangeSection: section)
        }
        tell { if case .delete = $0 { false } else { true } }
        delegate.controllerDidChangeContent(self)
        delegate.controller(self, didChange: change)
    }
}
