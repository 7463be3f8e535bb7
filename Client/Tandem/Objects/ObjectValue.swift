public import TandemModel
public import TandemQuery

/// The id of an object with its class.
///
/// It may leave the context's actor, and identifies an object of that class in any other context.
///
///     let id = team.typedID                       // of the view context
///     try await container.withContext { try $0.existingObject(with: id).wins += 1 }
public struct TypedID<Object: ManagedEntity>: Hashable, Sendable, CustomStringConvertible {
    /// The id.
    public let id: ObjectID

    /// Creates the typed form of an id; tests and previews may make up the id.
    ///
    /// The class is checked when the object is requested.
    public init(_ id: ObjectID) { self.id = id }

    /// The printed id, such as `Team/33`.
    public var description: String { id.description }
}

extension ManagedEntity {
    /// The id with the class.
    public var typedID: TypedID<Self> { TypedID(id) }
}

/// A value that an app makes of an object, such as the content of a table row or a job's input.
///
/// The value is Sendable, so it may leave the context's actor, unlike objects. A preview can create
/// it without a container. If there are many values, declare properties with `let`: a struct with
/// `var` properties is copied by the compiler after each init.
///
///     struct TeamRow: ObjectValue {
///         let id: TypedID<Team>
///         let name: String
///         init(_ team: RowReader<Team>) { (id, name) = (team.typedID, team.name) }
///     }
///     let rows = try await context.fetchValues(TeamRow.self, where: "wins > 3", sort: ["-wins"])
public protocol ObjectValue: Sendable {
    /// The class of the objects that the value is made of.
    associatedtype Object: ManagedEntity
    /// Creates the value of an object as it is now, pending edits included; may block to load a
    /// fault.
    init(_ row: RowReader<Object>)
}

extension ManagedObjectContext {
    /// Returns the object of a typed id, as a fault if it isn't held; sends no request.
    ///
    /// Throws `unknownEntity` if the model lacks the id's entity, and `usage` if the id is of
    /// another class.
    public func object<Object>(with id: TypedID<Object>) throws -> Object {
        core.learn(Object.self)
        return try typed(try object(with: id.id))
    }

    /// Returns the loaded object of a typed id; blocks if it isn't held.
    ///
    /// Throws `unknownObject` if there is none, and `usage` if the id is of another class.
    public func existingObject<Object>(with id: TypedID<Object>) throws -> Object {
        core.learn(Object.self)
        return try typed(try existingObject(with: id.id))
    }

    /// Returns the loaded object of a typed id.
    ///
    /// Throws `unknownObject` if there is none, and `usage` if the id is of another class.
    public func existingObject<Object>(
        with id: TypedID<Object>
    ) async throws -> Object {
        core.learn(Object.self)
        return try typed(try await existingObject(with: id.id))
    }

