import TandemModel

extension PredicateCompiler {
    /// Resolves an expression; throws for a list, which is valid only after `IN` or `BETWEEN`.
    mutating func operand(
        _ expression: QueryExpression
    ) throws(TandemError) -> (Operand, OperandType) {
        switch expression {
        case .constant(let value): return (.constant(value), value.operandType)
        case .object(let id):
            guard let reference = resolver.model.reference(to: id) else {
                throw resolver.model.unknownEntity(id.entity)
            }
            return (.constant(.reference(reference)), .object)
        case .list: throw Self.invalid("a list is only allowed after IN or BETWEEN")
        case .keyPath(let names):
            guard !names.isEmpty else { throw Self.invalid("expected a key path") }
            let path = try resolver.path(names, usage)
            return (.path(path), path.type)
        case .selfObject:
            let path = try resolver.path([], usage)
            return (.path(path), path.type)
        case .variable(let name, let names):
            let path = try resolver.path(names, from: try scope(name), usage)
            return (.path(path), path.type)
        case .aggregate(let aggregate, let collection, let names):
            return try operand(aggregate, collection, names)
        case .subquery: throw Self.invalid("expected .@count or another operator after SUBQUERY(…)")
        case .arithmetic(let op, let left, let right):
            let first = try number(left)
            return (.arithmetic(op, first, try number(right)), .number)
        }
    }

    private func scope(_ variable: String) throws(TandemError) -> Int {
        let scopes = resolver.scopes
        guard
            let index = scopes.indices.dropFirst().last(where: { scopes[$0].variable == variable })
        else { throw Self.invalid("there is no variable `$\(variable)` here") }
        return index
    }

    private mutating func number(_ expression: QueryExpression) throws(TandemError) -> Operand {
        let (operand, type) = try operand(expression)
        guard type.isNumeric || type == .null else {
            throw Self.invalid("arithmetic needs numbers, not \(type.name)")
        }
        if operand.isToMany { throw Self.toMany(expression) }
        return operand
    }

    // MARK: Collections

    private mutating func operand(
        _ aggregate: Aggregate, _ expression: QueryExpression, _ names: [String]
    ) throws(TandemError) -> (Operand, OperandType) {
        guard expression != .keyPath([]) else {
            throw Self.invalid(
                "@\(aggregate.rawValue) of an object follows a to-many relationship, as in "
                    + "players.@count; without one it is an aggregate of a group")
        }
        let (collection, base) = try collection(expression)
        if aggregate == .count {
            guard names.isEmpty else { throw Self.invalid("nothing can follow @count") }
            let tail = CompiledPath(root: 0, type: .attribute(.int))
            return (.aggregate(.count, collection, tail), .attribute(.int))
        }
        guard !names.isEmpty else {
            throw Self.invalid("expected a property after @\(aggregate.rawValue)")
        }
        let tail = try resolver.path(names, after: base, usage)
        guard tail.type != .object else {
            throw Self.invalid("@\(aggregate.rawValue) must end with an attribute")
        }
        guard tail.type.group == .number || aggregate == .min || aggregate == .max else {
            throw Self.invalid("@\(aggregate.rawValue) needs numbers, not \(tail.type.name)")
        }
        let isAsAttribute = aggregate == .min || aggregate == .max
        return (.aggregate(aggregate, collection, tail), isAsAttribute ? tail.type : .number)
    }

    private mutating func collection(
        _ expression: QueryExpression
    ) throws(TandemError) -> (CollectionNode, CompiledPath) {
        if case .subquery(let inner, let variable, let predicate) = expression {
            let path = try path(toMany: inner)
            let scope = PathResolver.Scope(
                variable: variable, entity: try resolver.destination(of: path),
                prefix: resolver.prefix(of: path))
            resolver.scopes.append(scope)
            defer { resolver.scopes.removeLast() }
            return (.subquery(path, try compile(predicate)), path)
        }
        let path = try path(toMany: expression)
        return (.path(path), path)
    }

    private mutating func path(
        toMany expression: QueryExpression
    ) throws(TandemError) -> CompiledPath {
        let (operand, type) = try operand(expression)
        guard case .path(let path) = operand, path.isToMany, type == .object else {
            throw Self.invalid(
                "`\(expression.format)` is not a collection; expected a to-many relationship")
        }
        return path
    }
}

extension PathResolver {
    /// Returns whether a key path from the object itself exists and is to-many.
    func isToMany(_ names: [String]) throws(TandemError) -> Bool {
        var copy = self
        return try copy.path(names, .predicate).isToMany
    }
}

extension QueryExpression {
    /// Whether the expression's type is determined by the model.
    var isPath: Bool {
        switch self {
        case .keyPath, .variable, .aggregate, .selfObject, .arithmetic: true
        default: false
        }
    }
}

extension PropertyValue {
    /// The type of a constant.
    var operandType: OperandType {
        switch self {
        case .null: .null
        case .reference: .object
        default: type.map { .attribute($0) } ?? .null
        }
    }
}
