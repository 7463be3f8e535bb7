/// Where a context stands, together with its children and theirs.
final class Standing {
    /// The connection's log and model as the context knows them; nil before it was first used.
    var session: Session?
    /// Everything up to here is merged.
    var merged: UInt64 = 0
    /// Whether nothing is merged unprompted.
    var isPaused = false
    /// What keeps it where it is; nil unless it is pinned.
    var pin: Pin?
    /// The last position whose saves were told of: who is moved back and forth hears of each once.
    var told: UInt64 = 0
}

extension ManagedObjectContext {
    var session: Session? {
        get { standing.session }
        set { standing.session = newValue }
    }

    var merged: UInt64 {
        get { standing.merged }
        set { standing.merged = newValue }
    }
}
