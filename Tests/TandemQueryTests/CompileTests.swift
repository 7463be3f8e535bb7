import TandemModel
import TandemQuery
import Testing

struct CompileTests {
    private let graph: Graph

    init() throws { graph = try Graph() }

    private func error(
        _ text: String?, _ arguments: [PredicateArgument] = [], entity: String = "Team",
        sort: [SortComponent] = [], section: String? = nil, refresh: [String] = []
    ) throws -> TandemError? {
        let predicate = try text.map { try ObjectPredicate(format: $0, arguments: arguments) }
        let request = FetchDescriptor(entity: entity, predicate: predicate, sort: sort)
        do {
            _ = try CompiledRequest(
                request, sectionKeyPath: section, refreshKeyPaths: refresh, in: graph.model)
            return nil
        } catch {
            return error
        }
    }

    @Test func `unknown names are errors`() throws {
        #expect(try error(nil, entity: "Nation")?.code == .unknownEntity)
        #expect(try error("size > 1")?.code == .unknownProperty)
        #expect(try error("league.size > 1")?.code == .unknownProperty)
        #expect(try error("name.length > 1")?.code == .unknownProperty)
        #expect(try error("sponsor == 'X'")?.code == .unknownProperty)
        #expect(try error("SELF == CAST(\"Nation/1\", \"Object\")")?.code == .unknownEntity)
        #expect(
            try error(nil, sort: [SortComponent("", ascending: true)])?.code == .unknownProperty)
        #expect(try error(nil, refresh: ["players.size"])?.code == .unknownProperty)
    }

    @Test(arguments: [
        "players.goals > 1", "tags == NULL", "wins == players.goals", "players.goals IN {1}",
        "players.goals + 1 > 2",
    ])
    func `to-many paths require a quantifier`(_ text: String) throws {
        let found = try error("active == YES AND " + text)
        #expect(found?.code == .invalidPredicate)
        #expect(found?.message.contains("ANY") == true)
        #expect(found?.offset == "active == TRUE AND ".utf8.count)
    }

    @Test(arguments: [
        "wins == 'abc'", "wins == name", "name > 5", "active == 2", "founded == 'yesterday'",
        "league == 5",
        "league > 5", "wins BEGINSWITH '1'", "wins ==[c] 1", "name IN 'abc'", "wins BETWEEN {1}",
        "wins BETWEEN 1", "wins == {1, 2}", "name + 1 == 2", "players.@sum.name == 1",
        "league.@count == 1",
        "$x == 1", "players.@sum.team == 1", "wins IN name", "name == SELF", "code == 'x'",
        "SUBQUERY(players, $p, $q.goals > 1).@count > 0",
        "SUBQUERY(league, $p, TRUEPREDICATE).@count > 0",
    ])
    func `types have to match`(_ text: String) throws {
        #expect(try error(text)?.code == .invalidPredicate)
        #expect(try error(text)?.offset != nil)
    }

    @Test func `sort keys and sections can't go through to-many relationships`() throws {
        #expect(try error(nil, sort: [SortComponent("players.name")])?.code == .invalidPredicate)
        #expect(try error(nil, section: "tags.name")?.code == .invalidPredicate)
        #expect(try error(nil, section: "league")?.code == .invalidPredicate)
        for selector in [SortComponent.Selector.caseInsensitiveCompare, .naturalCompare] {
            let key = SortComponent("wins", selector: selector)
            let error = try error(nil, sort: [key])
            #expect(error?.code == .invalidPredicate)
            #expect(error?.message.contains(selector.name) == true)
        }
        #expect(try error(nil, sort: [SortComponent("league.name")], refresh: ["tags"]) == nil)
    }

    @Test func `the depth of built trees is limited`() throws {
        var predicate = PredicateTree.constant(true)
        for _ in 0..<100 { predicate = .not(predicate) }
        let request = FetchDescriptor(entity: "Team", predicate: ObjectPredicate(predicate))
        #expect {
            try CompiledRequest(request, in: graph.model)
        } throws: {
            ($0 as? TandemError)?.code == .limitExceeded
        }
    }

    // MARK: Paths

    private func names(_ path: ObservedPath) -> String {
        var parts = path.hops.map { hop in
            graph.model.entity(tagged: hop.owner)?.properties[hop.slot].name ?? "?"
        }
        if let final = path.final {
            parts.append(
                graph.model.entity(tagged: final.entity)?.properties[final.slot].name ?? "?")
        }
        return parts.joined(separator: ".")
    }

    @Test func `every path is observed`() throws {
        let predicate = try ObjectPredicate(
            format:
                "wins > 1 AND ANY players.goals > 1 AND SUBQUERY(tags, $t, $t.name == name).@count > 0 "
                + "AND players.@sum.goals > 3 AND league.teams.@count > 2 AND league != NULL")
        let request = try CompiledRequest(
            FetchDescriptor(
                entity: "Team", predicate: predicate, sort: [SortComponent("league.name")]),
            sectionKeyPath: "league.name", refreshKeyPaths: ["tags"], in: graph.model)
        #expect(
            Set(request.paths.map(names)) == [
                "wins", "players", "players.goals", "tags", "tags.name", "name", "league.teams",
                "league",
                "league.name",
            ])
        let league = request.paths.first { names($0) == "league.name" }
        #expect(league?.usage == [.sort, .section])
        #expect(request.paths.first { names($0) == "tags" }?.usage == [.predicate, .refresh])
        #expect(request.predicateUsesRelated && request.usesToMany)
    }

    @Test func `predicates over an object's own columns use no related object`() throws {
        let request = try graph.compile(
            "wins > 1 AND league == %@", [.object(ObjectID(entity: "League", number: 1))])
        #expect(!request.predicateUsesRelated && !request.usesToMany)
    }

    // MARK: Constraints

    private func constraints(_ text: String) throws -> [SlotConstraint.Condition] {
        try graph.compile(text).constraints.map(\.condition)
    }

    @Test func `constraints are those of the top level`() throws {
        #expect(try constraints("wins == 5") == [.equals(.int(5))])
        #expect(
            try constraints("5 < wins") == [
                .range(lower: .init(.int(5), inclusive: false), upper: nil)
            ])
        #expect(
            try constraints("name BEGINSWITH 'G' AND (active == YES AND wins IN {2, 1, 2})")
                == [.prefix("G"), .equals(.bool(true)), .anyOf([.int(1), .int(2)])])
        #expect(
            try constraints("founded BETWEEN {1, 2}") == [
                .range(
                    lower: .init(.date(1), inclusive: true), upper: .init(.date(2), inclusive: true)
                )
            ])
        #expect(try constraints("name == NULL") == [.equals(.null)])
        #expect(
            try constraints("rate > 2") == [
                .range(lower: .init(.double(2), inclusive: false), upper: nil)
            ])
        #expect(try constraints("wins == 5.0") == [.equals(.int(5))])
        #expect(try constraints("site == 'u'") == [.equals(.url("u"))])
        let league = ObjectReference(tag: try graph.entity("League").tag, number: 4)
        #expect(
            try constraints("league == CAST(\"League/4\", \"Object\")") == [
                .equals(.reference(league))
            ])
    }

    @Test(arguments: [
        "wins == 5 OR active == YES", "NOT wins == 5", "name ==[c] 'x'", "wins != 5", "wins > 4.5",
        "wins > NULL",
        "league.name == 'x'", "ANY players.goals == 3", "wins == rate", "name LIKE 'G*'",
        "wins IN {1, rate}",
        "name IN[c] {'x'}",
    ])
    func `nothing else is a constraint`(_ text: String) throws {
        #expect(try constraints(text).isEmpty)
    }
}
