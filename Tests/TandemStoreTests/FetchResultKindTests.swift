import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// The result kinds of a fetch, which must not change the objects found.
@Suite(.ownThread) struct FetchResultKindTests {
    private let predicates = [
        "goals > 3", "note BEGINSWITH 'n1'", "goals == 2", "team.wins > 2", "ANY tags.label != nil",
    ]

    @Test func `rows, references, counts and windows agree`() throws {
        let bench = try StoreBench.league(300, seed: seed)
        var random = SplitMix64(seed: seed)
        for format in predicates {
            for sort in [[], [SortComponent("goals", ascending: false)], [SortComponent("note")]] {
                let predicate = try ObjectPredicate(format: format, arguments: [])
                var request = FetchDescriptor(entity: "Player", predicate: predicate, sort: sort)
                let whole = try bench.fetch(request)
                #expect(whole.count == whole.objects.count)
                let compiled = try CompiledRequest(request, in: try bench.model)
                let references = try bench.store.fetch(compiled, for: .references)
                #expect(references.references == whole.objects.map(\.object))
                #expect(references.objects.isEmpty && references.count == whole.count)
                let count = try bench.store.fetch(compiled, for: .count)
                #expect(count.count == whole.count && count.rowsRead <= whole.rowsRead)
                #expect(count.objects.isEmpty && count.references.isEmpty)
                request.offset = Int.random(in: 0...12, using: &random)
                request.limit = Int.random(in: 0...12, using: &random)
                let window = try bench.fetch(request)
                let expected = whole.objects.dropFirst(request.offset).prefix(request.limit ?? 0)
                #expect(window.objects == StoredObjects(expected), "seed \(seed) \(format)")
                #expect(window.count == min(whole.count, end(request)))
            }
        }
    }

    /// Returns the end of the answer to a request with a limit.
    private func end(_ request: FetchDescriptor) -> Int {
        request.offset + (request.limit ?? 0)
    }

    @Test func `a retained row is not changed by later candidates`() throws {
        let bench = try StoreBench.league(200, seed: seed)
        let all = try bench.fetch(FetchDescriptor(entity: "Player"))
        for stored in all.objects {
            #expect(try bench.store.stored(stored.object) == stored)
        }
    }
}
