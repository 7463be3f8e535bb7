import Tandem

/// A condition with folded texts, subqueries, aggregates or arithmetic, in the same three forms.
enum OracleExpression {
    /// The differences between letters that are ignored: case or diacritics.
    struct Folding {
        var isCase: Bool
        var isMark: Bool
    }

    case folded([OracleWorld.Link], String, OracleCondition.Operator, String, Folding)
    /// The number of objects in a to-many relationship that satisfy a condition.
    case subquery(
        OracleWorld.Link, String, OracleCondition.Operator, PropertyValue, OracleCondition.Operator,
        Int64)
    /// An aggregate of integers: `sum`, `min`, `max` or `avg`.
    case aggregate(OracleWorld.Link, String, OracleCondition.Operator, Int64)
    /// An arithmetic operation on an integer through to-one relationships.
    case arithmetic([OracleWorld.Link], Character, Int64, OracleCondition.Operator, Int64)
    /// The object itself.
    case itself([ObjectID])
}

extension OracleExpression {
    static func draw(_ entity: String, _ world: inout OracleWorld) -> OracleExpression? {
        let ops = OracleCondition.Operator.allCases
        let op = ops[..<6].randomElement(using: &world.random) ?? .equal
        let small = Int64.random(in: -6...6, using: &world.random)
        let many = (world.links[entity] ?? []).filter(\.isToMany)
            .randomElement(using: &world.random)
        let path =
            (world.links[entity] ?? []).filter { !$0.isToMany }
            .randomElement(using: &world.random).map { small > 0 ? [$0] : [] } ?? []
        switch Int.random(in: 0..<6, using: &world.random) {
        case 0, 1:
            let folding = Folding(isCase: small != 0, isMark: small <= 0)
            let text = OracleWorld.texts.randomElement(using: &world.random) ?? ""
            let test = ops.randomElement(using: &world.random) ?? op
            return .folded(path, "t", test, text, folding)
        case 2:
            guard let many else { return nil }
            let (name, type) =
                (world.attributes[many.target] ?? [:])
                .sorted { $0.key < $1.key }.randomElement(using: &world.random) ?? ("n", .int)
            let inner = OracleRequest.op(type, &world)
            return .subquery(many, name, inner, world.value(type), op, abs(small) / 2)
        case 3:
            let function = ["sum", "min", "max", "avg"].randomElement(using: &world.random)
            return many.map { .aggregate($0, function ?? "sum", op, small) }
        case 4:
            let sign = "+-*/".randomElement(using: &world.random) ?? "+"
            let other = Int64.random(in: -3...3, using: &world.random)
            return .arithmetic(path, sign, other, op, small)
        default:
            let some = world.numbers(of: entity).shuffled(using: &world.random).prefix(2)
            return some.isEmpty ? nil : .itself(some.map { ObjectID(entity: entity, number: $0) })
        }
    }
}

// MARK: As text

extension OracleExpression {
    func format(_ values: inout [PredicateArgument]) -> String {
        switch self {
        case .folded(let path, let name, let op, let text, let folding):
            values.append(.value(.string(text)))
            let options = (folding.isCase ? "c" : "") + (folding.isMark ? "d" : "")
            return "\(OracleCondition.path(path, name)) \(op.rawValue)[\(options)] %@"
        case .subquery(let link, let name, let inner, let value, let op, let count):
            values += [.value(value), .value(.int(count))]
            return "SUBQUERY(\(link.name), $x, $x.\(name) \(inner.rawValue) %@).@count "
                + "\(op.rawValue) %@"
        case .aggregate(let link, let function, let op, let number):
            values.append(.value(.int(number)))
            return "\(link.name).@\(function).n \(op.rawValue) %@"
        case .arithmetic(let path, let sign, let other, let op, let number):
            values += [.value(.int(other)), .value(.int(number))]
            return "\(OracleCondition.path(path, "n")) \(sign) %@ \(op.rawValue) %@"
        case .itself(let ids):
            if ids.count == 1 {
                values.append(.object(ids[0]))
                return "SELF == %@"
            }
            values.append(.list(ids.map { .object($0) }))
            return "SELF IN %@"
        }
    }
}

// MARK: Direct evaluation

