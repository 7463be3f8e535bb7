package import TandemModel

/// The immutable graph of the last checkpoint, unaffected by later saves.
///
/// A snapshot has its own LMDB read transaction, and does not use the writer's caches. It may be
/// passed to another thread; the former thread must not use it afterwards. LMDB does not reuse the
/// pages of a snapshot until ``end()``, so keep a snapshot for a few seconds at most. End it before
/// the store is closed.
///
///     let snapshot = try store.snapshot()
///     defer { snapshot.end() }
///     let found = try snapshot.fetch(request)
package final class StoreSnapshot: StoreView {
    private let environment: LMDBEnvironment
    private var hasEnded = false

    /// Creates a snapshot of the store's last commit, which has the given position.
    init(
        _ environment: LMDBEnvironment, of view: StoreView, at position: UInt64
    ) throws(StoreError) {
        self.environment = environment
        super.init(view.path, view.tables, view.options)
        use(view.model, installedAt: view.modelPosition)
        show(position)
        assert(position <= view.appliedPosition, "A snapshot's position is not after the store's.")
        _ = try current
    }

    deinit { end() }

    override func begin() throws(StoreError) -> LMDBTransaction {
        precondition(!hasEnded, "A snapshot is not read after its end.")
        return try environment.begin(readOnly: true)
    }

    /// Replaces the model with a copy of it, for example to avoid sharing reference counts with
    /// other threads.
    package func use(copy: CompiledModel) {
        precondition(
            copy.hash == model?.hash && copy.version == model?.version,
            "The copy equals the snapshot's model.")
        use(copy, installedAt: modelPosition)
    }

    /// Ends the snapshot, so that LMDB can reuse its pages.
    ///
    /// Calling this again has no effect.
    package func end() {
        hasEnded = true
        detachTransaction()?.abort()
    }
}
