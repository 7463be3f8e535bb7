import FoundationEssentials
import TandemModel
import TandemQuery
import Testing

struct KeyTests {
    private var graph: Graph
    private let league: ObjectReference

    init() throws {
        graph = try Graph()
        league = try graph.add("League", 40, ["name": .string("Ligue")])
    }

    private func request(
        _ sort: [SortComponent], section: String? = nil, refresh: [String] = []
    ) throws -> CompiledRequest {
        try CompiledRequest(
            FetchDescriptor(entity: "Team", sort: sort), sectionKeyPath: section,
            refreshKeyPaths: refresh, in: graph.model)
    }

    /// Returns the numbers of the teams in the order of their keys.
    private func order(_ graph: Graph, _ sort: [SortComponent]) throws -> [UInt64] {
        let request = try request(sort)
        let teams = graph.rows.keys.filter { request.includes(tag: $0.tag) }
        let keys = try teams.map { team in
            let row = try #require(graph.rows[team])
            return (try #require(request.sortKey(team, row, graph)), team.number)
        }
        return keys.sorted {
            $0.0 == $1.0 ? $0.1 < $1.1 : $0.0.lexicographicallyPrecedes($1.0)
        }.map(\.1)
    }

    @Test func `nil sorts first, and last in descending order`() throws {
        var graph = graph
        try graph.add("Team", 1, ["wins": .int(3)])
        try graph.add("Team", 2)
        try graph.add("Team", 3, ["wins": .int(-1)])
        #expect(try order(graph, [SortComponent("wins")]) == [2, 3, 1])
        #expect(try order(graph, [SortComponent("wins", ascending: false)]) == [1, 3, 2])
    }

    @Test func `case-insensitive order folds texts`() throws {
        var graph = graph
        try graph.add("Team", 1, ["name": .string("b")])
        try graph.add("Team", 2, ["name": .string("STRASSE")])
        try graph.add("Team", 3, ["name": .string("straße")])
        try graph.add("Team", 4, ["name": .string("A")])
        try graph.add("Team", 5)
        let folded = SortComponent("name", selector: .caseInsensitiveCompare)
        #expect(try order(graph, [folded]) == [5, 4, 1, 2, 3])
        #expect(try order(graph, [SortComponent("name")]) == [5, 4, 2, 1, 3])
    }

    @Test func `natural order compares digits as numbers`() throws {
        var graph = graph
        let long = String(repeating: "9", count: 70_000)
        for (number, name) in [
            (1, "File 10"), (2, "file 2"), (3, "File"), (4, long), (5, "File 02"), (6, "Filter"),
        ] {
            try graph.add("Team", UInt64(number), ["name": .string(name)])
        }
        try graph.add("Team", 7)
        let natural = SortComponent("name", selector: .naturalCompare)
        #expect(try order(graph, [natural]) == [7, 4, 3, 2, 5, 1, 6])
        let descending = SortComponent("name", ascending: false, selector: .naturalCompare)
        #expect(try order(graph, [descending]) == [6, 1, 5, 2, 3, 4, 7])
    }

    @Test func `sort keys go through to-one relationships`() throws {
        var graph = graph
        let other = try graph.add("League", 41, ["name": .string("Alpha")])
        try graph.add("Team", 1, ["league": .reference(league)])
        try graph.add("Team", 2, ["league": .reference(other)])
        try graph.add("Team", 3)
        #expect(try order(graph, [SortComponent("league.name")]) == [3, 2, 1])
        graph.hidden = [other]
        let team = ObjectReference(tag: try graph.entity("Team").tag, number: 2)
        let row = try #require(graph.rows[team])
        let request = try request([SortComponent("league.name")])
        #expect(request.sortKey(team, row, graph) == nil)
    }

    @Test(arguments: [
        ("name", PropertyValue.string("Ghana"), "Ghana"), ("name", .null, ""),
        ("active", .bool(true), "1"),
        ("active", .bool(false), "0"), ("wins", .int(-3), "-3"), ("rate", .double(2), "2"),
        ("rate", .double(2.5), "2.5"), ("rate", .double(-1e19), "-10000000000000000000"),
        ("rate", .double(-0.5), "-0.5"), ("rate", .double(-0.0), "0"),
        ("price", .decimal(10), "10"), ("founded", .date(60), "60"),
    ])
    func sectionNamesAreWritten(_ path: String, _ value: PropertyValue, _ name: String) throws {
        var graph = graph
        let team = try graph.add("Team", 1, [path: value])
        let row = try #require(graph.rows[team])
        #expect(try request([], section: path).section(team, row, graph) == .known(name))
        #expect(try request([]).section(team, row, graph) == .known(""))
    }

    @Test func `the section of an object that is not loaded is unknown`() throws {
        var graph = graph
        let team = try graph.add("Team", 1, ["league": .reference(league)])
        let row = try #require(graph.rows[team])
        let request = try request([], section: "league.name")
        #expect(request.section(team, row, graph) == .known("Ligue"))
        graph.hidden = [league]
        #expect(request.section(team, row, graph) == .unknown)
    }

    @Test func `refresh values ignore the order of members`() throws {
        var graph = graph
        let tags = try (1...20).map {
            try graph.add("Tag", 100 + UInt64($0), ["name": .string("tag \($0)")])
        }
        let team = try graph.add("Team", 1, links: ["tags": tags])
        let row = try #require(graph.rows[team])
        let request = try request([], refresh: ["tags.name", "tags", "league.name"])
        let before = request.refreshValues(team, row, graph)
        graph.links[team]?["tags"] = tags.reversed()
        #expect(request.refreshValues(team, row, graph) == before)
        try graph.add("Tag", 101, ["name": .string("renamed")])
        #expect(request.refreshValues(team, row, graph) != before)
        graph.hidden = [tags[0]]
        #expect(request.refreshValues(team, row, graph) == nil)
    }

    @Test func `a refresh path to a relationship observes its members`() throws {
        var graph = graph
        let a = try graph.add("Tag", 101)
        let b = try graph.add("Tag", 102)
        let team = try graph.add("Team", 1, links: ["tags": [a]])
        let row = try #require(graph.rows[team])
        let request = try request([], refresh: ["tags"])
        let before = request.refreshValues(team, row, graph)
        graph.links[team]?["tags"] = [b]
        #expect(request.refreshValues(team, row, graph) != before)
    }
}