extension OracleExpression {
    func holds(_ number: UInt64, _ world: OracleWorld) -> Bool {
        switch self {
        case .folded(let path, let name, let op, let text, let folding):
            let value = OracleCondition.value(number, path, name, world)
            guard case .string(let own) = value else { return op.holds(value, .string(text)) }
            return op.holds(.string(folding.folded(own)), .string(folding.folded(text)))
        case .subquery(let link, let name, let inner, let value, let op, let count):
            let found = world.reached(number, link.name).filter {
                inner.holds(world.value($0, name), value)
            }
            return op.holds(.int(Int64(found.count)), .int(count))
        case .aggregate(let link, let function, let op, let other):
            let numbers = world.reached(number, link.name).compactMap { object -> Int64? in
                guard case .int(let number)? = world.objects[object]?.values["n"] else {
                    return nil
                }
                return number
            }
            return op.holds(Self.aggregate(function, numbers), .int(other))
        case .arithmetic(let path, let sign, let other, let op, let result):
            let value = OracleCondition.value(number, path, "n", world)
            return op.holds(Self.reckoned(value, sign, other), .int(result))
        case .itself(let ids): return ids.contains { $0.number == number }
        }
    }

    private static func aggregate(_ function: String, _ numbers: [Int64]) -> PropertyValue {
        switch function {
        case "sum": .int(numbers.reduce(0, +))
        case "min": numbers.min().map { .int($0) } ?? .null
        case "max": numbers.max().map { .int($0) } ?? .null
        default:
            numbers.isEmpty
                ? .null : .double(Double(numbers.reduce(0, +)) / Double(numbers.count))
        }
    }

    private static func reckoned(_ value: PropertyValue, _ sign: Character, _ other: Int64)
        -> PropertyValue
    {
        guard case .int(let number) = value else { return .null }
        return switch sign {
        case "+": .int(number + other)
        case "-": .int(number - other)
        case "*": .int(number * other)
        default: other == 0 ? .null : .int(number / other)
        }
    }
}

extension OracleExpression.Folding {
    /// Returns the folded text, for the letters that occur in a world's texts.
    func folded(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    var letter = scalar
                    if isCase, let other = Self.small[letter] { letter = other }
                    if isMark, let other = Self.plain[letter] { letter = other }
                    return letter
                }))
    }

    private static let small: [Unicode.Scalar: Unicode.Scalar] = ["B": "b", "A": "a", "É": "é"]
    private static let plain: [Unicode.Scalar: Unicode.Scalar] = ["é": "e", "É": "E"]

    /// Returns the SQL expression of a folded column.
    func sql(_ column: String) -> String {
        var sql = column
        // SQLite's `lower` only knows ASCII.
        if isCase { sql = "replace(lower(\(sql)), 'É', 'é')" }
        if isMark { sql = "replace(replace(\(sql), 'é', 'e'), 'É', 'E')" }
        return sql
    }
}

// MARK: In SQL

extension OracleExpression {
    func sql(_ values: inout [PropertyValue]) -> String {
        switch self {
        case .folded(let path, let name, let op, let text, let folding):
            let column = folding.sql(OracleCondition.column(path, name))
            return op.sql(column, .string(folding.folded(text)), &values)
        case .subquery(let link, let name, let inner, let value, let op, let count):
            let test = inner.sql("o.\"\(name)\"", value, &values)
            return op.sql(Self.members(link, "count(*)", " AND \(test)"), .int(count), &values)
        case .aggregate(let link, let function, let op, let number):
            let column = "\(function)(o.\"n\")"
            let wanted = function == "sum" ? "coalesce(\(column), 0)" : column
            return op.sql(Self.members(link, wanted, ""), .int(number), &values)
        case .arithmetic(let path, let sign, let other, let op, let number):
            let column = OracleCondition.column(path, "n")
            return op.sql(
                "(\(column) \(sign) \(other < 0 ? "(\(other))" : "\(other)"))", .int(number),
                &values)
        case .itself(let ids):
            return "o0.id IN (\(ids.map { "\($0.number)" }.joined(separator: ", ")))"
        }
    }

    private static func members(
        _ link: OracleWorld.Link, _ wanted: String, _ condition: String
    ) -> String {
        "(SELECT \(wanted) FROM \"\(link.name)\" l JOIN \"\(link.target)\" o ON o.id = l.b "
            + "WHERE l.a = o0.id\(condition))"
    }
}
