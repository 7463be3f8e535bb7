import TandemModel

/// A condition on groups, resolved against the columns of a fetch.
///
/// A group is evaluated like an object: its values form a row of an entity with an attribute for
/// each column. The evaluator of predicates is therefore used for groups as well.
struct CompiledHaving: Sendable {
    private let exact: GroupForm
    /// The condition with integer sums as doubles, for groups in which such a sum overflows; nil if
    /// no column is an integer sum.
    private let wide: GroupForm?
    private let sums: [Int]

    /// Resolves a condition over columns with values of the given types.
    ///
    /// Throws `invalidPredicate` for a name that is not a column, and all errors that
    /// ``CompiledRequest`` throws.
    init(
        _ predicate: PredicateTree, _ columns: [FetchColumn], _ types: [OperandType]
    ) throws(TandemError) {
        try PredicateLimits.check(predicate)
        let names = ColumnNames(columns)
        let renamed = try names.renamed(predicate)
        let types = types.map(\.attributeType)
        sums = columns.indices.filter { columns[$0].aggregate == .sum && types[$0] == .int }
        do {
            exact = try GroupForm(renamed, types, names)
            var wider = types
            for column in sums { wider[column] = .double }
            wide = sums.isEmpty ? nil : try GroupForm(renamed, wider, names)
        } catch {
            throw names.withColumnNames(error)
        }
    }

    /// Returns whether a group with these values, one per column, satisfies the condition.
    ///
    /// The result is nil if it depends on a text that the reader lacks.
    func matches<R: GraphReader & ~Copyable>(_ values: [PropertyValue], _ reader: borrowing R)
        -> Bool?
    {
        let isWide = sums.contains { if case .double = values[$0] { true } else { false } }
        return (isWide ? wide ?? exact : exact).matches(values, reader)
    }
}

/// An entity with an attribute for each column, and the condition on it.
private struct GroupForm: Sendable {
    private let request: CompiledRequest
    /// The column and the type of each attribute, by slot.
    private let columnIndexes: [(column: Int, type: AttributeType)]

    init(
        _ predicate: PredicateTree, _ types: [AttributeType?], _ names: ColumnNames
    ) throws(TandemError) {
        let attributes = types.enumerated().compactMap { column, type in
            type.map { Attribute(names.name(of: column), $0) }
        }
        let entity = Entity("Group") { for attribute in attributes { attribute } }
        let model: CompiledModel
        do {
            model = try CompiledModel(ManagedObjectModel(entities: [entity]))
        } catch {
            throw TandemError(.usage, "the condition on groups cannot be evaluated: \(error)")
        }
        request = try CompiledRequest(
            FetchDescriptor(entity: "Group", predicate: ObjectPredicate(predicate)), in: model)
        let columns = Dictionary(
            uniqueKeysWithValues: types.indices.map { (names.name(of: $0), $0) })
        columnIndexes = request.entity.properties.compactMap { property in
            guard let column = columns[property.name], let type = types[column] else { return nil }
            return (column, type)
        }
    }

    func matches<R: GraphReader & ~Copyable>(_ values: [PropertyValue], _ reader: borrowing R)
        -> Bool?
    {
        let row = Row(
            columnIndexes.map { values[$0.column].asColumn($0.type) }, of: request.entity,
            version: request.model.version)
        let object = ObjectReference(tag: request.entity.tag, number: 1)
        return request.matches(object, row, reader)
    }
}

/// The names of the attributes that represent columns; the columns' own names can be any text.
private struct ColumnNames {
    let columns: [FetchColumn]

    init(_ columns: [FetchColumn]) { self.columns = columns }

    func name(of column: Int) -> String { "column_\(column)_" }

    func renamed(_ predicate: PredicateTree) throws(TandemError) -> PredicateTree {
        switch predicate {
        case .constant: return predicate
        case .and(let parts): return .and(try renamed(parts))
        case .or(let parts): return .or(try renamed(parts))
        case .not(let part): return .not(try renamed(part))
        case .comparison(var comparison):
            comparison.left = try renamed(comparison.left)
            comparison.right = try renamed(comparison.right)
            return .comparison(comparison)
        }
    }

    private func renamed(_ parts: [PredicateTree]) throws(TandemError) -> [PredicateTree] {
        var result: [PredicateTree] = []
        for part in parts { result.append(try renamed(part)) }
        return result
    }

    private func renamed(_ expression: QueryExpression) throws(TandemError) -> QueryExpression {
        switch expression {
        case .constant, .object: return expression
        case .list(let elements):
            var result: [QueryExpression] = []
            for element in elements { result.append(try renamed(element)) }
            return .list(result)
        case .arithmetic(let op, let left, let right):
            return .arithmetic(op, try renamed(left), try renamed(right))
        case .keyPath(let names):
            return try attribute(FetchColumn(keyPath: names.joined(separator: ".")), expression)
        case .aggregate(let aggregate, .keyPath([]), let path):
            let keyPath = path.isEmpty ? nil : path.joined(separator: ".")
            return try attribute(FetchColumn(aggregate, of: keyPath), expression)
        case .selfObject, .variable, .aggregate, .subquery: throw noColumn(expression)
        }
    }

    private func attribute(
        _ column: FetchColumn, _ expression: QueryExpression
    ) throws(TandemError) -> QueryExpression {
        guard let index = columns.firstIndex(of: column) else { throw noColumn(expression) }
        return .keyPath([name(of: index)])
    }

    private func noColumn(_ expression: QueryExpression) -> TandemError {
        PredicateCompiler.invalid(
            "groups have no column `\(expression.format.prefix(100))`; the columns are "
                + columns.map(\.description).joined(separator: ", "))
    }

    /// Returns the error with the columns' own names in its message.
    func withColumnNames(_ error: TandemError) -> TandemError {
        var error = error
        error.offset = nil
        for (index, column) in columns.enumerated() {
            error.message.replace(name(of: index), with: column.description)
        }
        return error
    }
}

extension OperandType {
    /// The type of an attribute for values of this type; nil for objects, which can't be compared.
    fileprivate var attributeType: AttributeType? {
        switch self {
        case .attribute(let type): type
        case .number: .double
        case .null, .object: nil
        }
    }
}

extension PropertyValue {
    /// Returns the value converted to a column's type; an empty sum is an integer whatever that
    /// type is.
    fileprivate func asColumn(_ type: AttributeType) -> PropertyValue {
        switch (self, type) {
        case (.int(let number), .double): .double(Double(number))
        case (.int(let number), .decimal): PropertyValue.int(number).coerced(to: .decimal) ?? .null
        default: self.type == type ? self : .null
        }
    }
}
