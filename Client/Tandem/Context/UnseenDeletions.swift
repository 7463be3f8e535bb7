import TandemModel

/// Deletions that were merged while a property was read, and the edits that they met.
///
/// Reading a property may merge what others saved, so `object.count += 1` may find the object deleted. No program can check for that
/// in between, so until the job is over such an edit does not trap. It is dropped, and the next save under the policy `error` throws the
/// conflict that the edit would have met if the merge had come later.
struct UnseenDeletions {
    private var objects: Set<ObjectNumber> = []
    private var edited: Set<ObjectID> = []

    /// Whether the next save has to report dropped edits.
    var hasDropped: Bool { !edited.isEmpty }

    /// Whether no deletion is unseen.
    var isEmpty: Bool { objects.isEmpty }

    /// Records a deletion.
    mutating func insert(_ number: ObjectNumber) { objects.insert(number) }

    /// Whether the deletion of an object is unseen.
    func contains(_ number: ObjectNumber) -> Bool { objects.contains(number) }

    /// Ends the job; from now on edits of these objects trap.
    mutating func endJob() { objects = [] }

    /// Records that an edit was dropped.
    mutating func drop(_ id: ObjectID) { edited.insert(id) }

    /// Forgets the dropped edits and returns their objects.
    mutating func drainDropped() -> [ObjectID] {
        defer { edited = [] }
        return edited.sorted()
    }
}

extension ManagedObjectContext {
    /// Records that others deleted an object, if that was merged while a property was read.
    func recordDeletion(of record: ObjectRecord) {
        guard standing.loads > 0 else { return }
        let root = root
        if root.unseenDeletions.isEmpty {
            root.postpone { [weak root] in root?.unseenDeletions.endJob() }
        }
        root.unseenDeletions.insert(record.reference.number)
    }

    /// Drops an edit of a deleted object, if its deletion is unseen; returns whether it is.
    func discardsEdit(of record: ObjectRecord) -> Bool {
        guard record.isGone, root.unseenDeletions.contains(record.reference.number) else {
            return false
        }
        unseenDeletions.drop(record.id)
        return true
    }

    /// Throws `conflict` under the policy `error` if edits were dropped, once.
    func checkUnseenDeletions(_ policy: MergePolicy?) throws(TandemError) {
        let dropped = unseenDeletions.drainDropped()
        guard !dropped.isEmpty, policy ?? mergePolicy == .error else { return }
        let names = dropped.map(\.description).joined(separator: ", ")
        var error = TandemError(
            .conflict,
            "others deleted \(names) while this context edited it; these edits were dropped and nothing "
                + "was saved; save again to save the others")
        error.conflicts = dropped.compactMap { session?.model.reference(to: $0) }.map {
            MergeConflict(object: $0, baseVersion: 0, theirs: nil, theirsVersion: 0)
        }
        throw error
    }
}
