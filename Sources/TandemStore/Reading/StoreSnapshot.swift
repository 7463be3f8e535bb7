import CLMDB

/// The graph as the last checkpoint has it: whatever is saved meanwhile, it stays as it is.
///
/// It has an LMDB read transaction and none of the writer's caches. May go to another thread; then the one that made it must
/// not use it any more. Pages that it reads are not used again until ``end()``, so keep it for seconds. End it before the
/// store is closed.
///
///     let snapshot = try store.snapshot()
///     defer { snapshot.end() }
///     let found = try snapshot.fetch(request)
public final class StoreSnapshot: StoreView {
    private let environment: LMDBEnvironment
    private var hasEnded = false

    fileprivate init(_ store: Store) throws(StoreError) {
        environment = store.environment
        super.init(store.path, store.tables, store.options)
        _ = try current
    }

    deinit { end() }

    override func begin() throws(StoreError) -> LMDBTransaction {
        precondition(!hasEnded, "A snapshot is not read after its end.")
        return try environment.begin(readOnly: true)
    }

    /// Ends it, so that its pages can be used again; does nothing if it has ended.
    public func end() {
        hasEnded = true
        takeTransaction()?.abort()
    }
}

extension Store {
    /// The graph at ``checkpointPosition``.
    ///
    /// Call it where no model was applied since the checkpoint. Throws ``StoreError``: `noReader` where
    /// ``StoreLimits/readers`` transactions are read in by all processes together; end one or wait. Cost: a microsecond.
    public func snapshot() throws(StoreError) -> StoreSnapshot {
        precondition(
            modelPosition <= checkpointPosition, "A model is committed before anything is read.")
        let snapshot = try StoreSnapshot(self)
        snapshot.appliedPosition = checkpointPosition
        snapshot.model = model
        snapshot.modelPosition = modelPosition
        return snapshot
    }
}
