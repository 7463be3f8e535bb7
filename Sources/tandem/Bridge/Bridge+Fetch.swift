import Tandem

extension BridgeRequest {
    /// Parses a `fetch` or `count` request, which have the same keys.
    init(fetch verb: String, _ members: [String: JSON]) throws(TandemError) {
        try self.init(
            "`\(verb)`", members,
            keys: [
                "do", "id", "entity", "where", "arguments", "sort", "limit", "offset", "properties",
                "includesSubentities", "at", "context",
            ])
    }
}

/// Read requests; each answer shows the store at a single position.
extension Bridge {
    /// The maximum number of attempts at a read; a read is repeated if the context moves to another
    /// position while values are loaded.
    private static let readAttempts = 8

    func fetch(_ request: BridgeRequest) throws -> Answer {
        let wanted = try fetchRequest(request)
        let properties = try request.strings("properties")
        let context = try context(request)
        if let at = try position(request, context) {
            return try fetch(wanted, at: at, properties, context)
        }
        var answer = Answer()
        for _ in 0..<Self.readAttempts {
            let objects = try context.fetch(wanted)
            let model = try container.compiledModel()
            try check(properties, wanted.entity, model)
            let before = context.position
            let shown = objects.map { BridgeValues.json($0, properties: properties, model) }
            // Throws the error if a value could not be loaded.
            let after = try context.connect()
            answer = Answer(members: ["objects": .array(shown), "position": .null])
            answer.position = after.number
            if before == after { break }
        }
        return answer
    }

    /// Fetches the objects as of a position, after the context has reached it.
    private func fetch(
        _ wanted: FetchRequest<ManagedObject>, at position: Position, _ properties: [String]?,
        _ context: ManagedObjectContext
    ) throws -> Answer {
        try context.reach(position)
        let model = try container.compiledModel()
        try check(properties, wanted.entity, model)
        let lists = properties?.filter {
            model.entity(named: wanted.entity)?.property(named: $0)?.isToMany ?? false
        }
        let found = try context.fetch(wanted, at: position, members: lists ?? [])
        let shown = try found.map {
            try BridgeValues.json($0, properties: properties, model, context)
        }
        return Answer(
            members: ["objects": .array(shown), "position": .null], position: position.number)
    }

    /// Returns the position at which a request is to be answered, or nil if the request names none.
    private func position(
        _ request: BridgeRequest, _ context: ManagedObjectContext
    ) throws -> Position? {
        try request.count("at").map { try context.connect().at(UInt64($0)) }
    }

    func count(_ request: BridgeRequest) throws -> Answer {
        let wanted = try fetchRequest(request)
        let properties = try request.strings("properties")
        let context = try context(request)
        // The daemon ignores limit and offset when it counts at a position.
        let at = try position(request, context)
        let all = try at.map { try context.count(for: wanted, at: $0) }
        let count =
            try all.map { min(wanted.limit ?? .max, max(0, $0 - wanted.offset)) }
            ?? context.count(for: wanted)
        try check(properties, wanted.entity, try container.compiledModel())
        return Answer(
            members: ["count": .int(Int64(count)), "position": .null],
            position: try at?.number ?? context.connect().number)
    }

    private func check(
        _ properties: [String]?, _ entity: String, _ model: CompiledModel
    ) throws(TandemError) {
        guard let entity = model.entity(named: entity) else { throw model.unknownEntity(entity) }
        for name in properties ?? [] where entity.slot(of: name) == nil {
            throw entity.unknownProperty(name)
        }
    }

    // MARK: Requests

    /// Returns the fetch request described by the keys of a bridge request.
    func fetchRequest(_ request: BridgeRequest) throws -> FetchRequest<ManagedObject> {
        let entity = try request.required("entity", request.string("entity"))
        let sort = try request.array("sort") ?? []
        return FetchRequest(
            entity: entity, predicate: try predicate(request),
            sort: try sort.map { json throws(TandemError) in try BridgeValues.sortKey(json) },
            limit: try request.count("limit"), offset: try request.count("offset") ?? 0,
            includesSubentities: try request.bool("includesSubentities") ?? true)
    }

    /// Returns the predicate from `where` and `arguments`, or nil if `where` is absent.
    func predicate(_ request: BridgeRequest) throws -> ObjectPredicate? {
        let arguments = try (request.array("arguments") ?? []).map { json in
            try BridgeValues.argument(json) { try id($0) }
        }
        guard let format = try request.string("where") else {
            guard arguments.isEmpty else {
                throw TandemError(.usage, "`arguments` can only be given with `where`")
            }
            return nil
        }
        return try ObjectPredicate(format: format, arguments: arguments)
    }

    /// Returns the id in a string such as `Team/3`, or the id of a `$alias`.
    func id(_ json: JSON) throws(TandemError) -> ObjectID {
        guard let text = json.string else {
            throw TandemError(.usage, CommandFailure.notAnObjectID(json.text))
        }
        if text.utf8.first == UInt8(ascii: "$") {
            guard let id = aliases[String(text.dropFirst())]?.id else {
                throw TandemError(.unknownObject, "no earlier op inserted an object as `\(text)`")
            }
            return id
        }
        guard let id = ObjectID(text) else {
            throw TandemError(.usage, CommandFailure.notAnObjectID(text))
        }
        return id
    }
}