    /// Returns values of the matching objects, in order; blocks.
    ///
    /// Throws the errors of ``fetch(_:where:_:sort:limit:)``, and the error of a value that could
    /// not be loaded. Costs far less than a fetch: rows that the context does not hold are read in
    /// place, without objects.
    ///
    /// If making a value moves the context, for example because a save is merged, the remaining
    /// values are as of the new position. Objects deleted by then have no values. A fetched array
    /// of objects would keep them as deleted objects (``ManagedObject/isDeleted``).
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        sort: [String] = [], limit: Int? = nil
    ) throws -> [Row] {
        try fetchValues(
            type, for: FetchRequest(Row.Object.entity.name, format, arguments, sort, limit))
    }

    /// Returns values of the matching objects, in order.
    ///
    /// Throws the errors of ``fetch(_:where:_:sort:limit:)``, and the error of a value that could
    /// not be loaded. Costs far less than a fetch: rows that the context does not hold are read in
    /// place, without objects. If making a value moves the context, the remaining values are as of
    /// the new position, and objects deleted by then have no values.
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, where format: String? = nil, _ arguments: [PredicateArgument] = [],
        sort: [String] = [], limit: Int? = nil
    ) async throws -> [Row] {
        try await fetchValues(
            type, for: FetchRequest(Row.Object.entity.name, format, arguments, sort, limit))
    }

    /// Returns values of a request's objects, in order; blocks.
    ///
    /// Throws the errors of ``fetch(_:prefetching:includesPendingChanges:)``, and the error of a
    /// value that could not be loaded. Objects of another class than the values' are left out.
    ///
    ///     let request = FetchRequest(entity: "Team", sort: ["-wins"], limit: 20, offset: 40)
    ///     let page = try context.fetchValues(TeamRow.self, for: request)
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, for request: FetchRequest
    ) throws -> [Row] {
        var (found, values): (FoundRows, [Row]?)
        var attempt = 1
        repeat {
            found = try foundValues(Row.Object.self, request, attempt)
            values = try self.values(Row.self, of: found)
            attempt += 1
        } while values == nil
        var rows = values ?? []
        try loadRest(of: found).forEach {
            if let object = $0 as? Row.Object { rows.append(Row(RowReader(object))) }
        }
        try throwFaultFailure()
        return rows
    }

    /// Returns values of a request's objects, in order.
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, for request: FetchRequest
    ) async throws -> [Row] {
        let found = try await foundValues(Row.Object.self, request)
        var rows = try values(Row.self, of: found) ?? []
        for object in try await loadRest(of: found) {
            if let object = object as? Row.Object { rows.append(Row(RowReader(object))) }
        }
        try throwFaultFailure()
        return rows
    }

    /// Returns the values of the rows that can be visited in place.
    ///
    /// The values are created directly in the array's storage. Returns nil if the connection was
    /// lost before the last chunk; fetch again then.
    @inlinable
    func values<Row: ObjectValue>(_ type: Row.Type, of found: FoundRows) throws -> [Row]? {
        var rows: [Row] = []
        rows.reserveCapacity(found.expectedCount)
        repeat {
            try rows.append(addingCapacity: found.count) { span in
                try found.forEach(where: { $0 is Row.Object.Type }) { source in
                    span.append(Row(RowReader(source)))
                }
            }
        } while try found.takeNext()
        return found.isBroken ? nil : rows
    }

    /// Returns the results of a request; blocks until the first chunk arrives.
    ///
    /// Throws `disconnected` if the connection was lost in the middle of too many answers.
    @usableFromInline
    func foundValues(
        _ type: any ManagedEntity.Type, _ request: FetchRequest, _ attempt: Int
    ) throws -> FoundRows {
        guard attempt <= core.limits.readAttempts else {
            throw TandemError(
                .disconnected,
                "the connection was lost during \(attempt - 1) answers; fetch again")
        }
        core.learn(type)
        valueFailure = nil
        let parts = ChunkReader()
        return FoundRows(
            try blocking { try await picked(request, into: parts, $0) }, self, parts)
    }

    /// Returns the results of a request.
    @usableFromInline
    func foundValues(
        _ type: any ManagedEntity.Type, _ request: FetchRequest
    ) async throws -> FoundRows {
        core.learn(type)
        valueFailure = nil
        return FoundRows(
            try await cancellable { try await picked(request, $0) }, self)
    }

    /// Returns the objects that could not be visited, loaded; blocks.
    @usableFromInline
    func loadRest(of found: FoundRows) throws -> [ManagedObject] {
        try blocking { try await load(found.rest.map(\.record.reference), $0) }
        return found.left
    }

    /// Returns the objects that could not be visited, loaded.
    @usableFromInline
    func loadRest(of found: FoundRows) async throws -> [ManagedObject] {
        try await cancellable { try await load(found.rest.map(\.record.reference), $0) }
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
            throw TandemError(.usage, "\(object.id) is not of the entity \(Object.entity.name)")
        }
        return typed
    }
}
