import TandemModel
import TandemQuery

/// The properties of fetches of values.
enum ColumnProperties {
    /// Checks the columns, if they fit the sample's model.
    ///
    /// Every row must have as many values, and there must not be more rows than the request allows.
    static func check(_ columns: FetchColumns, _ request: FetchDescriptor) throws {
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
        guard let rows = fold.rows(graph, {}) else { throw FuzzFinding("the sample lacks a text") }
        try hold(rows.allSatisfy { $0.count == columns.columns.count }, "a row lacks values")
        try hold(rows.count <= max(1, found), "more rows than objects")
        guard columns.isGrouped || columns.isDistinct else { return }
        try hold(rows.count <= request.limit ?? .max, "more rows than the limit")
    }
}
