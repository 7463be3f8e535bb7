import Tandem

/// A random request, with its SQL form and its direct evaluation.
struct OracleRequest {
    /// A sort key.
    struct Key {
        var path: [OracleWorld.Link]
        var name: String
        /// Whether the order is ascending.
        var ascending: Bool
        /// The selector: plain, case-insensitive or natural.
        var selector: SortKey.Selector

        static let folding = OracleExpression.Folding(isCase: true, isMark: false)
    }

    let entity: String
    let condition: OracleCondition?
    /// The sort keys.
    let sort: [Key]
    let limit: Int?
    let offset: Int
    let withSub: Bool

    init(_ world: inout OracleWorld) {
        let entity = world.entities.randomElement(using: &world.random) ?? "Sub"
        self.entity = entity
        var parts = (0..<Int.random(in: 0...3, using: &world.random)).map { _ in
            OracleRequest.condition(entity, &world, depth: 2)
        }
        if Int.random(in: 0..<3, using: &world.random) == 0 {
            parts.append(OracleRequest.either(entity, &world))
        }
        if Int.random(in: 0..<4, using: &world.random) == 0 {
            parts.append(OracleRequest.unique(entity, &world))
        }
        condition = parts.isEmpty ? nil : parts.count == 1 ? parts[0] : .and(parts)
        sort = (0..<Int.random(in: 0...3, using: &world.random)).map { _ in
            let (path, name, type) = OracleRequest.column(entity, &world, maximumHops: 1)
            let selector =
                type == .string
                ? SortKey.Selector.allCases.randomElement(using: &world.random) : nil
            return Key(
                path: path, name: name, ascending: Bool.random(using: &world.random),
                selector: selector ?? .compare)
        }
        let isPart = Int.random(in: 0..<3, using: &world.random) > 0
        limit = isPart ? Int.random(in: 0...20, using: &world.random) : nil
        offset = isPart ? Int.random(in: 0...10, using: &world.random) : 0
        withSub = Int.random(in: 0..<4, using: &world.random) > 0
    }

    // MARK: Drawing

    private static func column(
        _ entity: String, _ world: inout OracleWorld, maximumHops: Int
    ) -> ([OracleWorld.Link], String, AttributeType) {
        var (path, entity): ([OracleWorld.Link], String) = ([], entity)
        while path.count < maximumHops, Int.random(in: 0..<3, using: &world.random) == 0,
            let link = (world.links[entity] ?? []).filter({ !$0.isToMany })
                .randomElement(using: &world.random)
        {
            path.append(link)
            entity = link.target
        }
        let names = (world.attributes[entity] ?? [:]).sorted { $0.key < $1.key }
        let (name, type) = names.randomElement(using: &world.random) ?? ("n", .int)
        return (path, name, type)
    }

    /// Types whose values can only be compared for equality.
    private static let unordered: Set<AttributeType> = [.bool, .uuid, .data]

    static func op(
        _ type: AttributeType, _ world: inout OracleWorld
    ) -> OracleCondition.Operator {
        let all = OracleCondition.Operator.allCases
        let isText = type == .string || type == .url
        let some = isText ? all[...] : unordered.contains(type) ? all[..<2] : all[..<6]
        return some.randomElement(using: &world.random) ?? .equal
    }

    private static func condition(
        _ entity: String, _ world: inout OracleWorld, depth: Int
    ) -> OracleCondition {
        let (path, name, type) = column(entity, &world, maximumHops: 3)
        let value = world.value(type)
        switch Int.random(in: 0..<(depth > 0 ? 16 : 12), using: &world.random) {
        case 0...3: return .compare(path, name, op(type, &world), value)
        case 4:
            return .compare(
                path, name, Bool.random(using: &world.random) ? .equal : .notEqual, .null)
        case 5 where !unordered.contains(type):
            return .between(path, name, value, world.value(type))
        case 5, 6: return .among(path, name, [value, world.value(type)])
        case 7, 8: return quantified(entity, &world) ?? .compare(path, name, .equal, value)
        case 9:
            let many = (world.links[entity] ?? []).filter(\.isToMany)
            guard let link = many.randomElement(using: &world.random) else {
                return .compare(path, name, .notEqual, value)
            }
            return .counted(link, op(.int, &world), Int64.random(in: 0...3, using: &world.random))
        case 10, 11:
            return OracleExpression.draw(entity, &world).map { .expression($0) }
                ?? .compare(path, name, .equal, value)
        case 12: return .not(condition(entity, &world, depth: depth - 1))
        default:
            let two = (0..<2).map { _ in condition(entity, &world, depth: depth - 1) }
            return .or(two)
        }
    }

    /// Returns a disjunction of comparisons, to exercise indexes, or a condition that a to-many
    /// relationship contains an object, to exercise inverses.
    private static func either(_ entity: String, _ world: inout OracleWorld) -> OracleCondition {
        let many = (world.links[entity] ?? []).filter(\.isToMany)
        if let link = many.randomElement(using: &world.random), Bool.random(using: &world.random),
            let number = world.numbers(of: link.target).randomElement(using: &world.random)
        {
            return .member(link, number)
        }
        let parts = (0..<Int.random(in: 2...4, using: &world.random)).map { _ in
            let (path, name, type) = column(entity, &world, maximumHops: 0)
            let op = [OracleCondition.Operator.equal, .less, .greaterOrEqual]
                .randomElement(using: &world.random)
            let isOrdered = !unordered.contains(type)
            return OracleCondition.compare(
                path, name, isOrdered ? op ?? .equal : .equal, world.value(type))
        }
        return .or(parts)
    }

