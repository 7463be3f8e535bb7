import TandemModel
import TandemResults

/// Something that observers of a controller have to be told.
enum ResultsDelivery {
    /// A silent one is of a fetch of the whole list, of which classic delegates hear nothing.
    case change(ControllerChange, isSilent: Bool)
    /// A fetch of the whole list gave what was there.
    case unchanged
    /// The list failed; the change says so to those who hear of changes alone.
    case failure(TandemError, ControllerChange?)
}

extension FetchedResultsController {
    /// Tells observers what stepping led to; whatever they cause is told after they return.
    func deliver() {
        guard !isDelivering else {
            isAskedAgain = true
            return
        }
        isDelivering = true
        defer { isDelivering = false }
        repeat {
            isAskedAgain = false
            tellOutbox()
            follower?.deliver()
        } while !outbox.isEmpty || isAskedAgain
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

    /// Tells the delegate in the richest form that it takes, and in no other.
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

    /// The list as ids, with those that a change lets be read anew.
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
