import TandemModel
import TandemQuery
import TestSupport
import Testing

/// Rows of values and groups, compared with plain loops over the same objects.
struct ColumnTests {
    private let names = ["a", "b", "c", ""]

    private func graph(_ random: inout SplitMix64) throws -> Graph {
        var graph = try Graph()
        let leagues = try names.enumerated().map {
            try graph.add("League", 100 + UInt64($0.offset), ["name": .string($0.element)])
        }
        for number in 1...UInt64(40) {
            var values: [String: PropertyValue] = [:]
            if Bool.random(using: &random) {
                values["name"] = .string(names[Int.random(in: 0..<4, using: &random)])
            }
            if Int.random(in: 0..<4, using: &random) > 0 {
                values["wins"] = .int(Int64.random(in: -3...3, using: &random))
            }
            if Bool.random(using: &random) {
                values["rate"] = .double(Double(Int.random(in: -4...4, using: &random)) / 4)
            }
            if Bool.random(using: &random) {
                values["league"] = .reference(leagues[Int.random(in: 0..<4, using: &random)])
            }
            try graph.add("Team", number, values)
        }
        return graph
    }

    private func rows(
        _ graph: Graph, _ columns: FetchColumns,
        _ request: FetchDescriptor = FetchDescriptor(entity: "Team")
    ) throws -> [[PropertyValue]] {
        let compiled = try CompiledColumns(columns, of: request, in: graph.model)
        var fold = ColumnFold(compiled)
        let objects = graph.rows.keys.filter { compiled.objects.includes(tag: $0.tag) }.sorted()
        for object in objects {
            let row = try #require(graph.rows[object])
            fold.add(try #require(compiled.values(object, row, graph)))
        }
        return try #require(fold.rows(graph) {})
    }

    @Test func `law 7: a check ends the sorting and the evaluation of groups`() throws {
        struct Stop: Error {}
        var random = SplitMix64(seed: seed)
        let graph = try Graph()
        let columns = FetchColumns(["name", "@count"], groupBy: ["name"])
        let compiled = try CompiledColumns(
            columns, of: FetchDescriptor(entity: "Team"), in: graph.model)
        var fold = ColumnFold(compiled)
        for _ in 0..<9_000 { fold.add([.string("\(random.next())")]) }
        var checks = 0
        _ = fold.rows(graph) { checks += 1 }
        #expect(checks > 9, "only \(checks)")
        for last in 1...checks {
            var left = last
            #expect(throws: Stop.self) {
                try fold.rows(graph) { () throws(Stop) in
                    left -= 1
                    if left == 0 { throw Stop() }
                }
            }
        }
    }

    /// Returns the value at the end of a path, read from the graph's dictionaries.
    private func reached(_ graph: Graph, _ object: ObjectReference, _ path: String) -> PropertyValue
    {
        let parts = path.split(separator: ".").map(String.init)
        let value = graph.values[object]?[parts[0]] ?? .null
        guard parts.count > 1 else { return value }
        return value.reference.map { reached(graph, $0, parts[1]) } ?? .null
    }

