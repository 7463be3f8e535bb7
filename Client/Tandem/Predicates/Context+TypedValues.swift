public import FoundationEssentials
public import TandemQuery

extension ManagedObjectContext {
    /// Returns values of the objects that match a typed predicate, in order; blocks.
    ///
    /// Errors and cost are those of ``fetchValues(_:for:)``. Also throws `usage` for a key path
    /// that names no property.
    ///
    ///     let rows = try context.fetchValues(TeamRow.self, where: \.wins > 3, sort: ["-wins"])
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, where predicate: TypedPredicate<Row.Object>, sort: [SortKey] = [],
        limit: Int? = nil
    ) throws -> [Row] {
        try fetchValues(
            type,
            for: FetchRequest(Row.Object.self, where: predicate, sort: sort, limit: limit))
    }

    /// Returns values of the objects that match a typed predicate, in order.
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, where predicate: TypedPredicate<Row.Object>, sort: [SortKey] = [],
        limit: Int? = nil
    ) async throws -> [Row] {
        try await fetchValues(
            type,
            for: FetchRequest(Row.Object.self, where: predicate, sort: sort, limit: limit))
    }

    /// Returns values of the objects that match a Foundation predicate, in order; blocks.
    ///
    /// Errors and cost are those of ``fetchValues(_:for:)``. Also throws the errors of
    /// ``TandemQuery/ObjectPredicate/init(_:)``.
    ///
    ///     let rows = try context.fetchValues(TeamRow.self, where: #Predicate { $0.wins > 3 })
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, where predicate: Predicate<Row.Object>, sort: [SortKey] = [],
        limit: Int? = nil
    ) throws -> [Row] {
        try fetchValues(
            type,
            for: FetchRequest(Row.Object.self, where: predicate, sort: sort, limit: limit))
    }

    /// Returns values of the objects that match a Foundation predicate, in order.
    @inlinable
    public func fetchValues<Row: ObjectValue>(
        _ type: Row.Type, where predicate: Predicate<Row.Object>, sort: [SortKey] = [],
        limit: Int? = nil
    ) async throws -> [Row] {
        try await fetchValues(
            type,
            for: FetchRequest(Row.Object.self, where: predicate, sort: sort, limit: limit))
    }
}
