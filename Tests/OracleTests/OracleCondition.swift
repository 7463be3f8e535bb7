import Tandem

/// A condition in three forms: text for Tandem, SQL, and direct evaluation.
indirect enum OracleCondition {
    /// The operator of a comparison.
    enum Operator: String, CaseIterable {
        case equal = "=="
        case notEqual = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case beginsWith = "BEGINSWITH"
        case contains = "CONTAINS"
        case endsWith = "ENDSWITH"
        case like = "LIKE"
    }

    /// The quantifier over the objects of a to-many relationship.
    enum Quantifier: String, CaseIterable {
        case any = "ANY"
        case all = "ALL"
        case none = "NONE"
    }

    /// A comparison of an attribute reached through to-one relationships.
    case compare([OracleWorld.Link], String, Operator, PropertyValue)
    case between([OracleWorld.Link], String, PropertyValue, PropertyValue)
    case among([OracleWorld.Link], String, [PropertyValue])
    /// A comparison of an attribute reached through to-one relationships and one to-many
    /// relationship.
    case quantified(Quantifier, [OracleWorld.Link], String, Operator, PropertyValue)
    case counted(OracleWorld.Link, Operator, Int64)
    /// The membership of an object in a to-many relationship.
    case member(OracleWorld.Link, UInt64)
    /// A condition with folded texts, subqueries, aggregates or arithmetic.
    case expression(OracleExpression)
    case and([OracleCondition])
    case or([OracleCondition])
    case not(OracleCondition)
}

// MARK: As text

extension OracleCondition {
    /// Returns the text with `%@` for values, which are appended to `values`.
    func format(_ values: inout [PredicateArgument]) -> String {
        switch self {
        case .compare(let path, let name, let op, let value):
            values.append(.value(value))
            return "\(Self.path(path, name)) \(op.rawValue) %@"
        case .between(let path, let name, let low, let high):
            values.append(.list([.value(low), .value(high)]))
            return "\(Self.path(path, name)) BETWEEN %@"
        case .among(let path, let name, let some):
            values.append(.list(some.map { .value($0) }))
            return "\(Self.path(path, name)) IN %@"
        case .quantified(let quantifier, let path, let name, let op, let value):
            values.append(.value(value))
            return "\(quantifier.rawValue) \(Self.path(path, name)) \(op.rawValue) %@"
        case .counted(let link, let op, let count):
            values.append(.value(.int(count)))
            return "\(link.name).@count \(op.rawValue) %@"
        case .member(let link, let number):
            values.append(.object(ObjectID(entity: link.target, number: number)))
            return "ANY \(link.name) == %@"
        case .expression(let expression): return expression.format(&values)
        case .and(let parts): return Self.joined(parts, " AND ", &values)
        case .or(let parts): return Self.joined(parts, " OR ", &values)
        case .not(let part): return "NOT (\(part.format(&values)))"
        }
    }

    static func path(_ links: [OracleWorld.Link], _ name: String) -> String {
        (links.map(\.name) + [name]).joined(separator: ".")
    }

    private static func joined(
        _ parts: [OracleCondition], _ separator: String, _ values: inout [PredicateArgument]
    ) -> String {
        "(" + parts.map { $0.format(&values) }.joined(separator: separator) + ")"
    }
}

// MARK: Direct evaluation

extension OracleCondition {
    /// Returns whether an object satisfies the condition.
    func holds(_ number: UInt64, _ world: OracleWorld) -> Bool {
        switch self {
        case .compare(let path, let name, let op, let value):
            return op.holds(Self.value(number, path, name, world), value)
        case .between(let path, let name, let low, let high):
            let value = Self.value(number, path, name, world)
            return Operator.greaterOrEqual.holds(value, low)
                && Operator.lessOrEqual.holds(value, high)
        case .among(let path, let name, let some):
            let value = Self.value(number, path, name, world)
            return !value.isNull && some.contains { Operator.equal.holds(value, $0) }
        case .quantified(let quantifier, let path, let name, let op, let value):
            var reached = [number]
            for link in path { reached = reached.flatMap { world.reached($0, link.name) } }
            let held = reached.map {
                op.holds(world.value($0, name), value)
            }
            return switch quantifier {
            case .any: held.contains(true)
            case .all: !held.contains(false)
            case .none: !held.contains(true)
            }
        case .counted(let link, let op, let count):
            return op.holds(.int(Int64(world.reached(number, link.name).count)), .int(count))
        case .member(let link, let other): return world.reached(number, link.name).contains(other)
        case .expression(let expression): return expression.holds(number, world)
        case .and(let parts): return parts.allSatisfy { $0.holds(number, world) }
        case .or(let parts): return parts.contains { $0.holds(number, world) }
        case .not(let part): return !part.holds(number, world)
        }
    }

    /// Returns the value of a path over to-one relationships; null if a relationship is empty.
    static func value(
        _ number: UInt64, _ path: [OracleWorld.Link], _ name: String, _ world: OracleWorld
    ) -> PropertyValue {
        var number = number
        for link in path {
            guard let next = world.reached(number, link.name).first else { return .null }
            number = next
        }
        return world.value(number, name)
    }
}

extension OracleCondition.Operator {
    func holds(_ left: PropertyValue, _ right: PropertyValue) -> Bool {
        if self == .notEqual { return !Self.equal.holds(left, right) }
        if left.isNull || right.isNull { return self == .equal && left.isNull && right.isNull }
        if let text = Self.bytes(left), let other = Self.bytes(right) { return holds(text, other) }
        let (a, b) = (Self.number(left), Self.number(right))
        return switch self {
        case .equal: a == b
        case .less: a < b
        case .lessOrEqual: a <= b
        case .greater: a > b
        case .greaterOrEqual: a >= b
        default: false
        }
    }

    private func holds(_ text: [UInt8], _ other: [UInt8]) -> Bool {
        switch self {
        case .equal: text == other
        case .less: text.lexicographicallyPrecedes(other)
        case .lessOrEqual: !other.lexicographicallyPrecedes(text)
        case .greater: other.lexicographicallyPrecedes(text)
        case .greaterOrEqual: !text.lexicographicallyPrecedes(other)
        case .beginsWith: text.starts(with: other)
        case .endsWith: text.reversed().starts(with: other.reversed())
        case .contains:
            (0...text.count).contains { text[$0...].starts(with: other) }
        case .like: Self.isLike(Self.scalars(text), Self.scalars(other))
        case .notEqual: text != other
        }
    }

    private static func scalars(_ text: [UInt8]) -> ArraySlice<Unicode.Scalar> {
        Array(String(decoding: text, as: UTF8.self).unicodeScalars)[...]
    }

    private static func isLike(
        _ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>
    ) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        if first == "*" {
            return (text.startIndex...text.endIndex).contains {
                isLike(text[$0...], pattern.dropFirst())
            }
        }
        guard let letter = text.first, first == "?" || first == letter else { return false }
        return isLike(text.dropFirst(), pattern.dropFirst())
    }

    /// Returns the bytes of a value that is compared by its bytes.
    private static func bytes(_ value: PropertyValue) -> [UInt8]? {
        switch value {
        case .string(let text), .url(let text): Array(text.utf8)
        case .data(let bytes): bytes
        case .uuid(let id): withUnsafeBytes(of: id.uuid) { Array($0) }
        default: nil
        }
    }

    static func number(_ value: PropertyValue) -> Double {
        switch value {
        case .decimal(let number): Double(number.description) ?? 0
        case .int(let number): Double(number)
        case .double(let number), .date(let number): number
        case .bool(let flag): flag ? 1 : 0
        default: 0
        }
    }
}