    private func number(_ value: PropertyValue) -> Double? {
        switch value {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    @Test(arguments: [["name"], ["league.name"], ["league"], ["wins", "name"], ["rate"], []])
    func `groups equal those of a plain loop`(_ groupBy: [String]) throws {
        let seed = seed
        var random = SplitMix64(seed: seed)
        for _ in 0..<20 {
            let graph = try graph(&random)
            let columns = FetchColumns(
                groupBy.map { FetchColumn(keyPath: $0) }
                    + [
                        "@count", "@count.name", "@sum.wins", "@min.wins", "@max.wins", "@avg.rate",
                    ],
                groupBy: groupBy)
            var groups: [[PropertyValue]: [ObjectReference]] = [:]
            for object in graph.rows.keys where object.number < 100 {
                groups[groupBy.map { reached(graph, object, $0) }, default: []].append(object)
            }
            let rows = try rows(graph, columns)
            #expect(rows.count == groups.count, "seed \(seed)")
            for row in rows {
                let members = try #require(groups[Array(row.prefix(groupBy.count))])
                let found = Array(row.dropFirst(groupBy.count))
                let wins = members.compactMap { number(reached(graph, $0, "wins")) }
                let rates = members.compactMap { number(reached(graph, $0, "rate")) }
                let named = members.filter { !reached(graph, $0, "name").isNull }
                #expect(found[0] == .int(Int64(members.count)), "seed \(seed)")
                #expect(found[1] == .int(Int64(named.count)), "seed \(seed)")
                #expect(number(found[2]) == wins.reduce(0, +), "seed \(seed)")
                #expect(number(found[3]) == wins.min(), "seed \(seed)")
                #expect(number(found[4]) == wins.max(), "seed \(seed)")
                let mean = rates.isEmpty ? nil : rates.reduce(0, +) / Double(rates.count)
                #expect(number(found[5]) == mean, "seed \(seed)")
            }
        }
    }

    @Test func `groups are sorted by their keys or by any column`() throws {
        var graph = try Graph()
        for (number, (name, wins)) in [("b", 1), ("a", 2), ("b10", 3), ("b2", 1), ("a", 5)]
            .enumerated()
        {
            try graph.add(
                "Team", UInt64(number + 1), ["name": .string(name), "wins": .int(Int64(wins))])
        }
        try graph.add("Team", 9)
        func names(_ sort: [SortComponent], limit: Int? = nil, offset: Int = 0) throws
            -> [PropertyValue]
        {
            let request = FetchDescriptor(entity: "Team", sort: sort, limit: limit, offset: offset)
            return try rows(
                graph, FetchColumns(["name", "@sum.wins", "@count"], groupBy: ["name"]), request
            ).map { $0[0] }
        }
        let (a, b, b10, b2) = (
            PropertyValue.string("a"), PropertyValue.string("b"), PropertyValue.string("b10"),
            PropertyValue.string("b2")
        )
        #expect(try names([]) == [.null, a, b, b10, b2])
        #expect(try names(["-name"]) == [b2, b10, b, a, .null])
        #expect(try names(["name:naturalCompare"]) == [.null, a, b, b2, b10])
        #expect(try names(["-@sum.wins"]) == [a, b10, b, b2, .null])
        #expect(try names(["-@count", "-name"]) == [a, b2, b10, b, .null])
        #expect(try names(["-@sum.wins"], limit: 2, offset: 1) == [b10, b])
        #expect(try names(["name"], limit: 0) == [])
    }

    @Test func `without groups each object has a row`() throws {
        var graph = try Graph()
        for (number, name) in ["b", "a", "b", "c"].enumerated() {
            try graph.add("Team", UInt64(number + 1), ["name": .string(name)])
        }
        let all = try rows(graph, ["name", "wins"])
        #expect(all == ["b", "a", "b", "c"].map { [.string($0), .null] })
        let request = FetchDescriptor(entity: "Team", limit: 2, offset: 1)
        let once = try rows(graph, FetchColumns(["name"], isDistinct: true), request)
        #expect(once == [[.string("a")], [.string("c")]])
    }

    @Test func `aggregates over no objects are one row if nothing is grouped`() throws {
        let graph = try Graph()
        #expect(
            try rows(graph, ["@count", "@sum.wins", "@max.wins", "@avg.wins"])
                == [[.int(0), .int(0), .null, .null]])
        #expect(try rows(graph, FetchColumns(["name"], groupBy: ["name"])) == [])
    }

    @Test func `sums beyond the range of integers are sorted with others`() throws {
        var graph = try Graph()
        for (number, wins) in [Int64.max, .max, 5, .max].enumerated() {
            let name = PropertyValue.string(number < 2 ? "double" : number == 2 ? "five" : "max")
            try graph.add("Team", UInt64(number + 1), ["name": name, "wins": .int(wins)])
        }
        let request = FetchDescriptor(entity: "Team", sort: ["-@sum.wins"])
        let found = try rows(
            graph, FetchColumns(["name", "@sum.wins"], groupBy: ["name"]), request)
        #expect(found.map { $0[0] } == [.string("double"), .string("max"), .string("five")])
    }

    @Test func `conditions exclude groups`() throws {
        var graph = try Graph()
        let all: [String?] = ["a", "a", "a", "b", "b", "É", nil]
        for (number, name) in all.enumerated() {
            try graph.add(
                "Team", UInt64(number + 1),
                [
                    "name": name.map { .string($0) } ?? .null, "wins": .int(Int64(number)),
                    "rate": number == 6 ? .null : .double(Double(number) / 2),
                ])
        }
        func names(_ having: String, limit: Int? = nil) throws -> [String?] {
            let columns = FetchColumns(
                [
                    "name", "@count", "@count.rate", "@sum.wins", "@sum.rate", "@avg.wins",
                    "@max.wins",
                ], groupBy: ["name"], having: try ObjectPredicate(format: having))
            let request = FetchDescriptor(entity: "Team", sort: ["-@count"], limit: limit)
            return try rows(graph, columns, request).map {
                if case .string(let name) = $0[0] { name } else { nil }
            }
        }
        #expect(try names("@count > 1 AND @sum.wins >= 4") == ["b"])
        #expect(try names("@count BETWEEN {2, 3}") == ["a", "b"])
        #expect(try names("@count > 0", limit: 1) == ["a"])
        #expect(try names("name ==[cd] 'e' OR name == nil") == [nil, "É"])
        #expect(try names("name IN {'a', 'b'} AND NOT @max.wins == 2") == ["b"])
        #expect(try names("@sum.wins / @count == 3") == ["b"])
        #expect(try names("@avg.wins == 3.5") == ["b"])
        #expect(try names("@sum.rate == 0") == [nil])
        #expect(try names("@sum.rate > @max.wins + 1") == [])
        #expect(try names("@count.rate < @count") == [nil])
    }

    @Test func `a sum beyond the range of integers is compared by its value`() throws {
        var graph = try Graph()
        for (number, wins) in [Int64.max, .max, 5].enumerated() {
            try graph.add(
                "Team", UInt64(number + 1),
                ["name": .string(number < 2 ? "large" : "small"), "wins": .int(wins)])
        }
        func count(_ having: String) throws -> Int {
            try rows(
                graph,
                FetchColumns(
                    ["@sum.wins"], groupBy: ["name"], having: try ObjectPredicate(format: having))
            ).count
        }
        #expect(try count("@sum.wins > 9223372036854775807") == 1)
        #expect(try count("@sum.wins > 4") == 2)
        #expect(try count("@sum.wins == 5") == 1)
    }

    @Test(arguments: [
        ("wins > 1", "groups have no column `wins`; the columns are name, @count, league"),
        ("@sum.wins > 1", "groups have no column `@sum.wins`"),
        ("players.@count > 1", "groups have no column `players.@count`"),
        ("SELF == nil", "groups have no column `SELF`"),
        ("@count == 'x'", "cannot be compared"),
        ("@count BEGINSWITH 'x'", "BEGINSWITH needs text"),
        ("name > @count", "cannot be compared"),
        ("league == nil", "league"),
    ]) func `invalid conditions are refused`(_ having: String, _ reason: String) throws {
        let graph = try Graph()
        let columns = FetchColumns(
            ["name", "@count", "league"], groupBy: ["name", "league"],
            having: try ObjectPredicate(format: having))
        let error = #expect(throws: TandemError.self) {
            try CompiledColumns(columns, of: FetchDescriptor(entity: "Team"), in: graph.model)
        }
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("column_") == false, "\(error?.message ?? "")")
    }

    @Test func `conditions on groups require groups`() throws {
        let graph = try Graph()
        let having = try ObjectPredicate(format: "name == 'a'")
        #expect {
            try CompiledColumns(
                FetchColumns(["name"], having: having), of: FetchDescriptor(entity: "Team"),
                in: graph.model)
        } throws: {
            ($0 as? TandemError)?.code == .usage
        }
        // An aggregate can be computed for a group, but not for an object.
        let request = FetchDescriptor(
            entity: "Team", predicate: try ObjectPredicate(format: "@count > 1"))
        #expect {
            try CompiledRequest(request, in: graph.model)
        } throws: {
            ($0 as? TandemError)?.message.contains("players.@count") == true
        }
    }

    @Test(arguments: [
        "@count > 3", "@sum.wins >= 10 AND @count.name == 2", "NOT (@max.a.b == nil)",
    ])
    func `conditions on groups print as they were written`(_ text: String) throws {
        let predicate = try ObjectPredicate(format: text)
        #expect(predicate.description == text.replacing("nil", with: "NULL"))
        var writer = ByteWriter()
        let columns = FetchColumns(["@count"], having: predicate, isDistinct: true)
        columns.encode(into: &writer)
        var reader = ByteReader(writer.bytes)
        #expect(try FetchColumns(from: &reader) == columns)
    }

    @Test(
        arguments: [
            (FetchColumns([]), nil), (["players.goals"], nil), (["name", "@count"], nil),
            (["@sum.name"], nil), (["@avg.league"], nil), (["@min.league"], nil),
            (FetchColumns(["wins"], groupBy: ["name"]), nil),
            (FetchColumns(["name"], groupBy: ["name"]), "wins"),
            (FetchColumns(["wins"], groupBy: ["wins"]), "wins:naturalCompare"),
            (FetchColumns(["name"], groupBy: ["players"]), nil),
            (FetchColumns(Array(repeating: "name", count: 129)), nil),
        ] as [(FetchColumns, SortComponent?)])
    func misuseIsRefused(_ columns: FetchColumns, _ sort: SortComponent?) throws {
        let graph = try Graph()
        let request = FetchDescriptor(entity: "Team", sort: sort.map { [$0] } ?? [])
        #expect {
            try CompiledColumns(columns, of: request, in: graph.model)
        } throws: {
            ($0 as? TandemError)?.code == .usage
        }
    }

    @Test(arguments: ["name", "league.name", "@count", "@count.name", "@sum.league.wins"])
    func `printed columns parse to the same columns`(_ text: String) {
        #expect(FetchColumn(text)?.description == text)
    }

    @Test(arguments: ["", "@", "@sum", "@sum.", "@median.wins", "@count."])
    func `other texts are not columns`(_ text: String) { #expect(FetchColumn(text) == nil) }
}
