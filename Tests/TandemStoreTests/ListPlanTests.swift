import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Where the objects of a list stand is the same by every plan, whether rows are read for that or the keys of an index.
@Suite(.ownThread) struct ListPlanTests {
    @Test func `every plan says where the objects of a list stand`() throws {
        var without = 0
        for round in UInt64(0)..<4 {
            var shelf = try RandomShelf(seed: seed &+ 300 &+ round, objects: 120)
            for number in 0..<50 {
                if number % 4 == 0 { try shelf.step() }
                let list = try shelf.list()
                let long = try shelf.matches(list.compiled).count { $0.row.bytes.count > 400 }
                let folders = shelf.living.values.count { $0 == "Folder" }
                var reading: [String] = []
                let differences = try list.differences(
                    in: shelf.bench.store,
                    visit: { plan, found in
                        guard plan.needsNoRows(for: list.part) else { return }
                        without += 1
                        // The keys of long names are cut, and without an answer nothing is noted.
                        let isOfNames = plan.access.description.contains("name")
                        let most = folders + 1 + (isOfNames ? long : 0)
                        guard list.request.limit != 0, found.rowsRead > most else { return }
                        reading.append("\(plan.access) reads \(found.rowsRead) rows")
                    })
                #expect(differences == [], "seed \(seed) round \(round)")
                #expect(reading == [], "seed \(seed) round \(round): \(list.request)")
            }
        }
        #expect(without > 20, "only \(without) plans without rows; seed \(seed)")
    }

    @Test func `law 4: a list in parts is the one that comes whole, whatever is saved between`()
        throws
    {
        var inParts = 0
        for round in UInt64(0)..<4 {
            var shelf = try RandomShelf(seed: seed &+ 700 &+ round, objects: 50)
            for _ in 0..<40 {
                let list = try shelf.list(isWhole: true)
                let (request, part) = (list.compiled, list.part)
                try shelf.bench.store.checkpoint()
                let snapshot = try shelf.bench.store.snapshot()
                defer { snapshot.end() }
                for plan in FetchPlan.plans(for: request, part) {
                    if case .related = plan.access { continue }
                    let whole = try snapshot.fetch(request, by: plan, for: part)
                    let found = try snapshot.fetch(
                        request, by: plan, for: part,
                        partBytes: .random(in: 0...200, using: &shelf.random))
                    #expect(found.count == whole.count)
                    guard let parts = found.list else {
                        #expect(found.places == whole.places && found.objects == whole.objects)
                        continue
                    }
                    inParts += 1
                    let expected = whole.places?.withLinks(upTo: Int(list.details.rowsUpTo))
                    #expect(
                        try gathered(parts, after: found.places, &shelf) == expected,
                        "seed \(seed) round \(round): \(list.request) by \(plan.access)")
                }
            }
        }
        #expect(inParts > 20, "only \(inParts) lists in parts; seed \(seed)")
    }

    /// Takes a list part by part, while others save.
    private func gathered(
        _ list: ListInParts, after head: ListPlaces?, _ shelf: inout RandomShelf
    ) throws -> ListPlaces {
        let most = Int.random(in: 1...300, using: &shelf.random)
        var places = try #require(head)
        #expect(places.count == 0)
        while let part = list.nextPart(bytes: most) {
            if Bool.random(using: &shelf.random) { try shelf.step() }
            #expect(part.count > 0 && (list.isTaken || part.bytes >= most))
            let belongs = places.append(part)
            #expect(belongs)
        }
        #expect(list.isTaken && places.count == list.count)
        return places
    }
}
