import TandemModel

/// The object changes that observers have not been notified of yet; nothing is recorded without
/// observers.
final class UnreportedChanges {
    /// The reason for a change, in ascending priority if there are several.
    enum Reason: Int { case refresh, edit, invalidation }

    private struct Touch {
        let record: ObjectRecord
        /// Whether the object existed when it was first touched.
        let existed: Bool
        var reason: Reason
    }

    private struct WeakObservation {
        weak var observation: ObjectsObservation?
    }

    private var touches: [ObjectNumber: Touch] = [:]
    private var merged = ObjectsChange.Merged()
    private var observations: [WeakObservation] = []
    private var feeds = FeedList<ObjectsChange, any Error>()
    /// Whether a job that will report the changes is scheduled.
    var isScheduled = false
    /// Whether observers are being notified; meanwhile, no other change is reported.
    ///
    /// All observers thus receive a change before any of them receives the next one.
    private(set) var isNotifying = false

    /// Whether there are observers, or there were any at the last report.
    private(set) var hasObservers = false

    /// Whether there is nothing to report.
    var isEmpty: Bool { touches.isEmpty && merged.isEmpty }

    func add(_ observation: ObjectsObservation) {
        observations.removeAll { $0.observation?.handler == nil }
        observations.append(WeakObservation(observation: observation))
        hasObservers = true
    }

    /// Returns a feed of all changes from now on.
    func feed() -> Feed<ObjectsChange, any Error> {
        hasObservers = true
        return feeds.make()
    }

    /// Records an object before it changes.
    func touch(_ record: ObjectRecord, _ reason: Reason) {
        let number = record.reference.number
        guard let earlier = touches[number] else {
            touches[number] = Touch(record: record, existed: record.exists, reason: reason)
            return
        }
        if earlier.reason.rawValue < reason.rawValue { touches[number]?.reason = reason }
    }

    /// Records the effect of a save by others.
    func merge(_ kind: Change.Kind, _ id: ObjectID) {
        switch kind {
        case .insert: merged.inserted.insert(id)
        case .update, .touch: merged.updated.insert(id)
        case .delete: merged.deleted.insert(id)
        }
    }

    /// Removes and returns the changes to report.
    func drain(at position: Position?) -> ObjectsChange {
        var change = ObjectsChange(position: position, merged: merged)
        // Objects inserted by others are new, even if the context has no record of them.
        change.inserted = merged.inserted
        for touch in touches.values {
            let id = touch.record.id
            // Observers don't know an object that others inserted since the last report.
            let existed = touch.existed && !merged.inserted.contains(id)
            if !existed, !touch.record.exists { change.inserted.remove(id) }
            switch (existed, touch.record.exists, touch.reason) {
            case (false, false, _): break
            case (_, _, .invalidation):
                change.inserted.remove(id)
                change.invalidated.insert(id)
            case (false, true, _): change.inserted.insert(id)
            case (true, false, _): change.deleted.insert(id)
            case (true, true, .edit): change.updated.insert(id)
            case (true, true, .refresh): change.refreshed.insert(id)
            }
        }
        touches.removeAll()
        merged = ObjectsChange.Merged()
        return change
    }

    /// Notifies all observers.
    func notify(_ change: ObjectsChange, limit: Int) {
        isNotifying = true
        defer { isNotifying = false }
        for observer in observations.compactMap(\.observation) { observer.handler?(change) }
        for feed in feeds.open {
            feed.publish(
                change, limit: limit,
                overflow: TandemError(
                    .limitExceeded,
                    "the observer was ended, because \(limit) changes were unread; start a new one")
            )
        }
        hasObservers = !feeds.isEmpty || observations.contains { $0.observation?.handler != nil }
    }

    deinit { for feed in feeds.open { feed.finish() } }
}

extension ObjectRecord {
    /// Whether the object exists in the context.
    fileprivate var exists: Bool { !isDeleted }
}
