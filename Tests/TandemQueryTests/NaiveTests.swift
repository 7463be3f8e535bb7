import TandemModel
import TandemQuery
import TestSupport
import Testing

/// Evaluates predicates over the graph's dictionaries, slowly, by following the written rules step
/// by step.
private struct Naive {
    let graph: Graph

    func holds(
        _ predicate: PredicateTree, _ object: ObjectReference, _ variable: ObjectReference?
    ) -> Bool {
        switch predicate {
        case .constant(let value): return value
        case .and(let parts): return parts.filter { !holds($0, object, variable) }.isEmpty
        case .or(let parts): return !parts.filter { holds($0, object, variable) }.isEmpty
        case .not(let part): return !holds(part, object, variable)
        case .comparison(let comparison):
            let right = values(comparison.right, object, variable)
            let results = values(comparison.left, object, variable).map {
                compare($0, comparison, right)
            }
            switch comparison.quantifier {
            case .direct: return results == [true]
            case .any: return results.contains(true)
            case .all: return !results.contains(false)
            case .none: return !results.contains(true)
            }
        }
    }

    private func compare(_ left: PropertyValue, _ comparison: Comparison, _ right: [PropertyValue])
        -> Bool
    {
        switch comparison.op {
        case .in: return !left.isNull && right.contains { !$0.isNull && order(left, $0) == 0 }
        case .equal:
            return left.isNull == right[0].isNull && (left.isNull || order(left, right[0]) == 0)
        case .notEqual:
            return left.isNull != right[0].isNull || (!left.isNull && order(left, right[0]) != 0)
        default: break
        }
        if left.isNull || right[0].isNull { return false }
        if case .string(let text) = left, case .string(let part) = right[0] {
            if comparison.op == .beginsWith { return Array(text.utf8).starts(with: part.utf8) }
            if comparison.op == .contains { return part.isEmpty || text.contains(part) }
        }
        let difference = order(left, right[0])
        switch comparison.op {
        case .less: return difference < 0
        case .lessOrEqual: return difference <= 0
        case .greater: return difference > 0
        default: return difference >= 0
        }
    }

    private func order(_ a: PropertyValue, _ b: PropertyValue) -> Int {
        switch (a, b) {
        case (.int(let a), .int(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.string(let a), .string(let b)):
            a == b ? 0 : a.utf8.lexicographicallyPrecedes(b.utf8) ? -1 : 1
        case (.reference(let a), .reference(let b)): Int(a.number) - Int(b.number)
        default: 99
        }
    }

    private func values(
        _ expression: QueryExpression, _ object: ObjectReference, _ variable: ObjectReference?
    ) -> [PropertyValue] {
        switch expression {
        case .constant(let value): [value]
        case .object(let id): graph.model.reference(to: id).map { [.reference($0)] } ?? []
        case .list(let elements): elements.flatMap { values($0, object, variable) }
        case .keyPath(let names): follow(names, .reference(object))
        case .selfObject: [.reference(object)]
        case .variable(_, let names):
            variable.map { follow(names, .reference($0)) } ?? []
        case .aggregate(_, let collection, _):
            [.int(Int64(Set(values(collection, object, variable).filter { !$0.isNull }).count))]
        case .subquery(let collection, _, let predicate):
            values(collection, object, variable).filter {
                $0.reference.map { holds(predicate, object, $0) } ?? false
            }
        case .arithmetic: []
        }
    }

    private func follow(_ names: [String], _ start: PropertyValue) -> [PropertyValue] {
        guard let name = names.first else { return [start] }
        guard case .reference(let object) = start else { return [.null] }
        let rest = Array(names.dropFirst())
        if let members = graph.links[object]?[name] {
            return members.flatMap { follow(rest, .reference($0)) }
        }
        return follow(rest, graph.values[object]?[name] ?? .null)
    }
}

/// A generator of small graphs and of predicates that compile.
private struct RandomLeague {
    var random: SplitMix64
    private let names = ["", "a", "ab", "b", "B", "é"]

