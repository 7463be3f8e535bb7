import Tandem

/// A random fetch of groups with a condition on them, and the same in SQL.
struct OracleGroups {
    /// A condition on a group.
    indirect enum Having {
        case compare(column: String, op: String, value: Int64?)
        /// The truncated mean.
        case quotient(op: String, value: Int64)
        case and(Having, Having)
        case or(Having, Having)
        case not(Having)
    }

    static let columns = ["@count", "@count.n", "@sum.n", "@min.n", "@max.n"]
    let entity: String
    let withSub: Bool
    /// The attribute by which objects are grouped.
    let key: String
    let having: Having
    let limit: Int?

    init(_ world: inout OracleWorld) {
        entity = world.entities.randomElement(using: &world.random) ?? "Sub"
        withSub = Bool.random(using: &world.random)
        let names = (world.attributes[entity] ?? [:]).filter { $0.value != .date }.keys.sorted()
        key = names.randomElement(using: &world.random) ?? "n"
        having = OracleGroups.having(&world, depth: 2)
        limit = Bool.random(using: &world.random) ? 3 : nil
    }

    private static func having(_ world: inout OracleWorld, depth: Int) -> Having {
        let op = ["==", "!=", "<", "<=", ">", ">="].randomElement(using: &world.random) ?? "=="
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &world.random) {
        case 0...2:
            let column = columns.randomElement(using: &world.random) ?? "@count"
            return .compare(
                column: column, op: op, value: Int64.random(in: -2...12, using: &world.random))
        case 3:
            let column = ["@min.n", "@max.n"].randomElement(using: &world.random) ?? "@min.n"
            return .compare(
                column: column, op: Bool.random(using: &world.random) ? "==" : "!=", value: nil)
        case 4: return .quotient(op: op, value: Int64.random(in: -2...3, using: &world.random))
        case 5: return .not(having(&world, depth: depth - 1))
        case 6: return .and(having(&world, depth: depth - 1), having(&world, depth: depth - 1))
        default: return .or(having(&world, depth: depth - 1), having(&world, depth: depth - 1))
        }
    }

    // MARK: Evaluation

    /// Returns Tandem's rows, without the group values.
    func rows(_ context: ManagedObjectContext) throws -> [[Int64?]] {
        let columns = FetchColumns(
            OracleGroups.columns.compactMap { FetchColumn($0) }, groupBy: [key],
            having: try ObjectPredicate(format: having.format))
        let request = FetchRequest(
            entity: entity, limit: limit, includesSubentities: withSub)
        return try context.fetchDictionaries(request, columns).map { row in
            OracleGroups.columns.map { name in
                if case .int(let number)? = row[name] { number } else { nil }
            }
        }
    }

    /// Returns SQLite's rows, queried column by column.
    func rows(_ database: OracleDatabase, _ world: OracleWorld) throws -> [[Int64?]] {
        let table = entity == "Sub" ? world.entities[0] : entity
        let condition = entity == "Sub" ? "o0.isSub" : withSub ? "1" : "NOT o0.isSub"
        let missing = Int64.min
        let found = try OracleGroups.columns.map { column in
            try database.run(
                "SELECT coalesce(\(Having.sql(column)), \(missing + 1) - 1) FROM \"\(table)\" o0 "
                    + "WHERE \(condition) GROUP BY o0.\"\(key)\" HAVING \(having.sql) "
                    + "ORDER BY o0.\"\(key)\"" + (limit.map { " LIMIT \($0)" } ?? "")
            ).map { Int64(bitPattern: $0) }
        }
        return (found.first ?? []).indices.map { row in
            found.map { $0[row] == missing ? nil : $0[row] }
        }
    }
}

extension OracleGroups.Having {
    var format: String {
        switch self {
        case .compare(let column, let op, let value):
            "\(column) \(op) \(value.map { "\($0)" } ?? "nil")"
        case .quotient(let op, let value): "@sum.n / @count \(op) \(value)"
        case .and(let a, let b): "(\(a.format)) AND (\(b.format))"
        case .or(let a, let b): "(\(a.format)) OR (\(b.format))"
        case .not(let part): "NOT (\(part.format))"
        }
    }

    var sql: String {
        switch self {
        case .compare(let column, let op, let value):
            Self.compare(Self.sql(column), op, value.map { "\($0)" } ?? "NULL")
        case .quotient(let op, let value):
            Self.compare("\(Self.sql("@sum.n")) / count(*)", op, "\(value)")
        case .and(let a, let b): "(\(a.sql) AND \(b.sql))"
        case .or(let a, let b): "(\(a.sql) OR \(b.sql))"
        case .not(let part): "NOT \(part.sql)"
        }
    }

    private static func compare(_ left: String, _ op: String, _ right: String) -> String {
        switch op {
        case "==": "(\(left) IS \(right))"
        case "!=": "(\(left) IS NOT \(right))"
        default: "coalesce(\(left) \(op) \(right), 0)"
        }
    }

    static func sql(_ column: String) -> String {
        switch column {
        case "@count": "count(*)"
        case "@count.n": "count(o0.\"n\")"
        case "@sum.n": "coalesce(sum(o0.\"n\"), 0)"
        case "@min.n": "min(o0.\"n\")"
        default: "max(o0.\"n\")"
        }
    }
}
