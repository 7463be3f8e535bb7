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
    private var streams: [AsyncThrowingStream<ObjectsChange, any Error>.Continuation] = []
    /// Whether a job that will report the changes is scheduled.
    var isScheduled = false
    /// Whether observers are being notified, during which no other change is reported.
    ///
    /// All observers thus receive a change before any of them receives the next one.
    private(set) var isNotifying = false

    /// Whether there are observers, or were at the last report.
    private(set) var isHeard = false

    /// Whether there is nothing to report.
    var isEmpty: Bool { touches.isEmpty && merged.isEmpty }

    func add(_ observation: ObjectsObservation) {
        observations.removeAll { $0.observation?.handler == nil }
        observations.append(WeakObservation(observation: observation))
        isHeard = true
    }

    func stream(limit: Int) -> AsyncThrowingStream<ObjectsChange, any Error> {
        let (stream, continuation) = AsyncThrowingStream<ObjectsChange, any Error>.makeStream(
            bufferingPolicy: .bufferingOldest(limit))
        streams.append(continuation)
        isHeard = true
        return stream
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
        for touch in touches.values {
            let id = touch.record.id
            switch (touch.existed, touch.record.exists, touch.reason) {
            case (false, false, _): break
            case (_, _, .invalidation): change.invalidated.insert(id)
            case (false, true, _): change.inserted.insert(id)
            case (true, false, _): change.deleted.insert(id)
            case (true, true, .edit): change.updated.insert(id)
            case (true, true, .refresh): change.refreshed.insert(id)
            }
        }
        // Objects inserted by others are new, even if the context has no record of them.
        change.inserted.formUnion(merged.inserted)
        change.refreshed.subtract(merged.inserted)
        touches.removeAll()
        merged = ObjectsChange.Merged()
        return change
    }

    /// Notifies all observers.
    func notify(_ change: ObjectsChange, limit: Int) {
        isNotifying = true
        defer { isNotifying = false }
        for observer in observations.compactMap(\.observation) { observer.handler?(change) }
        streams.removeAll { stream in
            switch stream.yield(change) {
            case .enqueued: return false
            case .dropped:
                let message =
                    "the observer was ended, because \(limit) changes were unread; start a new one"
                stream.finish(throwing: TandemError(.limitExceeded, message))
                return true
            default: return true
            }
        }
        isHeard = !streams.isEmpty || observations.contains { $0.observation?.handler != nil }
    }

    deinit { for stream in streams { stream.finish() } }
}

extension ObjectRecord {
    /// Whether the object exists in the context.
    fileprivate var exists: Bool { !isDeleted }
}
