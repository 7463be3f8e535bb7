import TandemModel
import TandemQuery

extension FetchColumns {
    /// Throws `usage` for columns that the daemon could not decode.
    func check() throws(TandemError) {
        try checkLimits()
        for column in columns where FetchColumn(column.description) != column {
            throw TandemError(
                .usage, "`\(column)` is not a column; give \(FetchColumn.form)")
        }
    }

    /// Returns the values of each row by column name.
    ///
    /// Throws `storage` if a row does not have one value for each column.
    func named(_ rows: [[PropertyValue]]) throws(TandemError) -> [[String: PropertyValue]] {
        guard rows.allSatisfy({ $0.count == columns.count }) else {
            throw TandemError.unexpectedAnswer("columns")
        }
        let names = columns.map(\.description)
        return rows.map { Dictionary(zip(names, $0)) { first, _ in first } }
    }
}
