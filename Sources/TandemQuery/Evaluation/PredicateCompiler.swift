import TandemModel

/// A compiler that resolves a predicate against a model and checks its types.
struct PredicateCompiler {
    var resolver: PathResolver
    let usage: ObservedPath.Usage = .predicate
    /// The whole predicate; its text is created only for the offset of an error.
    private let whole: PredicateTree

    init(_ resolver: PathResolver, _ predicate: PredicateTree) throws(TandemError) {
        try PredicateLimits.check(predicate)
        self.resolver = resolver
        whole = predicate
    }

    mutating func compile(_ predicate: PredicateTree) throws(TandemError) -> PredicateNode {
        switch predicate {
        case .constant(let value): return .constant(value)
        case .and(let parts): return .and(try compile(parts))
        case .or(let parts): return .or(try compile(parts))
        case .not(let part): return .not(try compile(part))
        case .comparison(let comparison):
            do {
                return try compile(comparison)
            } catch {
                throw located(error, predicate)
            }
        }
    }

    private mutating func compile(
        _ parts: [PredicateTree]
    ) throws(TandemError) -> [PredicateNode] {
        var nodes: [PredicateNode] = []
        for part in parts { nodes.append(try compile(part)) }
        return nodes
    }

    /// Returns the error with the comparison's text and its offset in the text of the whole
    /// predicate.
    private func located(_ error: TandemError, _ predicate: PredicateTree) -> TandemError {
        guard error.code == .invalidPredicate, error.offset == nil else { return error }
        let part = Array(predicate.format.utf8)
        let text = Array(self.whole.format.utf8)
        // A long text is not searched; the offset is then 0.
        let whole = text.count <= 16_384 ? text : []
        var result = error
        result.message += " (in `\(predicate.format.prefix(200))`)"
        result.offset =
            whole.indices.first { whole[$0] == part[0] && whole[$0...].starts(with: part) } ?? 0
        return result
    }

    // MARK: Comparisons

    private mutating func compile(
        _ written: Comparison
    ) throws(TandemError) -> PredicateNode {
        if let swapped = try collectionContains(written) { return swapped }
        let comparison = written.constantLast
        let (left, type) = try left(comparison)
        try checkOperator(comparison, type)
        var node = ComparisonNode(
            left: left, op: comparison.op, right: .value(.null), options: comparison.options,
            quantifier: comparison.quantifier)
        if comparison.quantifier == .direct, case .path(let path) = left {
            node.ownSlot = path.ownSlot
        }
        switch comparison.op {
        case .in: node.right = try members(comparison, type)
        case .between: node.right = try betweenBounds(comparison, type)
        default: node.right = try single(comparison, type)
        }
        return .comparison(node)
    }

    /// Rewrites `tags CONTAINS %@` as `%@ IN tags`.
    private mutating func collectionContains(
        _ comparison: Comparison
    ) throws(TandemError) -> PredicateNode? {
        guard comparison.op == .contains, comparison.quantifier == .direct,
            case .keyPath(let names) = comparison.left,
            try PathResolver(resolver.model, resolver.scopes[0].entity).isToMany(names)
        else { return nil }
        let swapped = Comparison(
            comparison.right, .in, comparison.left, options: comparison.options)
        return try compile(swapped)
    }

    /// Resolves the left side; a constant before `IN` is converted to the type of the collection.
    private mutating func left(
        _ comparison: Comparison
    ) throws(TandemError) -> (Operand, OperandType) {
        var (left, type) = try operand(comparison.left)
        if comparison.quantifier == .direct, left.isToMany { throw Self.toMany(comparison.left) }
        if case .constant(let value) = left, comparison.op == .in, comparison.right.isPath {
            // The right side is resolved again later; recording its use twice has no effect.
            let (_, other) = try operand(comparison.right)
            left = .constant(try PredicateCompiler.fit(value, other))
            type = other
        }
        return (left, type)
    }

    private func checkOperator(
        _ comparison: Comparison, _ type: OperandType
    ) throws(TandemError) {
        switch comparison.op {
        case .beginsWith, .contains, .endsWith, .like:
            guard type.isText || type == .null else {
                throw Self.invalid("\(comparison.op.rawValue) needs text, not \(type.name)")
            }
        case .less, .lessOrEqual, .greater, .greaterOrEqual, .between:
            guard type != .object else {
                throw Self.invalid("objects have no order; use == or IN")
            }
        default: break
        }
        guard comparison.options.isEmpty || type.isText || type == .null else {
            throw Self.invalid("[c] and [d] need text, not \(type.name)")
        }
    }

    // MARK: Right sides

