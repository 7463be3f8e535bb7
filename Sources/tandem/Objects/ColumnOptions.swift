import ArgumentParser
import Tandem

/// The options by which `fetch` prints values instead of objects.
struct ColumnOptions: ParsableArguments {
    @Option(
        help: """
            What to tell instead of objects, separated by commas: key paths, and of groups @count, @sum.wins, @min.wins, \
            @max.wins or @avg.wins. Groups are sorted by these names.
            """)
    var select: String?

    @Option(help: "Key paths by which objects are grouped, separated by commas.")
    var groupBy: String?

    @Option(
        help: "A predicate on groups by their columns, such as '@count > 3 AND @sum.wins >= 10'.")
    var having: String?

    @Flag(help: "Tell rows that are the same once.")
    var distinct = false

    /// Returns the columns to print, or nil for objects.
    func columns() throws -> FetchColumns? {
        let groups = (groupBy ?? "").split(separator: ",").map(String.init)
        guard select != nil || !groups.isEmpty else {
            if distinct { throw CommandFailure("--distinct goes with --select", code: 2) }
            if having != nil {
                throw CommandFailure("--having goes with --select or --group-by", code: 2)
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
                throw CommandFailure("--select `\(text)` has to be \(FetchColumn.form)", code: 2)
            }
            return column
        }
    }
}
