import TandemModel
public import TandemResults

/// Something that observers have not been told yet.
struct ResultsDelivery {
    enum Kind {
        case change(ResultsChange)
        case refetch(ResultsChange)
        case failure(TandemError)
    }

    var position: Position?
    var kind: Kind
}

extension FetchedResultsController {
    /// Tells the delegate what stepping led to; what its callbacks lead to is told after they return.
    func deliver() {
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while !outbox.isEmpty {
            let delivery = outbox.removeFirst()
            guard let delegate else { continue }
            switch delivery.kind {
            case .failure(let error): delegate.controller(self, didFailWith: error)
            case .change(let change): tell(delegate, change, delivery.position, isRefetch: false)
            case .refetch(let change): tell(delegate, change, delivery.position, isRefetch: true)
            }
        }
    }

    private func tell(
        _ delegate: any FetchedResultsControllerDelegate, _ change: ResultsChange,
        _ position: Position?, isRefetch: Bool
    ) {
        if let delegate = delegate as? any SnapshotResultsDelegate {
            delegate.controller(
                self, didChangeContentWith: visible.snapshot(after: change))
        } else if let delegate = delegate as? any ChangeResultsDelegate {
            guard let position, !change.isEmpty else { return }
            delegate.controller(self, didChange: change, at: position)
        } else if let delegate = delegate as? any ClassicResultsDelegate, !isRefetch {
            tell(delegate, change)
        }
    }

    private func tell(_ delegate: any ClassicResultsDelegate, _ change: ResultsChange) {
        delegate.controllerWillChangeContent(self)
        // The parts are ordered: deletes, inserts, moves, updates.
        let deletes = change.objects.prefix { $0.type == .delete }
        for object in deletes { tell(delegate, object) }
        for section in change.sections { tell(delegate, section) }
        for object in change.objects.dropFirst(deletes.count) { tell(delegate, object) }
        delegate.controllerDidChangeContent(self)
    }

    private func tell(
        _ delegate: any ClassicResultsDelegate, _ section: ResultsChange.SectionChange
    ) {
        switch section {
        case .delete(let index, let name):
            delegate.controller(
                self, didChange: FetchedResultsSection(controller: nil, name: name),
                atSectionIndex: index, for: .delete)
        case .insert(let index, let name):
            delegate.controller(
                self, didChange: FetchedResultsSection(controller: self, name: name),
                atSectionIndex: index, for: .insert)
        }
    }

    private func tell(
        _ delegate: any ClassicResultsDelegate, _ change: ResultsChange.ObjectChange
    ) {
        let reference = ObjectReference(tag: change.tag, number: change.number)
        guard context.session?.model.entity(tagged: reference.tag) != nil else { return }
        delegate.controller(
            self, didChange: context.object(reference), at: change.from, for: change.type,
            newIndexPath: change.to)
    }
}

extension ResultsChange.ObjectChange {
    /// Which of the four it is.
    public var type: ResultsChangeType {
        switch self {
        case .insert: .insert
        case .delete: .delete
        case .move: .move
        case .update: .update
        }
    }
}
