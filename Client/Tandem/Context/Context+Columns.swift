public import TandemModel
public import TandemQuery
import TandemWire

/// Fetching values and aggregates instead of objects.
extension ManagedObjectContext {
    /// Values of the objects that a request picks, or aggregates of groups of them, each row by the names of its columns; blocks.
    ///
    ///     let zones = try context.fetchDictionaries(
    ///         FetchRequest(entity: "Team", sort: ["-@sum.wins"]),
    ///         FetchColumns(["zone", "@count", "@sum.wins"], groupBy: ["zone"]))
    ///     zones.first?["@sum.wins"]
    ///
    /// Groups may be left out by what they come to: `having: try ObjectPredicate(format: "@count > 3")`.
    /// The daemon computes them of what is saved: pending edits have no part in it, and nothing is followed. A value that is too long for a row comes
    /// as its reference (`PersistentContainer.text(of:)`). Throws what other fetches do, and `usage` for columns that make no sense.
    /// Cost: the daemon reads every object that matches.
    public func fetchDictionaries(
        _ request: FetchRequest, _ columns: FetchColumns
    ) throws -> [[String: Value]] {
        try columnsStep(request, columns).run(on: connection).map(columns.named)
    }

    /// Values of the objects that a request picks, or aggregates of groups of them.
    public nonisolated(nonsending) func fetchDictionaries(
        _ request: FetchRequest, _ columns: FetchColumns
    ) async throws -> [[String: Value]] {
        try await columnsStep(request, columns).runUnlessCancelled(on: connection)
            .map(columns.named)
    }

    /// The same at an earlier position; blocks.
    ///
    /// Throws what ``fetch(_:at:members:)`` does.
    public func fetchDictionaries(
        _ request: FetchRequest, _ columns: FetchColumns, at position: Position
    ) throws -> [[String: Value]] {
        try pastColumnsStep(request, columns, at: position).run(on: connection).map(columns.named)
    }

    /// The same at an earlier position.
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

    /// What the daemon would not even read.
    private func check(_ columns: FetchColumns) throws(TandemError) {
        try columns.checkLimits()
        for column in columns.columns where FetchColumn(column.description) != column {
            throw TandemError(
                .usage, "`\(column)` is no column; it has to be \(FetchColumn.form)")
        }
    }
}

extension FetchColumns {
    /// The values of a row by the names of their columns.
    fileprivate func named(_ row: [Value]) -> [String: Value] {
        Dictionary(zip(columns.map(\.description), row)) { first, _ in first }
    }

    /// The rows, if the daemon gave as many values as there are columns.
    fileprivate func checked(_ rows: [[Value]]) throws(TandemError) -> [[Value]] {
        guard rows.allSatisfy({ $0.count == columns.count }) else {
            throw TandemError(.storage, "the daemon gave other columns than were asked for")
        }
        return rows
    }
}
