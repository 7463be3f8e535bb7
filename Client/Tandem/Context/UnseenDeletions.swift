import TandemModel

/// Deletions that were merged while a property was being read, and the dropped edits of these
/// objects.
///
/// Reading a property may merge saves by others, so `object.count += 1` may find the object
/// deleted. No program can check for that between the read and the write, so until the end of the
/// job such an edit does not trap. It is dropped. The next save under the policy `error` throws the
/// conflict that the edit would have had with a later merge.
struct UnseenDeletions {
    private var objects: Set<ObjectNumber> = []
    private var edited: Set<ObjectID> = []

    /// Whether the next save has to report dropped edits.
    var hasDropped: Bool { !edited.isEmpty }

    /// Whether there are no unseen deletions.
    var isEmpty: Bool { objects.isEmpty }

    /// Records a deletion.
    mutating func insert(_ number: ObjectNumber) { objects.insert(number) }

    /// Returns whether the deletion of an object is unseen.
    func contains(_ number: ObjectNumber) -> Bool { objects.contains(number) }

    /// Ends the job, after which edits of these objects trap.
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
    /// Records that others deleted an object, if this was merged while a property was being read.
    func recordDeletion(of record: ObjectRecord) {
        guard familyState.loads > 0 else { return }
        let root = root
        if root.unseenDeletions.isEmpty {
            root.postpone { [weak root] in root?.unseenDeletions.endJob() }
        }
        root.unseenDeletions.insert(record.reference.number)
    }

    /// Drops an edit of an object whose deletion is unseen; returns whether it did.
    func discardsEdit(of record: ObjectRecord) -> Bool {
        guard record.isGone, root.unseenDeletions.contains(record.reference.number) else {
            return false
        }
        unseenDeletions.drop(record.id)
        return true
    }

    /// Throws `conflict` under the policy `error` if edits were dropped; reports them only once.
    func checkUnseenDeletions(_ policy: MergePolicy?) throws(TandemError) {
        let dropped = unseenDeletions.drainDropped()
        guard !dropped.isEmpty, policy ?? mergePolicy == .error else { return }
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
