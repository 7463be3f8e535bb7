import Tandem

/// Save requests: the ops of a request are applied in one transaction, or not at all.
extension Bridge {
    func save(_ request: BridgeRequest) throws -> Answer {
        let options = try SaveRequestOptions(request)
        let context = try context(request)
        var ops = SaveOps(context: context, id: id)
        do {
            let hash = try options.saveID.map { try contentHash(options.ops, $0) }
            if let first = try receipt(options, hash, context) { return answer(options, first) }
            do {
                for json in options.ops { try ops.carryOut(json) }
            } catch {
                // The ops can fail because another process has just carried out the same save.
                context.rollback()
                guard let first = try receipt(options, hash, context) else { throw error }
                return answer(options, first)
            }
            let position = try context.tools.save(
                policy: options.policy, saveID: options.saveID, author: options.author,
                contentHash: hash, inserts: ops.inserts)
            guard let receipt = context.tools.lastReceipt else {
                return Answer(
                    members: ["objects": .object([:]), "position": .null],
                    position: position.number)
            }
            return answer(options, receipt)
        } catch {
            throw failure(error, context)
        }
    }

    /// Returns the receipt of an earlier save with the same id and content, or nil.
    private func receipt(
        _ options: SaveRequestOptions, _ hash: StableHash?, _ context: ManagedObjectContext
    ) throws -> SaveReceipt? {
        guard let id = options.saveID, let hash else { return nil }
        return try context.tools.receipt(ofSave: id, contentHash: hash)
    }

    private func contentHash(_ ops: [JSON], _ saveID: [UInt8]) throws -> StableHash {
        SaveContent.hash(ops, try container.compiledModel()) { [aliases] name in
            aliases[name]?.id(in: saveID)
        }
    }

    /// Returns the answer for a receipt and binds the request's aliases.
    ///
    /// Only the receipt is used, so a retry gets the same answer as the first save. An object that
    /// the save inserted and deleted again has no id, and its alias is unbound.
    private func answer(_ options: SaveRequestOptions, _ receipt: SaveReceipt) -> Answer {
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

    /// Rolls the context back and returns the failure to be reported.
    private func failure(_ error: any Error, _ context: ManagedObjectContext) -> BridgeFailure {
        let error = BridgeErrors.tandemError(error)
        let details = context.details(of: error)
        let model = error.conflicts.isEmpty ? nil : try? container.compiledModel()
        context.forgetInFlightSave()
        context.rollback()
        return BridgeFailure(json: BridgeErrors.json(error, details, model))
    }
}

/// The object to which an alias refers.
struct BridgeAlias {
    /// The object most recently inserted under the alias; nil if the same save deleted it again.
    private(set) var id: ObjectID?
    /// The id of the save that bound the alias; nil if the save had no id.
    private var saveID: [UInt8]?
    /// The object to which the alias referred before that save.
    private var before: ObjectID?

    mutating func bind(_ id: ObjectID?, by saveID: [UInt8]?) {
        if saveID == nil || saveID != self.saveID { before = self.id }
        self.id = id
        self.saveID = saveID
    }

    /// Returns the object to which the alias refers in the ops of a save.
    ///
    /// A binding made by the same save is ignored, so that the ops of a retry refer to the same
    /// objects as those of the first attempt.
    func id(in saveID: [UInt8]) -> ObjectID? { saveID == self.saveID ? before : id }
}

/// The parameters of a `save` request.
struct SaveRequestOptions {
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
                    "`\(text)` is not a merge policy; use error, storeTrump, objectTrump, overwrite or rollback"
                )
            }
            return policy
        }
        saveID = try request.string("saveId").map { text throws(TandemError) in
            guard (1...64).contains(text.utf8.count) else {
                throw TandemError(.usage, "`saveId` must have 1 to 64 bytes")
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
