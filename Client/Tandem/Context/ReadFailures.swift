import TandemModel
import TandemWire

/// The failures of property reads, kept until a throwing call of the context reports them, because
/// a read can't throw.
final class ReadFailures: StatefulPart {
    /// The error of a property read that failed to load data, until a call throws it.
    private(set) var fault: TandemError?
    /// The error for the last value that its property's type can't represent, for code that makes
    /// values from rows.
    private var valueFailure: TandemError?
    private var failedReads = FailedReads()
    private var unseenDeletions = UnseenDeletions()

    /// Whether the next save has to report dropped edits.
    var hasDropped: Bool { failedReads.hasDropped || unseenDeletions.hasDropped }

    /// Throws the error of a failed load, once.
    func throwFault() throws(TandemError) {
        guard let failure = fault else { return }
        fault = nil
        throw failure
    }

    /// Records the error of a failed load, unless an earlier one has not been thrown yet.
    func recordFault(_ failure: TandemError) {
        if fault == nil { fault = failure }
    }

    /// Records the error of a failed load in place of an earlier one.
    func replace(by failure: TandemError) { fault = failure }

    /// Forgets the error of an expired pin, because moving the pin is the remedy.
    func forgetExpiry() {
        if fault?.code == .historyExpired { fault = nil }
    }

    // MARK: Values of rows

    /// Forgets the last value that could not be represented.
    func forgetValueFailure() { valueFailure = nil }

    /// Throws the error of a failed load or of a value that could not be represented, once.
    func throwValueFailure() throws(TandemError) {
        guard let failure = fault ?? valueFailure else { return }
        (fault, valueFailure) = (nil, nil)
        throw failure
    }

    // MARK: Failed reads

    /// Returns the properties of an object whose reads failed.
    func slots(of record: ObjectRecord) -> PropertyMask { failedReads.slots(of: record) }

    /// Forgets the unrepresentable values of an object whose edits are dropped.
    func forgetUnknown(of record: ObjectRecord) { failedReads.forgetUnknown(of: record) }

    /// Forgets the dropped edits, after a rollback.
    func forgetDropped() {
        failedReads.forgetDropped()
        _ = unseenDeletions.drainDropped()
    }

    /// Moves the failed reads of an object to the slots of another model.
    func move(_ old: ObjectRecord, to record: ObjectRecord, _ translation: ModelTranslation) {
        failedReads.move(old, to: record, translation)
    }

    /// Records that the read of a property failed; a deleted object reads as null without a
    /// failure.
    func recordFailedRead(_ slot: Int, of record: ObjectRecord) {
        guard !record.isGone else { return }
        failedReads.markFailed(slot, of: record, fault)
    }

    /// Records a value that the type of its property can't represent.
    func recordUnknownValue(
        _ value: PropertyValue, _ slot: Int, of record: ObjectRecord, _ type: Any.Type
    ) {
        let error = TandemError(
            .unreadable,
            "\(record.id).\(record.entity.properties[slot].name) is \(value.json.text), which is not a value of "
                + "\(type); declare the property as optional to read nil")
        valueFailure = error
        guard failedReads.unknownValue(slot, of: record) != value else { return }
        if let log { log.addFailure(.fault, since: log.now, context: context.name, error) }
        recordFault(error)
        failedReads.markFailed(unknown: value, slot, of: record, error)
    }

    /// Removes the failed reads of properties that are now loaded, in this context and its
    /// children.
    func didLoad(_ record: ObjectRecord) {
        if record.isUnreadable {
            let readable = PropertyMask(
                failedReads.slots(of: record).filter { isLoaded($0, of: record) })
            failedReads.resolve(record, readable)
            // Undone edits may depend on the failed read as well.
            if !readable.isEmpty, record.hasUndoEntries { editor.clearUndo() }
        }
        for child in children {
            guard let record = child.graph[record.reference.number] else { continue }
            child.failures.didLoad(record)
        }
    }

    private func isLoaded(_ slot: Int, of record: ObjectRecord) -> Bool {
        if record.isGone { return true }
        if record.entity.properties[slot].isToMany { return record.membersBelow(slot) != nil }
        guard let value = record.committedValue(slot) else { return false }
        if failedReads.unknownValue(slot, of: record) == value { return false }
        return value.outside.map { loader.cachedContent(of: $0) != nil } ?? true
    }

    /// Drops edits that may depend on failed reads, in this context and its children.
    func dropDoubtfulEdits() {
        for (record, slots) in failedReads.drainDoubtful() where !record.isGone {
            for slot in slots {
                failedReads.markDropped(slot, of: record)
                editor.dropEdit(of: slot, record)
            }
            editor.clearUndo()
        }
        for child in children { child.failures.dropDoubtfulEdits() }
    }

    /// Throws `unreadable` if a save would send edits that may depend on failed reads, or if such
    /// edits were dropped.
    func checkFailedReads() throws(TandemError) {
        root.failures.dropDoubtfulEdits()
        do {
            try failedReads.check(editor.editedObjects.lazy.map(\.record))
            try failedReads.checkDropped()
        } catch {
            // The thrown error includes the failure that the next call would throw.
            fault = nil
            throw error
        }
    }

    // MARK: Unseen deletions

    /// Records that others deleted an object, if the deletion was merged while a property was being
    /// read.
    func recordDeletion(of record: ObjectRecord) {
        guard family.loads > 0 else { return }
        let root = root
        let failures = root.failures
        if failures.unseenDeletions.isEmpty {
            root.reporter.postpone { [weak root] in root?.failures.unseenDeletions.endJob() }
        }
        failures.unseenDeletions.insert(record.reference.number)
    }

    /// Drops an edit to an object whose deletion is unseen; returns false for any other object.
    func discardsEdit(of record: ObjectRecord) -> Bool {
        guard record.isGone, root.failures.unseenDeletions.contains(record.reference.number) else {
            return false
        }
        unseenDeletions.drop(record.id)
        return true
    }

    /// Throws `conflict` under the policy `error` if edits were dropped; reports them only once.
    func checkUnseenDeletions(_ policy: MergePolicy?) throws(TandemError) {
        let dropped = unseenDeletions.drainDropped()
        guard !dropped.isEmpty, policy ?? context.mergePolicy == .error else { return }
        let names = dropped.map(\.description).joined(separator: ", ")
        var error = TandemError(
            .conflict,
            "others deleted \(names) while this context edited it; these edits were dropped and nothing "
                + "was saved; save again to save the other edits")
        error.conflicts = dropped.compactMap { session?.model.reference(to: $0) }.map {
            MergeConflict(object: $0, baseVersion: 0, theirs: nil, theirsVersion: 0)
        }
        throw error
    }
}
