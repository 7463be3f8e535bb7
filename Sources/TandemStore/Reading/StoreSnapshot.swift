public import TandemModel

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

    /// What the store's last commit has, which is of a position.
    init(
        _ environment: LMDBEnvironment, of view: StoreView, at position: UInt64
    ) throws(StoreError) {
        self.environment = environment
        super.init(view.path, view.tables, view.options)
        appliedPosition = position
        (model, modelPosition) = (view.model, view.modelPosition)
        _ = try current
    }

    deinit { end() }

    override func begin() throws(StoreError) -> LMDBTransaction {
        precondition(!hasEnded, "A snapshot is not read after its end.")
        return try environment.begin(readOnly: true)
    }

    /// Reads rows by a copy of the model from now on.
    public func use(copy: CompiledModel) {
        precondition(
            copy.hash == model?.hash && copy.version == model?.version,
            "A snapshot is read by its own model.")
        model = copy
    }

    /// Ends it, so that its pages can be used again; does nothing if it has ended.
    public func end() {
        hasEnded = true
        takeTransaction()?.abort()
    }
}
