public import TandemModel

/// The installation of a model, either the first one or a replacement, which rewrites every row.
extension Store {
    /// The maximum number of known model hashes.
    static let knownModelsKept = 64

    func install(
        _ bytes: [UInt8], at position: UInt64, _ open: LMDBTransaction
    ) throws(StoreError) {
        let installation: ModelInstallation
        do {
            installation = try ModelInstallation(bytes)
        } catch {
            throw StoreError(
                .damaged, "the model in transaction \(position) cannot be read: \(error)")
        }
        try open.put(tables.meta, MetaKey.model.key, bytes)
        let installed = installation.model
        if let model {
            writtenRows.removeAll()
            lastRanks.removeAll()
            let migration = StoreMigration(self, from: model, to: installed, at: position, open)
            try migration.run()
            uncommittedChanges += migration.written
        }
        model = installed
        modelPosition = position
        try knowModel(installed.hash)
        if let declared = installation.declared { try knowModel(declared) }
    }

    /// Marks a model hash as known, so that clients that declare that model are served.
    ///
    /// Only the last ``knownModelsKept`` hashes are kept. Throws ``StoreError``.
    public func knowModel(_ hash: StableHash) throws(StoreError) {
        guard knownModels.last != hash else { return }
        var known = knownModels.filter { $0 != hash } + [hash]
        known.removeFirst(max(0, known.count - Store.knownModelsKept))
        let bytes = known.flatMap { StoreKey.number($0.first) + StoreKey.number($0.second) }
        assert(
            known.count <= Store.knownModelsKept && known.last == hash,
            "The latest hash is kept, and a bounded number of others.")
        try current.put(tables.meta, MetaKey.knownModels.key, bytes)
        knownModels = known
    }

    static func knownModels(_ bytes: UnsafeRawBufferPointer?) -> [StableHash] {
        guard let bytes, bytes.count % 16 == 0 else { return [] }
        return stride(from: 0, to: bytes.count, by: 16).map {
            StableHash(
                first: bytes.bigEndian($0, as: UInt64.self),
                second: bytes.bigEndian($0 + 8, as: UInt64.self))
        }
    }

    /// Calls `body` with the rows of one entity, which are read in steps.
    ///
    /// No read is open while `body` runs, so it may write. However, it must not write rows outside
    /// the current step.
    func rows(
        of tag: EntityTag, _ body: (Stored) throws(StoreError) -> Void
    ) throws(StoreError) {
        var first: ObjectNumber? = 0
        while let from = first {
            let step = try rowStep(of: tag, from: from)
            for stored in step { try body(stored) }
            first = step.last.flatMap { $0.object.number.successor }
        }
    }

    /// Returns the next rows of one entity, starting at a number; empty at the end.
    ///
    /// Reads at most 1,024 rows. Throws `damaged` for a row that can't be read.
    public func rowStep(
        of tag: EntityTag, from first: ObjectNumber
    ) throws(StoreError) -> [Stored] {
        let prefix = StoreKey.tag(tag)
        var step: [Stored] = []
        try current.scan(
            tables.rows, from: StoreKey.row(ObjectReference(tag: tag, number: first))
        ) { (key, value) throws(StoreError) -> Bool in
            guard key.starts(with: prefix) else { return false }
            let number = UnsafeRawBufferPointer(rebasing: key[prefix.count...])
            step.append(try stored(try object(tag, number, in: .rows), at: value))
            return step.count < StoreLimits.migrationStep
        }
        return step
    }

    /// Whether there are objects of an entity or of its subentities.
    public func hasObjects(of entity: CompiledEntity) throws(StoreError) -> Bool {
        for tag in entity.descendants {
            var isThere = false
            try current.scan(tables.rows, prefix: StoreKey.tag(tag)) { _, _ in
                isThere = true
                return false
            }
            if isThere { return true }
        }
        return false
    }
}

extension ObjectNumber {
    /// The next number, or nil after the largest one.
    public var successor: ObjectNumber? { self == .max ? nil : self + 1 }
}
