import Tandem

/// Named contexts, their observers, and the requests that move contexts to other positions.
extension Bridge {
    /// Returns the context that a request names; creates the context when its name is first used.
    func context(_ request: BridgeRequest) throws -> ManagedObjectContext {
        let name = try request.string("context") ?? "main"
        guard let context = contexts[name] else { return try make(name) }
        // Merge a model that was installed in the meantime: the request may use its names.
        if let position = context.position, position.number < modelPosition {
            try context.reach(position.at(modelPosition))
        }
        return context
    }

    /// Creates a context; `main` merges automatically, all others begin paused.
    private func make(_ name: String) throws -> ManagedObjectContext {
        let context = container.makeContext(name: name, mergesAutomatically: true)
        try context.connect()
        if name != "main" { context.pause() }
        contexts[name] = context
        return context
    }

    func reach(_ request: BridgeRequest) async throws -> Answer {
        let number = try request.required("position", request.count("position"))
        let timeout = try request.seconds("timeout") ?? 10
        let (context, position) = try contextAndPosition(request)
        let target = position.at(UInt64(number))
        let reached = try await context.reach(target, timeout: timeout)
        return Answer(members: ["position": .null], position: reached.number)
    }

    private func contextAndPosition(
        _ request: BridgeRequest
    ) throws -> (ManagedObjectContext, Position) {
        let context = try context(request)
        return (context, try context.connect())
    }

    func pause(_ request: BridgeRequest) throws -> Answer {
        let context = try context(request)
        context.pause()
        return Answer(members: ["position": .null], position: try context.connect().number)
    }

    func resume(_ request: BridgeRequest) throws -> Answer {
        Answer(members: ["position": .null], position: try context(request).resume().number)
    }

    func schema(_ request: BridgeRequest) throws -> Answer {
        var position: Position?
        if let json = request["apply"] {
            position = try container.install(try ManagedObjectModel(json: json))
        }
        let end = try position ?? container.end()
        let model = try container.compiledModel()
        return Answer(
            members: [
                "hash": .string(model.hash.description), "model": model.model.json,
                "position": .null,
            ], position: end.number)
    }

    func observe(_ request: BridgeRequest) throws -> Answer {
        let name = try request.required("observer", request.string("observer"))
        let entity = try request.required("entity", request.string("entity"))
        guard observers[name] == nil else {
            throw TandemError(.usage, "there is already an observer `\(name)`; choose another name")
        }
        let predicate = try predicate(request)
        let context = try context(request)
        let output = output
        observers[name] = try context.observe(entity, where: predicate) {
            [weak context] observation in
            switch observation {
            case .saved(let saved): output.write(Bridge.json(saved, observer: name))
            case .missed(let missed): output.write(Bridge.json(missed, observer: name))
            case .failed(let error):
                output.write(Bridge.json(error, observer: name, at: context?.position))
            }
        }
        return Answer(members: ["position": .null], position: try context.connect().number)
    }

    /// Returns the event for an observer that was restarted, with the range of missed saves.
    ///
    /// It is a `connection` event, so that older clients do not receive an unknown kind of event.
    private static func json(_ missed: SaveGap, observer: String) -> [String: JSON] {
        [
            "event": .string("connection"), "state": .string("restored"),
            "position": JSON(number: missed.through.number),
            "missed": .object([
                "observer": .string(observer), "after": JSON(number: missed.after.number),
            ]),
        ]
    }

    /// Returns a `failure` event that names the observer in place of a controller.
    private static func json(
        _ error: TandemError, observer: String, at position: Position?
    ) -> [String: JSON] {
        [
            "event": .string("failure"), "observer": .string(observer),
            "position": JSON(number: position?.number ?? 0), "error": BridgeErrors.json(error),
        ]
    }

    private static func json(_ saved: ObservedSave, observer: String) -> [String: JSON] {
        let updated = saved.updated.map { update in
            JSON.object([
                "object": JSON(update.object),
                "changed": .array(update.changed.map { .string($0) }),
                "before": .bool(update.before), "after": .bool(update.after),
            ])
        }
        return [
            "event": .string("save"), "observer": .string(observer),
            "position": JSON(number: saved.payload.position.number),
            "author": .string(saved.payload.author), "inserted": JSON(saved.inserted),
            "updated": .array(updated), "deleted": JSON(saved.deleted),
        ]
    }
}