    private mutating func single(
        _ comparison: Comparison, _ type: OperandType
    ) throws(TandemError) -> ComparisonNode.Right {
        if case .list = comparison.right {
            throw Self.invalid("a list is only allowed after IN or BETWEEN")
        }
        let right = try operand(comparison.right, like: type)
        guard case .constant(let value) = right else { return .operand(right) }
        guard let text = value.text else { return .value(value) }
        let test = TextTest(comparison.op, comparison.options, text)
        guard test.pattern?.isWithinLimits ?? true else {
            throw TandemError(
                .limitExceeded,
                "a pattern of LIKE can have at most \(LikePattern.maximumWildPart) characters between two *, "
                    + "if one of them is a ?")
        }
        return .text(test)
    }

    private mutating func betweenBounds(
        _ comparison: Comparison, _ type: OperandType
    ) throws(TandemError) -> ComparisonNode.Right {
        guard case .list(let ends) = comparison.right, ends.count == 2 else {
            throw Self.invalid("expected a list of two values, {a, b}, after BETWEEN")
        }
        return .between(try operand(ends[0], like: type), try operand(ends[1], like: type))
    }

    private mutating func members(
        _ comparison: Comparison, _ type: OperandType
    ) throws(TandemError) -> ComparisonNode.Right {
        if case .list(let elements) = comparison.right {
            var operands: [Operand] = []
            for element in elements { operands.append(try operand(element, like: type)) }
            let values = operands.compactMap {
                if case .constant(let value) = $0 { value } else { nil }
            }
            guard values.count == operands.count else { return .list(operands) }
            return .members(Membership(values.filter { !$0.isNull }, type, comparison.options))
        }
        let (right, other) = try operand(comparison.right)
        guard right.isToMany else {
            throw Self.invalid("expected a list {…} or a to-many key path after IN")
        }
        try PredicateCompiler.check(type, other)
        return .collection(right)
    }

    // MARK: Types

    /// Returns a single operand that can be compared with a type.
    private mutating func operand(
        _ expression: QueryExpression, like type: OperandType
    ) throws(TandemError) -> Operand {
        let (operand, other) = try operand(expression, beside: type)
        if case .constant(let value) = operand {
            return .constant(try PredicateCompiler.fit(value, type))
        }
        if operand.isToMany { throw Self.toMany(expression) }
        try PredicateCompiler.check(type, other)
        return operand
    }

    /// Returns an operand; the error for an unknown name compared with text suggests missing
    /// quotes.
    private mutating func operand(
        _ expression: QueryExpression, beside type: OperandType
    ) throws(TandemError) -> (Operand, OperandType) {
        do throws(TandemError) {
            return try operand(expression)
        } catch {
            guard error.code == .unknownProperty, type.isText else { throw error }
            var error = error
            error.message += "; write a text in quotes"
            throw error
        }
    }

    private static func check(_ a: OperandType, _ b: OperandType) throws(TandemError) {
        guard a.isComparable(with: b) else {
            throw invalid("\(a.name) cannot be compared with \(b.name)")
        }
    }

    /// Returns a constant converted for comparison with values of a type; throws if they can't be
    /// compared.
    static func fit(_ value: PropertyValue, _ type: OperandType) throws(TandemError)
        -> PropertyValue
    {
        switch (type, value) {
        case (_, .null), (.null, _), (.object, .reference): return value
        case (.attribute(.int), _) where value.isNumber: return value
        case (.attribute(.double), _) where value.isNumber: return value
        case (.attribute(.decimal), .double): return value.coerced(to: .decimal) ?? value
        case (.attribute(let type), _):
            // A long text is not replaced by a reference: it is compared with texts and with
            // references in rows.
            if let fitting = value.coerced(to: type) {
                return fitting.type == .string ? fitting : fitting.inRow
            }
        case (.number, .date): return value
        case (.number, _) where value.isNumber: return value
        default: break
        }
        throw invalid(
            "\(QueryExpression.constant(value).format) cannot be compared with \(type.name)")
    }

    /// Returns an error with a message of bounded length.
    static func invalid(_ message: String) -> TandemError {
        TandemError(.invalidPredicate, String(message.prefix(500)))
    }

    static func toMany(_ expression: QueryExpression) -> TandemError {
        invalid(
            "`\(expression.format)` refers to many objects; use ANY, ALL, NONE, SUBQUERY or "
                + "an operator such as .@count")
    }
}

extension Comparison {
    /// The comparison with a constant on the left moved to the right, so that it is converted to
    /// the path's type.
    var constantLast: Comparison {
        guard quantifier == .direct, !left.isPath, right.isPath, let mirrored = op.mirrored else {
            return self
        }
        return Comparison(right, mirrored, left, options: options)
    }
}

extension Comparison.Operator {
    /// The operator for swapped sides, if there is one.
    fileprivate var mirrored: Comparison.Operator? {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        default: nil
        }
    }
}
