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
            found = try FoundRows.found(by: request, in: self, attempt)
            values = try found.values(Row.self)
            attempt += 1
        } while values == nil
        try found.loadUnvisited()
        return try found.completed(values ?? [])
    }

    /// Returns values made from the objects that a request selects, in the requested order.
    ///
    /// Unlike the blocking form, it receives the whole answer before it makes the first value:
    /// otherwise a save that is merged between two chunks would move the context.
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, for request: FetchRequest<Row.Object> = FetchRequest()
    ) async throws -> [Row] {
        let found = try await FoundRows.found(by: request, in: self)
        let values = try found.values(Row.self) ?? []
        try await found.loadUnvisited()
        return try found.completed(values)
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
