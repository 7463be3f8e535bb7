import TandemModel

/// An object under evaluation, with the variables in scope.
///
/// Rows are read in place, so an evaluation must not outlive the closures that borrow them;
/// returned values are copies. A result is nil if it depends on an object or text that the reader
/// does not have. `false AND unknown` is false; `true OR unknown` is true.
struct Evaluation {
    /// An object at which paths begin.
    struct Scope {
        var object: ObjectReference
        var row: RowView
        var entity: CompiledEntity
    }

    let model: CompiledModel
    let object: Scope
    /// The variables, outermost first.
    var variables: [Scope] = []

    func holds<R: GraphReader & ~Copyable>(_ node: PredicateNode, _ reader: borrowing R) -> Bool? {
        switch node {
        case .constant(let value): return value
        case .and(let parts): return all(parts, are: true, reader)
        case .or(let parts): return all(parts, are: false, reader)
        case .not(let part): return holds(part, reader).map { !$0 }
        case .comparison(let comparison): return holds(comparison, reader)
        }
    }

    /// Evaluates `AND` if `expected` is true and `OR` if it is false: the first part with the
    /// opposite value decides.
    private func all<R: GraphReader & ~Copyable>(
        _ parts: [PredicateNode], are expected: Bool, _ reader: borrowing R
    ) -> Bool? {
        var isKnown = true
        for part in parts {
            guard let value = holds(part, reader) else {
                isKnown = false
                continue
            }
            if value != expected { return value }
        }
        return isKnown ? expected : nil
    }

    // MARK: Comparisons

    private func holds<R: GraphReader & ~Copyable>(
        _ node: ComparisonNode, _ reader: borrowing R
    ) -> Bool? {
        if let slot = node.ownSlot {
            if case .text(let test) = node.right {
                if let text = object.row.longText(slot, in: object.entity) {
                    return holds(text, test, reader)
                }
                let result = object.row.content(slot, in: object.entity).map {
                    test.holds(utf8: $0)
                }
                return result ?? (test.op == .notEqual)
            }
            return holds(object.row.value(slot, in: object.entity), node, reader)
        }
        if node.quantifier == .direct {
            guard let left = value(node.left, reader) else { return nil }
            return holds(left, node, reader)
        }
        guard let values = values(node.left, reader) else { return nil }
        return holds(values, node, reader)
    }

    private func holds<R: GraphReader & ~Copyable>(
        _ values: [PropertyValue], _ node: ComparisonNode, _ reader: borrowing R
    ) -> Bool? {
        let decisive = node.quantifier != .all
        var isKnown = true
        for value in values {
            let result = holds(value, node, reader)
            if result == decisive { return node.quantifier == .any }
            if result == nil { isKnown = false }
        }
        return isKnown ? node.quantifier != .any : nil
    }

    /// Returns whether one value of the left side satisfies the comparison with the right side.
    private func holds<R: GraphReader & ~Copyable>(
        _ left: PropertyValue, _ node: ComparisonNode, _ reader: borrowing R
    ) -> Bool? {
        switch node.right {
        case .value(let right): return compare(left, node.op, right, node.options, reader)
        case .text(let test):
            if case .longText(let text) = left { return holds(text, test, reader) }
            return left.text.map { test.holds($0) } ?? (test.op == .notEqual)
        case .operand(let operand):
            return value(operand, reader).flatMap {
                compare(left, node.op, $0, node.options, reader)
            }
        case .members(let members):
            return whole(left, reader).map { !$0.isNull && members.contains($0, node.options) }
        case .collection(let operand):
            return values(operand, reader).flatMap { isMember(left, $0, node.options, reader) }
        case .list(let operands):
            var values: [PropertyValue] = []
            for operand in operands {
                guard let value = value(operand, reader) else { return nil }
                values.append(value)
            }
            return isMember(left, values, node.options, reader)
        case .between(let low, let high):
            guard let low = value(low, reader), let high = value(high, reader) else { return nil }
            guard let reaches = compare(left, .greaterOrEqual, low, node.options, reader),
                let ends = compare(left, .lessOrEqual, high, node.options, reader)
            else { return nil }
            return reaches && ends
        }
    }

    private func isMember<R: GraphReader & ~Copyable>(
        _ value: PropertyValue, _ values: [PropertyValue], _ options: ComparisonOptions,
        _ reader: borrowing R
    ) -> Bool? {
        if value.isNull { return false }
        var isKnown = true
        for other in values where !other.isNull {
            guard let isEqual = compare(value, .equal, other, options, reader) else {
                isKnown = false
                continue
            }
            if isEqual { return true }
        }
        return isKnown ? false : nil
    }

    static func compare(
        _ left: PropertyValue, _ op: Comparison.Operator, _ right: PropertyValue,
        _ options: ComparisonOptions
    ) -> Bool {
        if left.isNull || right.isNull {
            let areEqual = left.isNull == right.isNull
            return op == .equal ? areEqual : op == .notEqual && !areEqual
        }
        if let right = right.text { return compare(left, TextTest(op, options, right)) }
        let order = ValueOrder.compare(left, right)
        switch op {
        case .equal: return order == 0
        case .notEqual: return order != 0
        case .less: return order.map { $0 < 0 } ?? false
        case .lessOrEqual: return order.map { $0 <= 0 } ?? false
        case .greater: return order.map { $0 > 0 } ?? false
        case .greaterOrEqual: return order.map { $0 >= 0 } ?? false
        default: return false
        }
    }

    private static func compare(_ left: PropertyValue, _ test: TextTest) -> Bool {
        left.text.map { test.holds($0) } ?? false
    }
}
