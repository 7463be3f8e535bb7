import TandemModel
import TandemQuery
import Testing

struct BuildingTests {
    @Test func `combined predicates equal parsed ones`() throws {
        let combined =
            try ObjectPredicate(format: "wins > 3")
            && !ObjectPredicate(format: "league.name ==[c] 'x'")
            || ObjectPredicate(
                format: "SELF IN %@",
                arguments: [.list([.object(ObjectID(entity: "Team", number: 3))])])
        let text =
            "(wins > 3 AND NOT league.name ==[c] 'x') OR SELF IN {CAST(\"Team/3\", \"Object\")}"
        #expect(try combined == ObjectPredicate(format: text))
    }

    @Test func `errors about texts of any length are short`() throws {
        let graph = try Graph()
        let long = String(repeating: "x", count: 100_000)
        for format in ["\(long) == nil", "wins == '\(long)'"] {
            let predicate = try ObjectPredicate(format: format)
            let request = FetchDescriptor(entity: "Team", predicate: predicate)
            let error = #expect(throws: TandemError.self) {
                try CompiledRequest(request, in: graph.model)
            }
            #expect((error?.message.utf8.count ?? 0) < 1_000)
        }
    }
}
