import TandemResults

extension SectionedFetchResults {
    func publish(_ change: ControllerChange?) {
        lastChange = change
        let isFirst = isFirst
        if case .empty = content {} else { self.isFirst = false }
        registrar.withMutation(of: self, keyPath: \.revision) { revision += 1 }
        onChange?(isFirst)
    }

    private func publishWhatChanged() {
        isPostponed = false
        guard isUnpublished || !unpublished.isEmpty else { return }
        let changes = unpublished
        let concerns =
            isUnpublished || held != nil || publishesUpdates
            || changes.contains { $0.change.changesOrder || isRefresh($0.change) }
        (held, unpublished, isUnpublished) = (nil, [], false)
        if concerns { publish(changes.count == 1 ? changes.first : nil) }
    }
}

extension SectionedFetchResults: ResultsObserver {
    /// Whether rows show other values through the key paths that the request declares for
    /// refreshing.
    private func isRefresh(_ change: ResultsChange) -> Bool {
        guard let controller, !controller.relationshipKeyPathsForRefreshing.isEmpty else {
            return false
        }
        return change.reasons.values.contains { $0.contains(.refreshPath) }
    }

    /// Whether an element is being made, or properties of an object are being loaded.
    private var isBeingRead: Bool {
        reads > 0 || controller.map { $0.context.familyState.loads > 0 } ?? false
    }

    var needsOldList: Bool { isBeingRead && held == nil }

    func note(_ change: ControllerChange, from old: SectionedList?) {
        unpublished.append(change)
        if isBeingRead, held == nil { held = old }
    }

    func noteFailure() { isUnpublished = true }

    func deliver() {
        if !isBeingRead { return publishWhatChanged() }
        guard !isPostponed, let controller else { return }
        isPostponed = true
        controller.context.root.postpone { [weak self] in self?.publishWhatChanged() }
    }
}

extension ResultsChange {
    /// Whether ids are inserted, deleted or moved, so that not only values differ.
    var changesOrder: Bool {
        if !sections.isEmpty { return true }
        return objects.contains { object in
            if case .update = object { false } else { true }
        }
    }
}
