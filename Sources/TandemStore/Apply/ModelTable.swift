import TandemModel

/// The models in the meta table: the installed model, and the hashes of the models that are served.
final class ModelTable {
    private let meta: LMDBTable
    private var models = KnownModels()
    /// The stamp of the Unicode tables with which derived texts were folded.
    ///
    /// Rows contain the derived values that their transactions wrote. After an update to other
    /// Unicode tables, the daemon folds the texts again in separate transactions.
    let folding: StoreStamp

    init(_ meta: LMDBTable, _ options: StoreOptions) {
        self.meta = meta
        folding = StoreStamp(.folding, options.folding, in: meta)
    }

    /// The hashes of models that were installed or served, the latest one last.
    var known: [StableHash] { models.hashes }

    /// Restores the hashes of the last checkpoint.
    func restore(_ transaction: LMDBTransaction) throws(StoreError) {
        models = KnownModels(try transaction.get(meta, MetaKey.knownModels.key))
    }

    /// Records a hash as the latest known one.
    func know(_ hash: StableHash, _ open: LMDBTransaction) throws(StoreError) {
        guard known.last != hash else { return }
        var next = models
        next.add(hash)
        try open.put(meta, MetaKey.knownModels.key, next.bytes)
        models = next
    }

    /// Installs a model; returns the number of changes that this counts as.
    ///
    /// Replacing another model rewrites every row.
    func install(
        _ bytes: [UInt8], at position: UInt64, in view: StoreView, _ writer: ChangeWriter,
        _ open: LMDBTransaction
    ) throws(StoreError) -> Int {
        let installation: ModelInstallation
        do {
            installation = try ModelInstallation(bytes)
        } catch {
            throw StoreError(
                .damaged, "the model in transaction \(position) cannot be read: \(error)")
        }
        try open.put(meta, MetaKey.model.key, bytes)
        let installed = installation.model
        var changes = 0
        if let model = view.model {
            writer.forgetCached()
            let migration = StoreMigration(
                view, writer, from: model, to: installed, at: position, open)
            try migration.run()
            changes = migration.written
        }
        view.use(installed, installedAt: position)
        try know(installed.hash, open)
        if let declared = installation.declared { try know(declared, open) }
        assert(!known.isEmpty, "The installed model is a known one.")
        return changes
    }
}
