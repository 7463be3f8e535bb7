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
        try columnsStep(request, columns).run(on: connection).map(columns.named)
    }

    /// Returns values of the objects that a request selects, or aggregates of groups, by column
    /// name.
    public nonisolated(nonsending) func fetchDictionaries(
        _ request: FetchRequest, _ columns: FetchColumns
    ) async throws -> [[String: Value]] {
        try await columnsStep(request, columns).runUnlessCancelled(on: connection)
            .map(columns.named)
    }

    /// Returns values or aggregates at an earlier position; blocks.
    ///
    /// Throws the errors of ``fetch(_:at:members:)``.
    public func fetchDictionaries(
        _ request: FetchRequest, _ columns: FetchColumns, at position: Position
    ) throws -> [[String: Value]] {
        try pastColumnsStep(request, columns, at: position).run(on: connection).map(columns.named)
    }

    /// Returns values or aggregates at an earlier position.
    public nonisolated(nonsending) func fetchDictionaries(
        _ request: FetchRequest, _ columns: FetchColumns, at position: Position
    ) async throws -> [[String: Value]] {
        try await pastColumnsStep(request, columns, at: position)
            .runUnlessCancelled(on: connection).map(columns.named)
    }

    // MARK: Steps

    private func columnsStep(
        _ request: FetchRequest, _ columns: FetchColumns
    ) throws -> Step<[[Value]]> {
        try check(columns)
        return try fetchedStep(request, kind: .columns, columns: columns).then { answer in
            .done(try columns.checked(answer.values))
        }
    }

    private func pastColumnsStep(
        _ request: FetchRequest, _ columns: FetchColumns, at position: Position
    ) throws -> Step<[[Value]]> {
        try check(columns)
        return try pastStep(request, .columns, at: position, columns: columns) { answer, _ in
            .done(try columns.checked(answer.values))
        }
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
    /// Returns the values of a row by column name.
    fileprivate func named(_ row: [Value]) -> [String: Value] {
        Dictionary(zip(columns.map(\.description), row)) { first, _ in first }
    }

    /// Returns the rows; throws `storage` if the number of their values is not the number of
    /// columns.
    fileprivate func checked(_ rows: [[Value]]) throws(TandemError) -> [[Value]] {
        guard rows.allSatisfy({ $0.count == columns.count }) else {
            throw TandemError.unexpectedAnswer("columns")
        }
        return rows
    }
}
