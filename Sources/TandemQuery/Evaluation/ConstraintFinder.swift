import TandemModel

/// A search for the constraints of a predicate on single columns of the object's own row.
enum ConstraintFinder {
    static func constraints(_ node: PredicateNode, of entity: CompiledEntity) -> [SlotConstraint] {
        switch node {
        case .and(let parts): parts.flatMap { constraints($0, of: entity) }
        case .comparison(let comparison):
            comparison.ownSlot.flatMap { slot in
                condition(comparison, type(entity.properties[slot]))
                    .map { [SlotConstraint(slot: slot, $0)] }
            } ?? []
        default: []
        }
    }

    /// Returns whether every object that satisfies the constraints matches the predicate.
    static func constraintsImply(_ node: PredicateNode, of entity: CompiledEntity) -> Bool {
        switch node {
        case .constant(let value): value
        case .and(let parts): parts.allSatisfy { constraintsImply($0, of: entity) }
        case .comparison: !constraints(node, of: entity).isEmpty
        default: false
        }
    }

    /// Returns, for each disjunction that must hold, the constraints of its alternatives.
    ///
    /// The constraints of an alternative include those of the rest of the predicate. A disjunction
    /// is omitted if one of its alternatives has no constraint, because no index finds the objects
    /// of that alternative.
    static func alternatives(
        _ node: PredicateNode, of entity: CompiledEntity
    ) -> [[[SlotConstraint]]] {
        let common = constraints(node, of: entity)
        return conjuncts(node).compactMap { part in
            guard case .or = part else { return nil }
            let found = disjuncts(part).map { constraints($0, of: entity) }
            guard found.allSatisfy({ !$0.isEmpty }) else { return nil }
            return found.map { $0 + common }
        }
    }

    private static func conjuncts(_ node: PredicateNode) -> [PredicateNode] {
        if case .and(let parts) = node { parts.flatMap(conjuncts) } else { [node] }
    }

    private static func disjuncts(_ node: PredicateNode) -> [PredicateNode] {
        if case .or(let parts) = node { parts.flatMap(disjuncts) } else { [node] }
    }

    private static func type(_ property: CompiledProperty) -> OperandType {
        property.attribute.map { .attribute($0.type) } ?? .object
    }

    private static func condition(
        _ node: ComparisonNode, _ type: OperandType
    ) -> SlotConstraint.Condition? {
        guard node.options.isEmpty else { return nil }
        switch node.right {
        case .value(let value): return condition(node.op, value, type)
        case .text(let test):
            let text = String(decoding: test.needle, as: UTF8.self)
            if node.op == .beginsWith { return .prefix(text) }
            return condition(node.op, .string(text), type)
        case .between(.constant(let low), .constant(let high)):
            guard let low = column(low, type), let high = column(high, type) else { return nil }
            return .range(
                lower: .init(low, inclusive: true), upper: .init(high, inclusive: true))
        case .members(let members): return anyOf(members, type)
        default: return nil
        }
    }

    private static func condition(
        _ op: Comparison.Operator, _ value: PropertyValue, _ type: OperandType
    ) -> SlotConstraint.Condition? {
        if value.isNull { return op == .equal ? .equals(.null) : nil }
        guard let value = column(value, type) else { return nil }
        switch op {
        case .equal: return .equals(value)
        case .less, .lessOrEqual:
            return .range(lower: nil, upper: .init(value, inclusive: op == .lessOrEqual))
        case .greater, .greaterOrEqual:
            return .range(lower: .init(value, inclusive: op == .greaterOrEqual), upper: nil)
        default: return nil
        }
    }

    private static func anyOf(
        _ members: Membership, _ type: OperandType
    ) -> SlotConstraint.Condition? {
        switch members {
        case .integers(let set): return .anyOf(set.sorted().map { .int($0) })
        case .texts(let set):
            let texts = set.sorted { $0.lexicographicallyPrecedes($1) }
            let values = texts.map { PropertyValue.string(String(decoding: $0, as: UTF8.self)) }
            return .anyOf(values.compactMap { column($0, type) })
        case .objects(let references):
            return .anyOf(references.values.sorted().map { .reference($0) })
        case .values(let values):
            let fitting = values.compactMap { column($0, type) }
            guard fitting.count == values.count else { return nil }
            return .anyOf(distinct(fitting))
        }
    }

    private static func distinct(_ values: [PropertyValue]) -> [PropertyValue] {
        var seen: Set<PropertyValue> = []
        return values.filter { seen.insert($0).inserted }
    }

    /// Returns the constant as a value of the column's type; nil if the conversion would lose
    /// information.
    private static func column(_ value: PropertyValue, _ type: OperandType) -> PropertyValue? {
        switch (type, value) {
        case (_, .null): return nil
        case (.object, .reference): return value
        case (.attribute(.url), .string(let text)): return .url(text)
        case (.attribute(.int), .double(let number)): return Int64(exactly: number).map { .int($0) }
        case (.attribute(.bool), .int), (.attribute(.int), .bool): return nil
        case (.attribute(let type), _):
            let column = value.type == .string && type != .string ? nil : value.coerced(to: type)
            return column?.type == type ? column : nil
        default: return nil
        }
    }
}
