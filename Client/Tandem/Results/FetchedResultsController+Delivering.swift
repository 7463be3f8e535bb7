import TandemModel
import TandemResults

/// Something that observers of a controller have to be told.
enum ResultsDelivery {
    /// A silent one is of a fetch of the whole list, of which classic delegates hear nothing.
    case change(ControllerChange, isSilent: Bool)
    /// A fetch of the whole list gave what was there.
    case unchanged
    case failure(TandemError)
}

extension FetchedResultsController {
    /// Tells observers what stepping led to; whatever they cause is told after they return.
    func deliver() {
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while !outbox.isEmpty {
            switch outbox.removeFirst() {
            case .change(let change, let isSilent):
                tell(change, isSilent)
                onChange?(change)
            case .unchanged:
                (delegate as? any FetchedResultsSnapshotDelegate)?
                    .controller(self, didChangeContentWith: snapshot(reloading: []))
            case .failure(let error): delegate?.controller(self, didFailWith: error)
            }
        }
        follower?.deliver()
        keepInCache()
    }

    /// Tells the delegate in the richest form that it takes, and in no other.
    private func tell(_ change: ControllerChange, _ isSilent: Bool) {
        if let delegate = delegate as? any FetchedResultsSnapshotDelegate {
            let reloaded = change.reloadedIDs
            delegate.controller(self, didChangeContentWith: snapshot(reloading: reloaded))
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

    /// The list as ids, with those to be read anew.
    private func snapshot(reloading reloaded: [ObjectID]) -> FetchedResultsSnapshot {
        FetchedResultsSnapshot(sections: sections, reloaded: reloaded)
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
