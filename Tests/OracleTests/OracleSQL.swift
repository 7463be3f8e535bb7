import Tandem

/// The SQL form of a condition.
///
/// Each entity has a table of all its objects, with a column for each attribute and to-one
/// relationship. Each relationship has a table of pairs.
extension OracleCondition {
    /// Returns the condition on a row `o0`; values are appended in the order of their placeholders.
    func sql(_ values: inout [PropertyValue]) -> String {
        switch self {
        case .compare(let path, let name, let op, let value):
            return op.sql(Self.column(path, name), value, &values)
        case .between(let path, let name, let low, let high):
            values += [low, high]
            return "coalesce(\(Self.column(path, name)) BETWEEN ? AND ?, 0)"
        case .among(let path, let name, let some):
            values += some
            let marks = some.map { _ in "?" }.joined(separator: ", ")
            return "coalesce(\(Self.column(path, name)) IN (\(marks)), 0)"
        case .quantified(let quantifier, let path, let name, let op, let value):
            return sql(quantifier, path, name, op, value, &values)
        case .counted(let link, let op, let count):
            let members = "(SELECT count(*) FROM \"\(link.name)\" l WHERE l.a = o0.id)"
            return op.sql(members, .int(count), &values)
        case .member(let link, let number):
            values.append(.int(Int64(number)))
            return "EXISTS (SELECT 1 FROM \"\(link.name)\" l WHERE l.a = o0.id AND l.b = ?)"
        case .expression(let expression): return expression.sql(&values)
        case .and(let parts):
            return "(" + parts.map { $0.sql(&values) }.joined(separator: " AND ") + ")"
        case .or(let parts):
            return "(" + parts.map { $0.sql(&values) }.joined(separator: " OR ") + ")"
        case .not(let part): return "NOT \(part.sql(&values))"
        }
    }

    private func sql(
        _ quantifier: Quantifier, _ path: [OracleWorld.Link], _ name: String, _ op: Operator,
        _ value: PropertyValue, _ values: inout [PropertyValue]
    ) -> String {
        // To-one relationships have tables of pairs as well, so that a path is a chain of joins.
        var from = "\"\(path[0].name)\" l0 JOIN \"\(path[0].target)\" o1 ON o1.id = l0.b"
        for (index, link) in path.enumerated().dropFirst() {
            from += " JOIN \"\(link.name)\" l\(index) ON l\(index).a = o\(index).id"
            from += " JOIN \"\(link.target)\" o\(index + 1) ON o\(index + 1).id = l\(index).b"
        }
        let test = op.sql("o\(path.count).\"\(name)\"", value, &values)
        let wanted = quantifier == .all ? "NOT \(test)" : test
        let exists = "EXISTS (SELECT 1 FROM \(from) WHERE l0.a = o0.id AND \(wanted))"
        return quantifier == .any ? exists : "NOT \(exists)"
    }

    /// Returns the SQL expression of a column through to-one relationships.
    static func column(_ path: [OracleWorld.Link], _ name: String, from row: String = "o0")
        -> String
    {
        guard let first = path.first else { return "\(row).\"\(name)\"" }
        let next = "p\(path.count)"
        let rest = column(Array(path.dropFirst()), name, from: next)
        return "(SELECT \(rest) FROM \"\(first.target)\" \(next) "
            + "WHERE \(next).id = \(row).\"\(first.name)\")"
    }
}

extension OracleCondition.Operator {
    func sql(_ left: String, _ right: PropertyValue, _ values: inout [PropertyValue]) -> String {
        values.append(right)
        switch self {
        case .equal: return "\(left) IS ?"
        case .notEqual: return "\(left) IS NOT ?"
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            return "coalesce(\(left) \(rawValue) ?, 0)"
        case .beginsWith:
            values.append(right)
            return "coalesce(substr(\(left), 1, length(?)) = ?, 0)"
        case .endsWith:
            values += [right, right]
            return "coalesce(length(\(left)) >= length(?) AND substr(\(left), "
                + "length(\(left)) - length(?) + 1) = ?, 0)"
        case .contains: return "coalesce(instr(\(left), ?) > 0, 0)"
        case .like: return "coalesce(\(left) GLOB ?, 0)"
        }
    }
}

extension OracleDatabase {
    /// Creates and fills the tables of a world.
    func fill(with world: OracleWorld) throws {
        try run("BEGIN")
        for entity in world.entities where entity != "Sub" {
            // Objects of the subentity are in the parent's table as well.
            let names = columns(of: entity, world)
            let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
            try run("CREATE TABLE \"\(entity)\" (id INTEGER PRIMARY KEY, isSub, own, \(list))")
            for number in world.numbers(of: entity) {
                try insert(number, into: entity, names, world)
            }
        }
        let all = world.entities.filter { $0 != "Sub" }.flatMap { world.links[$0] ?? [] }
        for link in all {
            try run("CREATE TABLE \"\(link.name)\" (a INTEGER, b INTEGER, PRIMARY KEY (a, b))")
            for number in world.numbers(of: link.owner) {
                for target in world.reached(number, link.name) {
                    let pair = [number, target].map { PropertyValue.int(Int64($0)) }
                    try run("INSERT INTO \"\(link.name)\" VALUES (?, ?)", pair)
                }
            }
        }
        for entity in world.entities where entity != "Sub" { try derive(entity, world) }
        try run("COMMIT")
    }

    /// Computes the derived attributes.
    private func derive(_ entity: String, _ world: OracleWorld) throws {
        for (name, derivation) in world.derivations[entity] ?? [:] {
            let value =
                switch derivation {
                case .count(let link): "(SELECT count(*) FROM \"\(link)\" l WHERE l.a = id)"
                case .folded(let source):
                    OracleExpression.Folding(isCase: true, isMark: true).sql("\"\(source)\"")
                }
            try run("UPDATE \"\(entity)\" SET \"\(name)\" = \(value)")
        }
    }

    private func columns(of entity: String, _ world: OracleWorld) -> [String] {
        (world.attributes[entity] ?? [:]).keys.sorted()
            + (world.links[entity] ?? []).filter { !$0.isToMany }.map(\.name)
    }

    private func insert(
        _ number: UInt64, into entity: String, _ names: [String], _ world: OracleWorld
    ) throws {
        guard let object = world.objects[number] else { return }
        var values: [PropertyValue] = [
            .int(Int64(number)), .bool(object.entity == "Sub"), object.values["own"] ?? .null,
        ]
        values += names.map { name in
            object.values[name] ?? object.links[name]?.first.map { .int(Int64($0)) } ?? .null
        }
        let marks = values.map { _ in "?" }.joined(separator: ", ")
        try run("INSERT INTO \"\(entity)\" VALUES (\(marks))", values)
    }
}
