import ArgumentParser
import Tandem

/// The options of `fetch` that print values instead of objects.
struct ColumnOptions: ParsableArguments {
    @Option(
        help: """
            The columns to print instead of objects, separated by commas: key paths, and for groups @count, @sum.wins, \
            @min.wins, @max.wins or @avg.wins. Groups are sorted by these names.
            """)
    var select: String?

    @Option(help: "The key paths to group objects by, separated by commas.")
    var groupBy: String?

    @Option(
        help: "A predicate on groups and their columns, such as '@count > 3 AND @sum.wins >= 10'.")
    var having: String?

    @Flag(help: "Print equal rows once.")
    var distinct = false

    /// Returns the columns to print, or nil for objects.
    func columns() throws -> FetchColumns? {
        let groups = (groupBy ?? "").split(separator: ",").map(String.init)
        guard select != nil || !groups.isEmpty else {
            if distinct { throw CommandFailure("--distinct needs --select", code: 2) }
            if having != nil {
                throw CommandFailure("--having needs --select or --group-by", code: 2)
            }
            return nil
        }
        let columns = try select.map { try ColumnOptions.columns($0) }
        return FetchColumns(
            columns ?? groups.map { FetchColumn(keyPath: $0) } + [FetchColumn(.count)],
            groupBy: groups, having: try having.map { try ObjectPredicate(format: $0) },
            isDistinct: distinct)
    }

    private static func columns(_ text: String) throws -> [FetchColumn] {
        try text.split(separator: ",").map { text in
            guard let column = FetchColumn(String(text)) else {
                throw CommandFailure(
                    "`\(text)` is not a column for --select; give \(FetchColumn.form)", code: 2)
            }
            return column
        }
    }
}
