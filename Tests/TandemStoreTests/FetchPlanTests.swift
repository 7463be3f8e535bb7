import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// The plans of a request, each of which must find the same as an evaluation of every object.
@Suite(.ownThread) struct FetchPlanTests {
    @Test func `every plan finds what an evaluation of every object finds`() throws {
        var plans: Set<String> = []
        for round in UInt64(0)..<Volume.of(2, deep: 4) {
            var shelf = try RandomShelf(seed: seed &+ round, objects: 120)
            for number in 0..<60 {
                if number % 4 == 0 { try shelf.step() }
                let expected = try ExpectedFetch(&shelf)
                let isCut = expected.request.sort.contains { $0.keyPath == "name" }
                var reading: [String] = []
                let differences = try expected.differences(
                    in: shelf.bench.store,
                    visit: { part, plan, found in
                        plans.insert("\(found.plan.prefix { $0 != " " }) \(plan.isOrdered)")
                        guard plan.needsNoRows(for: part), found.rowsRead > 0, !isCut else {
                            return
                        }
                        reading.append("\(part) by \(found.plan) reads \(found.rowsRead) rows")
                    })
                #expect(differences == [], "seed \(seed) round \(round)")
                #expect(reading == [], "seed \(seed) round \(round): \(expected.request)")
            }
        }
        #expect(
            plans.isSuperset(of: [
                "scan true", "scan false", "index true", "index false", "related false",
                "related true", "any true", "any false", "inverse true", "inverse false",
                "unique true", "unique false",
            ]), "\(plans)")
    }

    @Test func `the chosen plan finds it too`() throws {
        var shelf = try RandomShelf(seed: seed &+ 7, objects: 400)
        for _ in 0..<150 {
            let request = try shelf.request()
            let found = try shelf.bench.fetch(request)
            let wanted = request.slice(of: try shelf.expected(request))
            #expect(
                found.objects.map(\.object) == wanted, "seed \(seed) \(request) \(found.plan)")
        }
    }

    @Test func `the past is read by every plan as by a scan`() throws {
        for round in UInt64(0)..<Volume.of(2, deep: 3) {
            var shelf = try RandomShelf(seed: seed &+ 200 &+ round, objects: 80)
            let position = shelf.bench.store.appliedPosition
            let fetches = try (0..<30).map { _ in try ExpectedFetch(&shelf) }
            let lists = try (0..<15).map { _ in try shelf.list() }
            for _ in 0..<25 { try shelf.step() }
            let past = try shelf.past(at: position)
            for expected in fetches {
                let differences = try expected.differences(in: shelf.bench.store, past: past)
                #expect(differences == [], "seed \(seed) round \(round)")
            }
            for expected in lists {
                let differences = try expected.differences(in: shelf.bench.store, past: past)
                #expect(differences == [], "seed \(seed) round \(round)")
            }
        }
    }
}
