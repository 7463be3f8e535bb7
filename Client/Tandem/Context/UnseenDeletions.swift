import TandemModel

/// Deletions that were merged while a property was being read, and the dropped edits to these
/// objects.
///
/// Reading a property may merge saves by others, so `object.count += 1` may find the object
/// deleted. No program can check for that between the read and the write, so until the end of the
/// job such an edit is dropped instead of trapping. The next save under the policy `error` throws
/// the conflict that the edit would have caused if the deletion had been merged later.
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

    /// Ends the job, after which edits to these objects trap.
    mutating func endJob() { objects = [] }

    /// Records that an edit was dropped.
    mutating func drop(_ id: ObjectID) { edited.insert(id) }

    /// Forgets the dropped edits and returns their objects.
    mutating func drainDropped() -> [ObjectID] {
        defer { edited = [] }
        return edited.sorted()
    }
}