    init(_ seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func int(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

    private mutating func name() -> PropertyValue {
        int(0..<4) == 0 ? .null : .string(names[int(0..<names.count)])
    }

    private mutating func number() -> PropertyValue {
        int(0..<4) == 0 ? .null : .int(Int64(int(0..<4)))
    }

    mutating func graph() throws -> Graph {
        var graph = try Graph()
        let team = try graph.entity("Team").tag
        let tags = try (0..<3).map { try graph.add("Tag", 300 + UInt64($0), ["name": name()]) }
        let leagues = try (0..<2).map {
            try graph.add("League", 400 + UInt64($0), ["name": name()])
        }
        let teams = (1...5).map { ObjectReference(tag: team, number: UInt64($0)) }
        var players: [ObjectReference: [ObjectReference]] = [:]
        for number in 0..<8 {
            let owner = teams[int(0..<5)]
            let values = [
                "name": name(), "goals": number % 3 == 0 ? .null : self.number(),
                "team": .reference(owner),
            ]
            players[owner, default: []].append(
                try graph.add("Player", 200 + UInt64(number), values))
        }
        var members: [ObjectReference: [ObjectReference]] = [:]
        for object in teams {
            let league = int(0..<3)
            if league < 2 { members[leagues[league], default: []].append(object) }
            let values = [
                "name": name(), "wins": number(),
                "league": league < 2 ? .reference(leagues[league]) : .null,
            ]
            let chosen = tags.filter { _ in Bool.random(using: &random) }
            let links = ["players": players[object] ?? [], "tags": chosen]
            try graph.add("Team", object.number, values, links: links)
        }
        for league in leagues { graph.links[league] = ["teams": members[league] ?? []] }
        return graph
    }

    // MARK: Predicates

    mutating func predicate(_ depth: Int = 3) -> PredicateTree {
        switch int(0..<(depth > 0 ? 7 : 4)) {
        case 0...3: .comparison(comparison(depth))
        case 4: .not(predicate(depth - 1))
        case 5: .and([predicate(depth - 1), predicate(depth - 1)])
        default: .or([predicate(depth - 1), predicate(depth - 1), predicate(depth - 1)])
        }
    }

    private mutating func comparison(_ depth: Int) -> Comparison {
        let quantifiers: [Comparison.Quantifier] = [.any, .all, .none]
        switch int(0..<9) {
        case 0: return Comparison(.keyPath(["wins"]), order(), .constant(number()))
        case 1: return Comparison(.keyPath(["name"]), textual(), .constant(name()))
        case 2: return Comparison(.keyPath(["league", "name"]), textual(), .keyPath(["name"]))
        case 3:
            let list = QueryExpression.list([.constant(number()), .constant(number())])
            return Comparison(.keyPath(["wins"]), .in, list)
        case 4:
            return Comparison(
                .keyPath(["players", "goals"]), order(), .constant(number()),
                quantifier: quantifiers[int(0..<3)])
        case 5:
            return Comparison(
                .keyPath(["league", "teams", "name"]), textual(), .constant(name()),
                quantifier: quantifiers[int(0..<3)])
        case 6:
            let object = QueryExpression.object(
                ObjectID(entity: "League", number: 400 + UInt64(int(0..<3))))
            return Comparison(.keyPath(["league"]), int(0..<2) == 0 ? .equal : .notEqual, object)
        case 7:
            let count = QueryExpression.aggregate(
                .count, of: .keyPath(["league", "teams", "tags"]), path: [])
            return Comparison(count, order(), .keyPath(["wins"]))
        default:
            let inner = PredicateTree.or([
                .comparison(
                    Comparison(.variable("p", path: ["goals"]), order(), .keyPath(["wins"]))),
                .comparison(
                    Comparison(
                        .variable("p", path: ["team", "league", "name"]), textual(),
                        .constant(name()))),
            ])
            let query = QueryExpression.subquery(
                of: .keyPath(["players"]), variable: "p", where: inner)
            return Comparison(
                .aggregate(.count, of: query, path: []), order(), .constant(.int(Int64(int(0..<3))))
            )
        }
    }

    private mutating func order() -> Comparison.Operator {
        [.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual][int(0..<6)]
    }

    private mutating func textual() -> Comparison.Operator {
        int(0..<3) == 0 ? [.beginsWith, .contains][int(0..<2)] : order()
    }
}

struct NaiveTests {
    @Test func `compiled evaluation agrees with the written rules`() throws {
        let seed = seed
        var random = RandomLeague(seed)
        for _ in 0..<20 {
            let graph = try random.graph()
            let naive = Naive(graph: graph)
            let team = try graph.entity("Team").tag
            for _ in 0..<60 {
                let predicate = random.predicate()
                let request = try CompiledRequest(
                    FetchDescriptor(entity: "Team", predicate: ObjectPredicate(predicate)),
                    in: graph.model)
                for (object, row) in graph.rows where object.tag == team {
                    let expected = naive.holds(predicate, object, nil)
                    #expect(
                        request.matches(object, row, graph) == expected,
                        "seed \(seed): \(object.number) \(predicate.format)")
                    #expect(
                        !expected || satisfies(row, request),
                        "seed \(seed): constraints of \(predicate.format)")
                }
            }
        }
    }

    @Test func `rows in place are evaluated and sorted like copies`() throws {
        let seed = seed &+ 1
        var random = RandomLeague(seed)
        for _ in 0..<10 {
            let graph = try random.graph()
            let borrowed = BorrowedGraph(graph: graph)
            for _ in 0..<40 {
                let predicate = random.predicate()
                let request = try CompiledRequest(
                    FetchDescriptor(
                        entity: "Team", predicate: ObjectPredicate(predicate),
                        sort: [
                            SortComponent("league.name"), SortComponent("name", ascending: false),
                        ]),
                    in: graph.model)
                for (object, row) in graph.rows where object.tag == request.entity.tag {
                    let what = "seed \(seed): \(object.number) \(predicate.format)"
                    BorrowedGraph.borrow(row) {
                        let matches = request.matches(object, $0, borrowed)
                        #expect(matches == request.matches(object, row, graph), "\(what)")
                    }
                    let key = BorrowedGraph.borrow(row) { request.sortKey(object, $0, borrowed) }
                    #expect(key == request.sortKey(object, row, graph), "\(what)")
                }
            }
        }
    }

    /// Whether a matching row satisfies every constraint that the planner receives.
    private func satisfies(_ row: Row, _ request: CompiledRequest) -> Bool {
        request.constraints.allSatisfy { constraint in
            let value = row.uncheckedValue(constraint.slot, in: request.entity)
            switch constraint.condition {
            case .equals(let expected): return value == expected
            case .anyOf(let values): return values.contains(value)
            case .prefix(let prefix):
                guard case .string(let text) = value else { return false }
                return Array(text.utf8).starts(with: prefix.utf8)
            case .range(let lower, let upper):
                let key = key(value)
                let isAbove = lower.map { bound in
                    let low = self.key(bound.value)
                    return low.lexicographicallyPrecedes(key) || bound.inclusive && low == key
                }
                let isBelow = upper.map { bound in
                    let high = self.key(bound.value)
                    return key.lexicographicallyPrecedes(high) || bound.inclusive && high == key
                }
                return !value.isNull && isAbove ?? true && isBelow ?? true
            }
        }
    }

    private func key(_ value: PropertyValue) -> [UInt8] {
        var encoder = KeyEncoder()
        encoder.append(value)
        return encoder.bytes
    }
}
