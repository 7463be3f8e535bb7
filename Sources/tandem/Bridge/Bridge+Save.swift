import Tandem

/// Saving: all ops of a request are one transaction, or none is.
extension Bridge {
    func save(_ request: BridgeRequest) throws -> Answer {
        let options = try SaveOptions(request)
        let context = try context(request)
        var ops = SaveOps(context: context, bridge: self)
        do {
            if let found = try repeated(options, context, &ops) { return found }
            for json in options.ops { try ops.carryOut(json) }
            let position = try context.save(
                policy: options.policy, saveID: options.saveID, author: options.author,
                contentHash: options.saveID.map { _ in ops.contentHash(options.ops) })
            return answer(ops.objects(), context, position)
        } catch {
            throw failure(error, context)
        }
    }

    /// The first answer to a save whose id is known: asked before the ops, which fit the graph before the first time only.
    private func repeated(
        _ options: SaveOptions, _ context: ManagedObjectContext, _ ops: inout SaveOps
    ) throws -> Answer? {
        guard let saveID = options.saveID else { return nil }
        let position = try context.save(
            policy: options.policy, saveID: saveID, author: options.author,
            contentHash: ops.contentHash(options.ops))
        guard let receipt = context.lastReceipt, receipt.isRepeat else { return nil }
        let inserts = options.ops.filter { $0["insert"] != nil }
        // Where an existing object took the place of a new one, only the ops themselves tell which.
        guard inserts.count == receipt.inserted.count else { return nil }
        var objects: [String: ObjectID] = [:]
        for (op, id) in zip(inserts, receipt.inserted) {
            if let alias = op["as"]?.string { objects[alias] = id }
        }
        return answer(objects, context, position)
    }

    private func answer(
        _ objects: [String: ObjectID], _ context: ManagedObjectContext, _ position: Position
    ) -> Answer {
        aliases.merge(objects) { $1 }
        var number = position.number
        if let receipt = context.lastReceipt, receipt.wrote || receipt.isRepeat {
            number = receipt.position.number
        }
        return Answer(
            members: ["objects": .object(objects.mapValues { JSON($0) }), "position": .null],
            position: number)
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
