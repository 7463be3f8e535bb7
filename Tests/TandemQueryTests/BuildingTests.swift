import TandemModel
import TandemQuery
import Testing

struct BuildingTests {
    @Test func `built predicates equal parsed ones`() throws {
        let built =
            ObjectPredicate.compare("wins", .greater, .int(3))
            && !.compare("league.name", .equal, .string("x"), options: .caseInsensitive)
            || .isOne(of: [ObjectID(entity: "Team", number: 3)])
        let text =
            "(wins > 3 AND NOT league.name ==[c] 'x') OR SELF IN {CAST(\"Team/3\", \"Object\")}"
        #expect(try built == ObjectPredicate(format: text))
    }

    @Test func `errors about texts of any length are short`() throws {
        let graph = try Graph()
        let long = String(repeating: "x", count: 100_000)
        for predicate in [
            ObjectPredicate.compare(long, .equal, .null), .compare("wins", .equal, .string(long)),
        ] {
            let request = FetchDescriptor(entity: "Team", predicate: predicate)
            let error = #expect(throws: TandemError.self) {
                try CompiledRequest(request, in: graph.model)
            }
            #expect((error?.message.utf8.count ?? 0) < 1_000)
        }
    }
}
