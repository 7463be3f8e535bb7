public import TandemModel
public import TandemQuery

/// The id of an object with its class: it may leave the context's actor, and leads to an object of that class in any other context.
///
///     let id = team.typedID                       // of the view context
///     try await container.withContext { try $0.existingObject(with: id).wins += 1 }
public struct TypedID<Object: ManagedEntity>: Hashable, Sendable, CustomStringConvertible {
    /// The id.
    public let id: ObjectID

    /// The typed form of an id, which a test or a preview may make up.
    ///
    /// That it is one of the class is checked when its object is asked for.
    public init(_ id: ObjectID) { self.id = id }

    /// The printed id, `Team/33`.
    public var description: String { id.description }
}

extension ManagedEntity {
    /// The id with the class.
    public var typedID: TypedID<Self> { TypedID(id) }
}

/// A value that an app makes of an object: what a row shows, what a job needs.
///
/// Being Sendable it may leave the context's actor, which objects never do. A preview makes it without a container. Where there are
/// many, declare properties with `let`: of a struct whose properties are `var` the compiler copies each that its init has made.
///
///     struct TeamRow: ObjectValue {
///         let id: TypedID<Team>
///         let name: String
///         init(_ team: Team) { (id, name) = (team.typedID, team.name) }
///     }
///     let rows = try await context.fetchValues(TeamRow.self, where: "wins > 3", sort: ["-wins"])
public protocol ObjectValue: Sendable {
    /// The class of the objects that it is made of.
    associatedtype Object: ManagedEntity
    /// The value of an object as it is now, pending edits included; reading may block to load a fault.
    ///
    /// It may be made of many objects, one after the other, of which nobody else knows: one that is held here stays the object of its
    /// row, one that is only remembered otherwise (weakly, by its address) may be that of another row afterwards.
    init(_ object: Object)
}

extension ManagedObjectContext {
    /// The object of a typed id, as a fault if it isn't held; nothing is asked of the daemon.
    ///
    /// Throws `unknownEntity` for an id of no entity of the model, `usage` for one of another class.
    public func object<Object>(with id: TypedID<Object>) throws -> Object {
        core.learn(Object.self)
        return try typed(try object(with: id.id))
    }

    /// The object of a typed id, loaded; blocks if it isn't held.
    ///
    /// Throws `unknownObject` when there is none, `usage` for an id of another class.
    public func existingObject<Object>(with id: TypedID<Object>) throws -> Object {
        core.learn(Object.self)
        return try typed(try existingObject(with: id.id))
    }

    /// The object of a typed id, loaded.
    ///
    /// Throws `unknownObject` when there is none, `usage` for an id of another class.
    public nonisolated(nonsending) func existingObject<Object>(
        with id: TypedID<Object>
    ) async throws -> Object {
        core.learn(Object.self)
        return try typed(try await existingObject(with: id.id))
    }

