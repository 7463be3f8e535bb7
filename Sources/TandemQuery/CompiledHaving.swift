import TandemModel

/// A condition on groups, resolved against the columns of a fetch.
///
/// A group is judged as an object is: its values make a row of an entity that has an attribute for each column. So all that predicates
/// know holds for groups too, by the same code.
struct CompiledHaving: Sendable {
    private let exact: GroupForm
    /// Where sums of integers are doubles, since one has no room in an integer; nil where there are no such sums.
    private let wide: GroupForm?
    private let sums: [Int]

    /// Resolves a condition over columns, each of which has values of a type.
    ///
    /// Throws `invalidPredicate` for what is no column, and what ``CompiledRequest`` throws.
    init(
        _ predicate: ObjectPredicate, _ columns: [FetchColumn], _ types: [OperandType]
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
            throw names.spoken(error)
        }
    }

    /// Whether a group with these values, one a column, is told of; nil when the reader does not hold a text that it depends on.
    func matches<R: GraphReader & ~Copyable>(_ values: [Value], _ reader: borrowing R) -> Bool? {
        let isWide = sums.contains { if case .double = values[$0] { true } else { false } }
        return (isWide ? wide ?? exact : exact).matches(values, reader)
    }
}

/// An entity with an attribute for each column, and the condition over it.
private struct GroupForm: Sendable {
    private let request: CompiledRequest
    /// The column and the type of each attribute, by slot.
    private let places: [(column: Int, type: AttributeType)]

    init(
        _ predicate: ObjectPredicate, _ types: [AttributeType?], _ names: ColumnNames
    ) throws(TandemError) {
        let attributes = types.enumerated().compactMap { column, type in
            type.map { Attribute(names.name(of: column), $0) }
        }
        let entity = Entity("Group") { for attribute in attributes { attribute } }
        let model: CompiledModel
        do {
            model = try CompiledModel(Model(entities: [entity]))
        } catch {
            throw TandemError(.usage, "groups can't be judged: \(error)")
        }
        request = try CompiledRequest(
            FetchRequest(entity: "Group", predicate: predicate), in: model)
        let columns = Dictionary(
            uniqueKeysWithValues: types.indices.map { (names.name(of: $0), $0) })
        places = request.entity.properties.compactMap { property in
            guard let column = columns[property.name], let type = types[column] else { return nil }
            return (column, type)
        }
    }

    func matches<R: GraphReader & ~Copyable>(_ values: [Value], _ reader: borrowing R) -> Bool? {
        let row = Row(
            places.map { values[$0.column].asColumn($0.type) }, of: request.entity,
            version: request.model.version)
        let object = ObjectReference(tag: request.entity.tag, number: 1)
        return request.matches(object, row, reader)
    }
}

/// The names of attributes that stand for columns, which may have any name.
private struct ColumnNames {
    let columns: [FetchColumn]

    init(_ columns: [FetchColumn]) { self.columns = columns }

    func name(of column: Int) -> String { "column_\(column)_" }

    func renamed(_ predicate: ObjectPredicate) throws(TandemError) -> ObjectPredicate {
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

    private func renamed(_ parts: [ObjectPredicate]) throws(TandemError) -> [ObjectPredicate] {
        var result: [ObjectPredicate] = []
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
            "groups have no column `\(expression.format.prefix(100))`; they have "
                + columns.map(\.description).joined(separator: ", "))
    }

    /// An error in the words of who wrote the condition.
    func spoken(_ error: TandemError) -> TandemError {
        var error = error
        error.offset = nil
        for (index, column) in columns.enumerated() {
            error.message.replace(name(of: index), with: column.description)
        }
        return error
    }
}

extension OperandType {
    /// The type of an attribute that holds such values; nil for objects, which have none to compare.
    fileprivate var attributeType: AttributeType? {
        switch self {
        case .attribute(let type): type
        case .number: .double
        case .null, .object: nil
        }
    }
}

extension Value {
    /// The value in a column of a type: sums over nothing are integers, whatever is summed.
    fileprivate func asColumn(_ type: AttributeType) -> Value {
        switch (self, type) {
        case (.int(let number), .double): .double(Double(number))
        case (.int(let number), .decimal): Value.int(number).coerced(to: .decimal) ?? .null
        default: self.type == type ? self : .null
        }
    }
}