    /// Returns a condition on unique attributes, mostly with values of existing objects.
    private static func unique(_ entity: String, _ world: inout OracleWorld) -> OracleCondition {
        let some = world.numbers(of: entity).shuffled(using: &world.random).prefix(3)
        func held(_ name: String) -> [PropertyValue] {
            let values = some.map { world.value($0, name) }.filter { !$0.isNull }
            return values + [name == "v" ? .string("a9b") : .int(3)]
        }
        let number = OracleCondition.among([], "u", held("u"))
        let pair = OracleCondition.and([.among([], "v", held("v")), .among([], "w", held("w"))])
        switch Int.random(in: 0..<4, using: &world.random) {
        case 0: return number
        case 1: return pair
        case 2: return .or([number, pair])
        default: return .or([number, .compare([], "n", .equal, world.value(.int))])
        }
    }

    /// Returns a condition on a to-many relationship, possibly through another relationship.
    private static func quantified(
        _ entity: String, _ world: inout OracleWorld
    ) -> OracleCondition? {
        var path: [OracleWorld.Link] = []
        var entity = entity
        if Bool.random(using: &world.random),
            let link = (world.links[entity] ?? []).randomElement(using: &world.random),
            !link.isToMany || Bool.random(using: &world.random)
        {
            path.append(link)
            entity = link.target
        }
        let many = (world.links[entity] ?? []).filter(\.isToMany)
        guard let link = many.randomElement(using: &world.random) else { return nil }
        path.append(link)
        // A path with an empty relationship has the value nil in Tandem, but no row in SQL.
        let isSure = path.allSatisfy(\.isToMany)
        let (_, name, type) = column(link.target, &world, maximumHops: 0)
        let quantifier = OracleCondition.Quantifier.allCases.randomElement(using: &world.random)
        let op = op(type, &world)
        let isSafe = isSure || quantifier != .all && op != .notEqual
        return .quantified(
            isSafe ? quantifier ?? .any : .any, path, name, isSafe ? op : .equal, world.value(type))
    }

    // MARK: Three forms

    /// Returns the request to Tandem.
    func request() throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest(
            entity: entity, limit: limit, offset: offset, includesSubentities: withSub)
        var values: [PredicateArgument] = []
        request.predicate = try condition.map {
            let format = $0.format(&values)
            return try ObjectPredicate(format: format, arguments: values)
        }
        request.sort = sort.map { part in
            SortKey(
                (part.path.map(\.name) + [part.name]).joined(separator: "."),
                ascending: part.ascending, selector: part.selector)
        }
        return request
    }

    /// Returns all matching objects, in order, by direct evaluation.
    func all(_ world: OracleWorld) -> [UInt64] {
        let found = world.numbers(of: entity, withSub: withSub)
            .filter { condition?.holds($0, world) ?? true }
        return found.sorted { a, b in
            for part in sort {
                let (left, right) = (part.value(a, world), part.value(b, world))
                let isLess = part.precedes(left, right)
                let isMore = part.precedes(right, left)
                if isLess != isMore { return part.ascending ? isLess : isMore }
            }
            return a < b
        }
    }

    /// Returns all matching objects, in order, from SQLite.
    func all(_ database: OracleDatabase, _ world: OracleWorld) throws -> [UInt64] {
        let table = entity == "Sub" ? world.entities[0] : entity
        var values: [PropertyValue] = []
        var sql = "SELECT o0.id FROM \"\(table)\" o0 WHERE "
        sql += entity == "Sub" ? "o0.isSub" : withSub ? "1" : "NOT o0.isSub"
        if let condition { sql += " AND \(condition.sql(&values))" }
        let keys = sort.map { part in
            part.sql(OracleCondition.column(part.path, part.name))
                + (part.ascending ? "" : " DESC")
        }
        sql += " ORDER BY " + (keys + ["o0.id"]).joined(separator: ", ")
        return try database.run(sql, values)
    }

    /// Applies offset and limit.
    func part(of all: [UInt64]) -> [UInt64] {
        Array(all.dropFirst(offset).prefix(limit ?? .max))
    }
}

extension OracleRequest.Key {
    /// Returns the value by which an object is sorted.
    func value(_ number: UInt64, _ world: OracleWorld) -> PropertyValue {
        let value = OracleCondition.value(number, path, name, world)
        guard selector == .caseInsensitiveCompare, case .string(let text) = value else {
            return value
        }
        return .string(Self.folding.folded(text))
    }

    /// Returns whether one value sorts before another one.
    func precedes(_ a: PropertyValue, _ b: PropertyValue) -> Bool {
        if a.isNull || b.isNull { return a.isNull && !b.isNull }
        if selector == .naturalCompare, case .string(let text) = a, case .string(let other) = b {
            return OracleNatural(text) < OracleNatural(other)
        }
        return OracleCondition.Operator.less.holds(a, b)
    }

    /// Returns the SQL expression by which rows are sorted, for a column.
    func sql(_ column: String) -> String {
        switch selector {
        case .compare: column
        case .caseInsensitiveCompare: Self.folding.sql(column)
        case .naturalCompare: "\(column) COLLATE \(OracleNatural.collation)"
        }
    }
}
