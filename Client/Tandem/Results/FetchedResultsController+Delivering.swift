import TandemModel
import TandemResults

/// Something that observers of a controller have to be told.
enum ResultsDelivery {
    case change(ControllerChange)
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
            case .change(let change): tell(change)
            case .failure(let error): delegate?.controller(self, didFailWith: error)
            }
        }
    }

    private func tell(_ change: ControllerChange) {
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
