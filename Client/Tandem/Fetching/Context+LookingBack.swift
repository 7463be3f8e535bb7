public import TandemModel
public import TandemQuery
import TandemWire

/// Fetches at an earlier position, as values.
extension ManagedObjectContext {
    /// Returns what a request selected at a position, in its order, as values; blocks.
    ///
    ///     let request = FetchRequest(entity: "Team", sort: ["-wins"])
    ///     let earlier = try context.fetch(request, at: position)
    ///
    /// A context that has not reached the position first merges up to it, unless it is pinned
    /// (``pin(at:)``). Objects and pending edits are ignored. Cost: the daemon undoes everything
    /// that was saved since.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - position: The position.
    ///   - members: The to-many relationships whose members are included.
    /// - Returns: The objects as they were.
    /// - Throws: The errors of other fetches, and:
    ///   - `historyExpired` if the journal does not reach back to the position or the model was
    ///     different; the message names the oldest readable position.
    ///   - `limitExceeded` if more was saved since than the daemon undoes.
    ///   - `timeout` for a position after the journal's end.
    public func fetch(
        _ request: FetchRequest, at position: Position, members: [String] = []
    ) throws -> [ObjectSnapshot] {
        try pastFetchStep(request, at: position, members).run(on: connection)
    }

    /// Returns what a request selected at a position, in its order, as values.
    public nonisolated(nonsending) func fetch(
        _ request: FetchRequest, at position: Position, members: [String] = []
    ) async throws -> [ObjectSnapshot] {
        try await pastFetchStep(request, at: position, members).runUnlessCancelled(on: connection)
    }

    /// Returns the number of objects that a request selected at a position; blocks.
    public func count(for request: FetchRequest, at position: Position) throws -> Int {
        try pastCountStep(request, at: position).run(on: connection)
    }

    /// Returns the number of objects that a request selected at a position.
    public nonisolated(nonsending) func count(
        for request: FetchRequest, at position: Position
    ) async throws -> Int {
        try await pastCountStep(request, at: position).runUnlessCancelled(on: connection)
    }

    /// Returns a value with its content in place of a reference to the content; blocks.
    package func withContent(_ value: Value) throws -> Value {
        switch value {
        case .blob(let blob): .data(try contentStep(blob).run(on: connection))
        case .longText(let text):
            .string(
                String(
                    decoding: try contentStep(text.blob).run(on: connection),
                    as: UTF8.self))
        default: value
        }
    }

    // MARK: Steps

    private func pastCountStep(
        _ request: FetchRequest, at position: Position
    ) throws -> Step<Int> {
        try pastStep(request, .count, at: position) { answer, _ in
            .done(Int(clamping: answer.count))
        }
    }

    private func pastFetchStep(
        _ request: FetchRequest, at position: Position, _ members: [String]
    ) throws -> Step<[ObjectSnapshot]> {
        try pastStep(request, .rows, at: position) { answer, session in
            let found = try answer.objects.map { try ObjectSnapshot($0, session.model) }
            return try Self.membersStep(
                members, request.entity, answer.objects.map(\.object), at: position, session
            ).then { lists in
                .done(found.map { $0.adding(lists[$0.id] ?? [:], of: members) })
            }
        }
    }

    func pastStep<Output>(
        _ request: FetchRequest, _ kind: Fetch.Kind, at position: Position,
        columns: FetchColumns? = nil,
        use: @escaping (FetchAnswer, ServerState) throws -> Step<Output>
    ) throws -> Step<Output> {
        guard request.limit ?? 0 >= 0, request.offset >= 0 else {
            throw TandemError(.usage, "limit and offset of a fetch must not be negative")
        }
        guard position.number > 0 else {
            throw TandemError(.historyExpired, "position 0 has no state to read; the first is 1")
        }
        let step = { try self.pastAnswerStep(request, kind, columns, at: position) }
        guard let debug, debug.traces(.fetch) else { return try step().then(use) }
        return try told(.fetch, debug) { answer, _ in
            request.told(answer, kind) + [("at", "\(position.number)")]
        } _: {
            try step()
        }.then(use)
    }

