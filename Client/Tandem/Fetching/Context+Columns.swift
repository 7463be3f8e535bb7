public import TandemModel
public import TandemQuery
import TandemWire

/// Fetches of values and aggregates instead of objects.
extension ManagedObjectContext {
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
    /// invalid columns. Cost: the daemon reads every matching object.
    public func fetchDictionaries(
        _ request: FetchRequest, _ columns: FetchColumns
    ) throws -> [[String: Value]] {
        try blocking { try await values(request, columns, $0) }
    }

    /// Returns values of the objects that a request selects, or aggregates of groups, by column
    /// name.
    public func fetchDictionaries(
        _ request: FetchRequest, _ columns: FetchColumns
    ) async throws -> [[String: Value]] {
        try await cancellable { try await values(request, columns, $0) }
    }

    /// Returns values or aggregates at an earlier position; blocks.
    ///
    /// Throws the errors of ``fetch(_:at:members:)``.
    public func fetchDictionaries(
        _ request: FetchRequest, _ columns: FetchColumns, at position: Position
    ) throws -> [[String: Value]] {
        try blocking { try await values(request, columns, at: position, $0) }
    }

    /// Returns values or aggregates at an earlier position.
    public func fetchDictionaries(
        _ request: FetchRequest, _ columns: FetchColumns, at position: Position
    ) async throws -> [[String: Value]] {
        try await cancellable { try await values(request, columns, at: position, $0) }
    }

    // MARK: Operations

    private func values(
        _ request: FetchRequest, _ columns: FetchColumns, _ calls: DaemonCalls
    ) async throws -> [[String: Value]] {
        try check(columns)
        let answer = try await fetched(request, kind: .columns, columns: columns, calls)
        return try columns.named(answer.values)
    }

    private func values(
        _ request: FetchRequest, _ columns: FetchColumns, at position: Position,
        _ calls: DaemonCalls
    ) async throws -> [[String: Value]] {
        try check(columns)
        let (answer, _) = try await past(
            request, .columns, at: position, columns: columns, calls)
        return try columns.named(answer.values)
    }

    /// Throws `usage` for columns that the daemon could not decode.
    private func check(_ columns: FetchColumns) throws(TandemError) {
        try columns.checkLimits()
        for column in columns.columns where FetchColumn(column.description) != column {
            throw TandemError(
                .usage, "`\(column)` is not a column; give \(FetchColumn.form)")
        }
    }
}

extension FetchColumns {
    /// Returns the values of each row by column name.
    ///
    /// Throws `storage` if the number of a row's values is not the number of columns.
    fileprivate func named(_ rows: [[Value]]) throws(TandemError) -> [[String: Value]] {
        guard rows.allSatisfy({ $0.count == columns.count }) else {
            throw TandemError.unexpectedAnswer("columns")
        }
        let names = columns.map(\.description)
        return rows.map { Dictionary(zip(names, $0)) { first, _ in first } }
    }
}
