public import TandemModel
public import TandemQuery
import TandemWire

extension ManagedObjectContext {
    /// Returns values made from the objects that a request selects, in the requested order; blocks.
    ///
    ///     let rows = try context.fetchValues(
    ///         TeamRow.self, for: FetchRequest(where: \.wins > 3, sort: ["-wins"], limit: 20))
    ///
    /// Throws the errors of ``fetch(_:prefetching:includesPendingChanges:)``, and the error of a
    /// value that could not be loaded. Costs far less than a fetch: rows that the context has not
    /// loaded are read in place, without objects. Objects that are not instances of the values'
    /// `Object` class are left out.
    ///
    /// If making a value moves the context, for example because a save is merged, the remaining
    /// values are as of the new position. Objects that are deleted at that position have no values.
    /// A fetched array of objects would keep them as deleted objects (``ManagedObject/isDeleted``).
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, for request: FetchRequest<Row.Object> = FetchRequest()
    ) throws -> [Row] {
        var (found, values): (FoundRows, [Row]?)
        var attempt = 1
        repeat {
            found = try foundValues(request, attempt)
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

    /// Returns values made from the objects that a request selects, in the requested order.
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, for request: FetchRequest<Row.Object> = FetchRequest()
    ) async throws -> [Row] {
        let found = try await foundValues(request)
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
    /// lost before the last chunk, in which case the caller fetches again.
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
        } while try found.loadNextChunk()
        return found.isBroken ? nil : rows
    }

    /// Returns the results of a request; blocks until the first chunk arrives.
    ///
    /// Throws `disconnected` if the connection was lost in the middle of `readAttempts` answers.
    @usableFromInline
    func foundValues<Object: ManagedEntity>(
        _ request: FetchRequest<Object>, _ attempt: Int
    ) throws -> FoundRows {
        guard attempt <= core.limits.readAttempts else {
            throw TandemError(
                .disconnected,
                "the connection was lost \(attempt - 1) times during the fetch; fetch again")
        }
        core.registerIfNeeded(Object.self)
        let descriptor = try request.descriptor
        failures.forgetValueFailure()
        let chunks = ChunkReader()
        return FoundRows(
            try blocking { try await fetches.selection(descriptor, into: chunks, $0) }, self, chunks
        )
    }

    /// Returns the results of a request.
    @usableFromInline
    func foundValues<Object: ManagedEntity>(
        _ request: FetchRequest<Object>
    ) async throws -> FoundRows {
        core.registerIfNeeded(Object.self)
        let descriptor = try request.descriptor
        failures.forgetValueFailure()
        return FoundRows(
            try await cancellable { try await fetches.selection(descriptor, $0) }, self)
    }

    /// Loads and returns the objects that could not be visited; blocks.
    @usableFromInline
    func loadRest(of found: FoundRows) throws -> [ManagedObject] {
        try blocking { try await loader.load(found.unvisited.map(\.record.reference), $0) }
        return found.existingUnvisited
    }

    /// Loads and returns the objects that could not be visited.
    @usableFromInline
    func loadRest(of found: FoundRows) async throws -> [ManagedObject] {
        try await cancellable { try await loader.load(found.unvisited.map(\.record.reference), $0) }
        return found.existingUnvisited
    }

    @usableFromInline
    func throwFaultFailure() throws {
        try failures.throwValueFailure()
    }

    // MARK: Columns

    /// Returns values of the objects that a request selects, or aggregates of groups, by column
    /// name; blocks.
    ///
    ///     let zones = try context.fetchDictionaries(
    ///         FetchRequest(entity: "Team", sort: ["-@sum.wins"]),
    ///         FetchColumns(["zone", "@count", "@sum.wins"], groupBy: ["zone"]))
    ///     zones.first?["@sum.wins"]
    ///
    /// Groups can be filtered by their aggregates:
    /// `having: try ObjectPredicate(format: "@count > 3")`. The daemon computes the result from
    /// saved data: pending edits are ignored, and the context does not subscribe to the entities. A
    /// value that is too long for its row is returned as a reference
    /// (`PersistentContainer.text(of:)`). Throws the errors of other fetches, and `usage` for
    /// invalid columns. At an earlier position, also throws the errors of ``fetch(_:at:members:)``.
    /// Cost: the daemon reads every matching object.
    public func fetchDictionaries<Object: ManagedObject>(
        _ request: FetchRequest<Object>, _ columns: FetchColumns, at position: Position? = nil
    ) throws -> [[String: PropertyValue]] {
        let descriptor = try request.descriptor
        return try blocking { try await fetches.values(descriptor, columns, at: position, $0) }
    }

    /// Returns values of the objects that a request selects, or aggregates of groups, by column
    /// name.
    public func fetchDictionaries<Object: ManagedObject>(
        _ request: FetchRequest<Object>, _ columns: FetchColumns, at position: Position? = nil
    ) async throws -> [[String: PropertyValue]] {
        let descriptor = try request.descriptor
        return try await cancellable {
            try await fetches.values(descriptor, columns, at: position, $0)
        }
    }
}