    /// Values of the objects that match, in order; blocks.
    ///
    /// Throws what ``fetch(_:where:_:sort:limit:)`` does, and what kept a value from being loaded. Costs far less than a fetch: of rows
    /// that the context does not know objects are not made but lent.
    ///
    /// Where making a value leads the context elsewhere, as a save that is merged does, the values that follow are as of there, and
    /// objects that are gone have none. An array of objects keeps these, as deleted ones without values (``ManagedObject/isDeleted``).
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        sort: [String] = [], limit: Int? = nil
    ) throws -> [Row] {
        try fetchValues(
            type, for: FetchRequest(Row.Object.entity.name, format, arguments, sort, limit))
    }

    /// Values of the objects that match, in order.
    ///
    /// Throws what ``fetch(_:where:_:sort:limit:)`` does, and what kept a value from being loaded. Costs far less than a fetch: of rows
    /// that the context does not know objects are not made but lent. Where making a value leads the context elsewhere, the values that
    /// follow are as of there, and objects that are gone have none.
    @inlinable
    public nonisolated(nonsending) func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        sort: [String] = [], limit: Int? = nil
    ) async throws -> [Row] {
        try await fetchValues(
            type, for: FetchRequest(Row.Object.entity.name, format, arguments, sort, limit))
    }

    /// Values of the objects that a request picks, in its order; blocks.
    ///
    /// Throws what ``fetch(_:prefetching:includesPendingChanges:)`` does, and what kept a value from being loaded. Of objects of another
    /// class than the values are made of there are none.
    ///
    ///     let request = FetchRequest(entity: "Team", sort: ["-wins"], limit: 20, offset: 40)
    ///     let page = try context.fetchValues(TeamRow.self, for: request)
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, for request: FetchRequest
    ) throws -> [Row] {
        var (found, values): (LentObjects, [Row]?)
        var attempt = 1
        repeat {
            found = try foundValues(Row.Object.self, request, attempt)
            values = try self.values(Row.self, of: found)
            attempt += 1
        } while values == nil
        var rows = values ?? []
        try loadRest(of: found).forEach {
            if let object = $0 as? Row.Object { rows.append(Row(object)) }
        }
        try throwFaultFailure()
        return rows
    }

    /// Values of the objects that a request picks, in its order.
    @inlinable
    public nonisolated(nonsending) func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, for request: FetchRequest
    ) async throws -> [Row] {
        let found = try await foundValues(Row.Object.self, request)
        var rows = try values(Row.self, of: found) ?? []
        for object in try await loadRest(of: found) {
            if let object = object as? Row.Object { rows.append(Row(object)) }
        }
        try throwFaultFailure()
        return rows
    }

    /// The values of what can be lent, made where they stay; nil if the answer broke off, to be asked for again.
    @inlinable
    func values<Row: ObjectValue>(_ type: Row.Type, of found: LentObjects) throws -> [Row]? {
        var rows: [Row] = []
        rows.reserveCapacity(found.expectedCount)
        repeat {
            try rows.append(addingCapacity: found.count) { span in
                try found.forEach { object in
                    guard let object = object as? Row.Object else { return }
                    span.append(Row(object))
                }
            }
        } while try found.takeNext()
        return found.isBroken ? nil : rows
    }

    /// What a request picks; blocks until there is something to begin with.
    ///
    /// Throws `disconnected` when the answer broke off too often.
    @usableFromInline
    func foundValues(
        _ type: any ManagedEntity.Type, _ request: FetchRequest, _ attempt: Int
    ) throws -> LentObjects {
        guard attempt <= core.limits.readAttempts else {
            throw TandemError(
                .disconnected,
                "the connection was lost in the middle of \(attempt - 1) answers; fetch again")
        }
        core.learn(type)
        valueFailure = nil
        let parts = AnswerParts()
        return LentObjects(
            try pickedStep(request, into: parts).run(on: connection), self, parts)
    }

    /// What a request picks.
    @usableFromInline
    nonisolated(nonsending) func foundValues(
        _ type: any ManagedEntity.Type, _ request: FetchRequest
    ) async throws -> LentObjects {
        core.learn(type)
        valueFailure = nil
        return LentObjects(
            try await pickedStep(request).runUnlessCancelled(on: connection), self)
    }

    /// What could not be lent, loaded; blocks.
    @usableFromInline
    func loadRest(of found: LentObjects) throws -> [ManagedObject] {
        try loadStep(found.rest.map(\.record.reference), members: []).run(on: connection)
        return found.left
    }

    /// What could not be lent, loaded.
    @usableFromInline
    nonisolated(nonsending) func loadRest(of found: LentObjects) async throws -> [ManagedObject] {
        try await loadStep(found.rest.map(\.record.reference), members: [])
            .runUnlessCancelled(on: connection)
        return found.left
    }

    @usableFromInline
    func throwFaultFailure() throws {
        guard let failure = faultFailure ?? valueFailure else { return }
        (faultFailure, valueFailure) = (nil, nil)
        throw failure
    }

    private func typed<Object: ManagedEntity>(_ object: ManagedObject) throws -> Object {
        guard let typed = object as? Object else {
            throw TandemError(.usage, "\(object.id) is no \(Object.entity.name)")
        }
        return typed
    }
}
