import TandemModel
import TandemQuery
import TandemWire

/// Fetches values at an earlier position.
struct PastReads: ContextPart {
    let context: ManagedObjectContext

    /// Returns the objects that a request selects at a position, as values.
    func fetchPast(
        _ request: FetchDescriptor, at position: Position, _ members: [String], _ calls: DaemonCalls
    ) async throws -> [ObjectSnapshot] {
        let (answer, session) = try await past(request, .rows, at: position, calls)
        let found = try answer.objects.map { try ObjectSnapshot($0, session.model) }
        let lists = try await Self.members(
            members, request.entity, answer.objects.map(\.object), at: position, session, calls)
        return found.map { $0.adding(lists[$0.id] ?? [:], of: members) }
    }

    /// Returns the answer to a fetch at a position, and the session under whose model it was read.
    func past(
        _ request: FetchDescriptor, _ kind: Fetch.Kind, at position: Position,
        columns: FetchColumns? = nil, _ calls: DaemonCalls
    ) async throws -> (FetchAnswer, ServerState) {
        try request.checkRange()
        guard position.number > 0 else {
            throw TandemError(.historyExpired, "position 0 has no state to read; the first is 1")
        }
        return try await logged(
            .fetch, { request.loggedFields($0.0, kind) + [("at", "\(position.number)")] }
        ) {
            let session = try await session(reaching: position, calls)
            let fetch = Fetch(request: request, kind: kind, at: position.number, columns: columns)
            let answer: FetchAnswer = try await calls.answer(to: .fetch(fetch)) {
                if case .fetched(let answer) = $0 { answer } else { nil }
            }
            guard answer.position == position.number else {
                throw TandemError.unexpectedAnswer("another position")
            }
            return (answer, session)
        }
    }

    /// Returns the session after the context has merged up to a position.
    ///
    /// A pinned context does not move; for it, the journal only has to reach the position.
    private func session(
        reaching position: Position, _ calls: DaemonCalls
    ) async throws -> ServerState {
        let session = try await connectedSession(calls)
        if position.isComparable(with: session.position(0)), position.number <= merged {
            return session
        }
        if root.family.pin != nil { return try await pins.wait(for: position, session, calls) }
        _ = try await follower.reach(position, 10, calls)
        return try await connectedSession(calls)
    }

    /// Returns the members of the objects' to-many relationships at a position, by name.
    private static func members(
        _ names: [String], _ entity: String, _ objects: [ObjectReference], at position: Position,
        _ session: ServerState, _ calls: DaemonCalls
    ) async throws -> [ObjectID: [String: [ObjectID]]] {
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
        guard !requests.isEmpty else { return [:] }
        let read = Read(members: requests, modelVersion: model.version, at: position.number)
        let answer: ReadAnswer = try await calls.answer(to: .read(read)) {
            if case .objects(let answer) = $0 { answer } else { nil }
        }
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
        return lists
    }
}

extension ContextPart {
    var pastReads: PastReads { PastReads(context: context) }
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

    /// Returns a copy with the members of the named relationships; a relationship that is not in
    /// `lists` has no members.
    fileprivate func adding(
        _ lists: [String: [ObjectID]], of names: [String]
    ) -> ObjectSnapshot {
        var copy = self
        for name in names { copy.members[name] = lists[name] ?? [] }
        return copy
    }
}
