import Tandem

/// Saving: all ops of a request are one transaction, or none is.
extension Bridge {
    func save(_ request: BridgeRequest) throws -> Answer {
        let options = try SaveOptions(request)
        let context = try context(request)
        var ops = SaveOps(context: context, id: id)
        do {
            let hash = try options.saveID.map { try contentHash(options.ops, $0) }
            if let first = try receipt(options, hash, context) { return answer(options, first) }
            do {
                for json in options.ops { try ops.carryOut(json) }
            } catch {
                // The ops fit the graph before they happened; another process may have saved them just now.
                context.rollback()
                guard let first = try receipt(options, hash, context) else { throw error }
                return answer(options, first)
            }
            let position = try context.save(
                policy: options.policy, saveID: options.saveID, author: options.author,
                contentHash: hash, inserts: ops.inserts)
            guard let receipt = context.lastReceipt else {
                return Answer(
                    members: ["objects": .object([:]), "position": .null],
                    position: position.number)
            }
            return answer(options, receipt)
        } catch {
            throw failure(error, context)
        }
    }

    /// The first answer to a save whose id is known.
    private func receipt(
        _ options: SaveOptions, _ hash: StableHash?, _ context: ManagedObjectContext
    ) throws -> SaveReceipt? {
        guard let id = options.saveID, let hash else { return nil }
        return try context.receipt(ofSave: id, contentHash: hash)
    }

    private func contentHash(_ ops: [JSON], _ saveID: [UInt8]) throws -> StableHash {
        SaveContent.hash(ops, try container.storeModel()) { [aliases] name in
            aliases[name]?.id(in: saveID)
        }
    }

    /// The answer that follows from what the daemon keeps with the save id: so the first one and a repeat's are the same.
    ///
    /// An insert that the save deleted has no id, and its alias stands for nothing.
    private func answer(_ options: SaveOptions, _ receipt: SaveReceipt) -> Answer {
        var objects: [String: ObjectID] = [:]
        var named: Set<String> = []
        let inserts = options.ops.filter { $0["insert"] != nil }
        for (op, id) in zip(inserts, receipt.inserted) {
            guard let name = op["as"]?.string else { continue }
            objects[name] = id
            named.insert(name)
        }
        for name in named {
            aliases[name, default: BridgeAlias()].bind(objects[name], by: options.saveID)
        }
        return Answer(
            members: ["objects": .object(objects.mapValues { JSON($0) }), "position": .null],
            position: receipt.position.number)
    }

    /// Leaves nothing of the ops in the context.
    private func failure(_ error: any Error, _ context: ManagedObjectContext) -> BridgeFailure {
        let error = BridgeErrors.tandemError(error)
        let details = context.details(of: error)
        let model = error.conflicts.isEmpty ? nil : try? container.storeModel()
        context.forgetUnansweredSave()
        context.rollback()
        return BridgeFailure(json: BridgeErrors.json(error, details, model))
    }
}

/// What an alias stands for.
struct BridgeAlias {
    /// The newest object; nil when it was deleted by the save that inserted it.
    private(set) var id: ObjectID?
    /// The save that inserted it, and what the alias stood for when that was asked for.
    private var saveID: [UInt8]?
    private var before: ObjectID?

    mutating func bind(_ id: ObjectID?, by saveID: [UInt8]?) {
        if saveID == nil || saveID != self.saveID { before = self.id }
        self.id = id
        self.saveID = saveID
    }

    /// What it stands for in the ops of a save: what that save itself gave it does not count, so that a repeat means the same.
    func id(in saveID: [UInt8]) -> ObjectID? { saveID == self.saveID ? before : id }
}

/// What a `save` request says besides its objects.
struct SaveOptions {
    let ops: [JSON]
    let policy: MergePolicy?
    let saveID: [UInt8]?
    let author: String?

    init(_ request: BridgeRequest) throws(TandemError) {
        ops = try request.required("ops", request.array("ops"))
        policy = try request.string("policy").map { text throws(TandemError) in
            guard let policy = Self.policies[text] else {
                throw TandemError(
                    .usage,
                    "`\(text)` is no policy; use error, storeTrump, objectTrump, overwrite or rollback"
                )
            }
            return policy
        }
        saveID = try request.string("saveId").map { text throws(TandemError) in
            guard (1...64).contains(text.utf8.count) else {
                throw TandemError(.usage, "`saveId` has to have 1 to 64 bytes")
            }
            return Array(text.utf8)
        }
        author = try request.string("author")
    }

    private static let policies: [String: MergePolicy] = [
        "error": .error, "storeTrump": .storeTrump, "objectTrump": .objectTrump,
        "overwrite": .overwrite, "rollback": .rollback,
    ]
}