    private func pastAnswerStep(
        _ request: FetchRequest, _ kind: Fetch.Kind, _ columns: FetchColumns?,
        at position: Position
    ) throws -> Step<(FetchAnswer, ServerState)> {
        try behindStep(position).then { session in
            let fetch = Fetch(
                request: request, kind: kind, at: position.number, columns: columns)
            return .ask(.fetch(fetch)) { (answer: DaemonMessage) -> FetchAnswer? in
                if case .fetched(let answer) = answer { answer } else { nil }
            } then: { answer in
                guard answer.position == position.number else {
                    throw TandemError.unexpectedAnswer("another position")
                }
                return .done((answer, session))
            }
        }
    }

    /// Returns the session after the context has merged up to a position.
    ///
    /// A pinned context does not move; for it, the journal only has to reach the position.
    private func behindStep(_ position: Position) throws -> Step<ServerState> {
        try sessionStep().then { session in
            if position.isComparable(with: session.position(0)), position.number <= self.merged {
                return .done(session)
            }
            // A pinned context must not move.
            if self.root.familyState.pin != nil { return try self.waitStep(for: position, session) }
            return try self.reachStep(position, 10).then { _ in try self.sessionStep() }
        }
    }

    /// Returns the members of to-many relationships of some objects at a position, by name.
    private static func membersStep(
        _ names: [String], _ entity: String, _ objects: [ObjectReference], at position: Position,
        _ session: ServerState
    ) throws -> Step<[ObjectID: [String: [ObjectID]]]> {
        let model = session.model
        for name in names
        where model.entity(named: entity)?.property(named: name)?.isToMany != true {
            throw TandemError(
                .unknownProperty, "\(entity) has no to-many relationship `\(name)`")
        }
        let requests = objects.flatMap { object in
            names.compactMap { name in
                model.entity(tagged: object.tag)?.slot(of: name)
                    .map { MemberRequest(owner: object, slot: $0) }
            }
        }
        guard !requests.isEmpty else { return .done([:]) }
        let read = Read(members: requests, modelVersion: model.version, at: position.number)
        return .ask(.read(read)) { (answer: DaemonMessage) -> ReadAnswer? in
            if case .objects(let answer) = answer { answer } else { nil }
        } then: { answer in
            var lists: [ObjectID: [String: [ObjectID]]] = [:]
            for list in answer.members {
                guard let entity = model.entity(tagged: list.owner.tag),
                    entity.properties.indices.contains(list.slot),
                    list.members.allSatisfy({ model.entity(tagged: $0.tag) != nil })
                else {
                    throw TandemError(
                        .storage, "the daemon sent members of an entity that the model lacks")
                }
                lists[model.id(of: list.owner), default: [:]][entity.properties[list.slot].name] =
                    list.members.map { model.id(of: $0) }
            }
            return .done(lists)
        }
    }
}

extension ObjectSnapshot {
    /// Creates a snapshot of a stored object.
    fileprivate init(_ stored: StoredObject, _ model: CompiledModel) throws(TandemError) {
        guard let entity = model.entity(tagged: stored.object.tag),
            stored.row.isValid(for: entity)
        else {
            throw TandemError(.storage, "the row of object \(stored.object.number) cannot be read")
        }
        self.init(id: model.id(of: stored.object), version: stored.version, values: [:])
        for property in entity.properties where !property.isToMany {
            values[property.name] = stored.row.uncheckedValue(property.slot, in: entity)
        }
    }

    /// Returns a copy with the members of relationships; a relationship without a list is empty.
    fileprivate func adding(
        _ lists: [String: [ObjectID]], of names: [String]
    ) -> ObjectSnapshot {
        var copy = self
        for name in names { copy.members[name] = lists[name] ?? [] }
        return copy
    }
}
