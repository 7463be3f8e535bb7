import TandemModel
import TandemQuery

/// What holds for fetches of values.
enum ColumnProperties {
    /// If the sample's model takes the columns, every row has as many values, and there are no more rows than the request may have.
    static func check(_ columns: FetchColumns, _ request: FetchRequest) throws {
        let graph = try SampleGraph.get()
        guard let compiled = try? CompiledColumns(columns, of: request, in: graph.model) else {
            return
        }
        var fold = ColumnFold(compiled)
        var found = 0
        for object in graph.objects {
            guard let row = graph.rows[object],
                compiled.objects.matches(object, row, graph) == true,
                let values = compiled.values(object, row, graph)
            else { continue }
            fold.add(values)
            found += 1
        }
        guard let rows = fold.rows(graph) else { throw FuzzFinding("the sample lacks a text") }
        try hold(rows.allSatisfy { $0.count == columns.columns.count }, "a row lacks values")
        try hold(rows.count <= max(1, found), "more rows than objects")
        guard columns.isGrouped || columns.isDistinct else { return }
        try hold(rows.count <= request.limit ?? .max, "more rows than the limit")
    }
}
