package import TandemModel

/// The columns of a value fetch, resolved against a model.
package struct CompiledColumns: Sendable {
    /// The columns as declared.
    package let columns: FetchColumns
    /// The request for the objects; its refresh key paths are the key paths of the columns and
    /// groups.
    package let objects: CompiledRequest
    let request: FetchDescriptor
    /// The index of each column's value among the key paths; nil for the number of objects.
    let valueIndexes: [Int?]
    /// The indexes of the values by which objects are grouped.
    let groupIndexes: [Int]
    /// The number of columns with sums or averages, for which every number is kept.
    let summed: Int
    /// The columns by which groups are sorted.
    let order: [(column: Int, key: SortComponent)]
    /// The condition on groups; nil for all groups.
    let having: CompiledHaving?

    /// Resolves the columns of a request.
    ///
    /// Throws ``TandemError``:
    /// - everything that ``CompiledRequest`` throws
    /// - `usage` for no columns, too many columns or a repeated column
    /// - `usage` for a column of groups that is neither an aggregate nor a grouping key path, a sum
    ///   of values that are not numbers, or a to-many key path
    /// - `usage` for a sort key of groups that is not a column, or a condition on groups if there
    ///   are no groups
    /// - `invalidPredicate` for a condition on groups with a name that is not a column
    package init(
        _ columns: FetchColumns, of request: FetchDescriptor, in model: CompiledModel
    ) throws(TandemError) {
        let most = FetchColumns.maximumColumns
        try columns.checkLimits()
        guard !columns.columns.isEmpty else {
            throw Self.misuse("a fetch of values needs 1 to \(most) columns")
        }
        guard Set(columns.columns).count == columns.columns.count else {
            throw Self.misuse("a column occurs twice; name each column once")
        }
        var keyPaths = columns.groupBy
        for column in columns.columns {
            guard let keyPath = column.keyPath, !keyPaths.contains(keyPath) else { continue }
            keyPaths.append(keyPath)
        }
        self.columns = columns
        self.request = request
        objects = try CompiledRequest(
            columns.objectRequest(for: request), refreshKeyPaths: keyPaths, in: model)
        valueIndexes = columns.columns.map { $0.keyPath.flatMap { keyPaths.firstIndex(of: $0) } }
        groupIndexes = Array(columns.groupBy.indices)
        summed = columns.columns.count { $0.aggregate == .sum || $0.aggregate == .avg }
        order = try Self.order(columns, request)
        having = try Self.having(columns, valueIndexes, objects)
        try check()
    }

    private static func having(
        _ columns: FetchColumns, _ valueIndexes: [Int?], _ objects: CompiledRequest
    ) throws(TandemError) -> CompiledHaving? {
        guard let predicate = columns.having?.tree else { return nil }
        guard columns.isGrouped else {
            throw misuse(
                "a condition on groups needs groups; give columns to group by, or a predicate on objects"
            )
        }
        let types = zip(columns.columns, valueIndexes).map { column, index -> OperandType in
            switch column.aggregate {
            case .count: .attribute(.int)
            case .avg: .attribute(.double)
            default: index.map { objects.refresh[$0].path.type } ?? .null
            }
        }
        return try CompiledHaving(predicate, columns.columns, types)
    }

    private func check() throws(TandemError) {
        for (keyPath, path) in objects.refresh where path.isToMany {
            throw Self.misuse("`\(keyPath)` refers to many objects; a column needs one value")
        }
        for (column, index) in zip(columns.columns, valueIndexes) {
            if column.aggregate == nil {
                let isGrouped = index.map { groupIndexes.contains($0) } ?? false
                guard !columns.isGrouped || isGrouped else {
                    throw Self.misuse(
                        "column `\(column)` must be a grouping key path or an aggregate, such as "
                            + "@max.\(column)")
                }
            } else if let index {
                try check(column, objects.refresh[index].path.type)
            }
        }
        guard columns.isGrouped else { return }
        for (column, key) in order where key.selector != .compare {
            let index = columns.columns[column].aggregate == nil ? valueIndexes[column] : nil
            guard let index, objects.refresh[index].path.type.isText else {
                throw Self.misuse(
                    "\(key.selector.name) needs text, and `\(key.keyPath)` is not text")
            }
        }
    }

    private func check(_ column: FetchColumn, _ type: OperandType) throws(TandemError) {
        switch column.aggregate {
        case .sum, .avg:
            guard type.group == .number else {
                throw Self.misuse("`\(column)` needs numbers, not \(type.name)")
            }
        case .min, .max:
            guard type != .object else {
                throw Self.misuse("`\(column)` must end with an attribute")
            }
        case .count, nil: break
        }
    }

    private static func order(
        _ columns: FetchColumns, _ request: FetchDescriptor
    ) throws(TandemError) -> [(column: Int, key: SortComponent)] {
        guard columns.isGrouped else { return [] }
        var order: [(column: Int, key: SortComponent)] = []
        for key in request.sort {
            guard let column = columns.columns.firstIndex(where: { $0.description == key.keyPath })
            else {
                throw misuse("groups can only be sorted by their columns, not by `\(key.keyPath)`")
            }
            order.append((column, key))
        }
        return order
    }

    private static func misuse(_ message: String) -> TandemError {
        TandemError(.usage, String(message.prefix(500)))
    }

    /// Returns the values of the key paths of an object, in order; nil if the reader lacks an
    /// object on a path.
    package func values<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: Row, _ reader: borrowing R
    ) -> [PropertyValue]? {
        row.withView { row in
            guard let evaluation = objects.evaluation(object, row) else { return nil }
            var values: [PropertyValue] = []
            values.reserveCapacity(objects.refresh.count)
            for (_, path) in objects.refresh {
                guard let value = evaluation.value(path, reader) else { return nil }
                values.append(value)
            }
            return values
        }
    }
}
