import TandemModel
import TestSupport
import Testing

@testable import TandemQuery

/// Placements in groups, compared with single keys and sections.
struct GroupedKeysTests {
    @Test(arguments: [
        ["league.name", "name"], ["name", "-league.name"], ["league", "wins"],
        ["-league.name", "name", "league.name"], ["league.name:naturalCompare", "-name"],
    ])
    func `both parts form the key, even if cached related objects were dropped`(
        _ sort: [String]
    ) throws {
        let seed = seed
        var random = SplitMix64(seed: seed)
        var graph = try Graph()
        let leagues = try (0..<1_500).map { number in
            try graph.add(
                "League", 10_000 + UInt64(number),
                number % 7 == 0 ? [:] : ["name": .string("League \(number % 40)")])
        }
        for number in 1...4_000 as ClosedRange<UInt64> {
            let league = Int.random(in: 0..<1_600, using: &random)
            var values: [String: PropertyValue] = ["name": .string("team \(number % 50)")]
            if league < leagues.count { values["league"] = .reference(leagues[league]) }
            try graph.add("Team", number, values)
        }
        graph.hidden = Set(leagues.prefix(20))
        for section in [nil, "league.name", "name"] as [String?] {
            let keys = sort.map { SortComponent(stringLiteral: $0) }
            let request = try CompiledRequest(
                FetchDescriptor(entity: "Team", sort: keys), sectionKeyPath: section,
                in: graph.model)
            let grouped = GroupedKeys(of: request, sections: true)
            for (object, row) in graph.rows where request.includes(tag: object.tag) {
                if Int.random(in: 0..<500, using: &random) == 0 { grouped.forgetRelated() }
                let place = row.withView { grouped.placement(of: object, $0, graph) }
                let key = request.sortKey(object, row, graph)
                guard case .known(let name) = request.section(object, row, graph), let key else {
                    #expect(place == nil, "TANDEM_SEED=\(seed)")
                    continue
                }
                let found = try #require(place, "TANDEM_SEED=\(seed)")
                let first = grouped.prefixes[Int(found.group)]
                #expect(first + grouped.rest.bytes == key, "TANDEM_SEED=\(seed)")
                #expect(grouped.sections[Int(found.section)] == name, "TANDEM_SEED=\(seed)")
            }
            #expect(Set(grouped.prefixes).count == grouped.prefixes.count)
            #expect(grouped.isGrouped == sort[0].contains("league."))
        }
    }
}
