import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// The placements of a list, which must be the same with every plan, whether from rows or from
/// index keys.
@Suite(.ownThread) struct ListPlanTests {
    /// Fetches the rows of a list with each plan; returns how many plans used an index's order.
    private func checkRows(
        _ list: ExpectedList, in view: StoreView, _ wanted: [StoredObject], _ what: String
    ) throws -> Int {
        var byKeys = 0
        let plans = FetchPlan.plans(for: list.compiled, .rows)
        let ordered = plans[0].orderedByKeys(list.compiled, .rows)
        for plan in plans + [ordered].compactMap(\.self) {
            if case .related = plan.access { continue }
            let found = try view.fetch(list.compiled, by: plan, for: .rows)
            #expect(
                Array(found.objects) == wanted,
                "\(what) \(list.request) by \(found.plan) ordered \(ordered != nil)")
        }
        if ordered != nil { byKeys += 1 }
        return byKeys
    }

    @Test func `a list refuses sort keys beyond its 32-bit offsets`() throws {
        try ListPlacements.checkKeyBytes(Int(UInt32.max))
        let error = try #require(
            #expect(throws: StoreError.self) {
                try ListPlacements.checkKeyBytes(Int(UInt32.max) + 1)
            })
        #expect(error.code == .keysTooLong)
        #expect(error.message.contains("sort keys of the list's objects have 4294967296 bytes"))
    }

    @Test func `law 4: rows in an index's order, whatever is saved meanwhile`() throws {
        var byKeys = 0
        for round in UInt64(0)..<Volume.of(4, deep: 6) {
            var shelf = try RandomShelf(seed: seed &+ 500 &+ round, objects: 60)
            for _ in 0..<16 {
                let list = try shelf.list(isWhole: true)
                let wanted = try shelf.matches(list.compiled)
                let what = "seed \(seed) round \(round):"
                byKeys += try checkRows(list, in: shelf.bench.store, wanted, what)
                try shelf.bench.store.checkpoint()
                let snapshot = try shelf.bench.store.snapshot()
                defer { snapshot.end() }
                for _ in 0..<3 { try shelf.step() }
                byKeys += try checkRows(list, in: snapshot, wanted, what + " snapshot")
            }
        }
        #expect(byKeys > 20, "only \(byKeys) plans; seed \(seed)")
    }

    /// Ways to make an index contradict the rows: an entry is missing, an entry is replaced by or
    /// added for a missing object, or an object has two entries.
    @Test(arguments: 0..<4) func `law 7: rows that their index contradicts are an error`(
        way: Int
    ) throws {
        var contradicted = 0
        for round in UInt64(0)..<4 {
            var shelf = try RandomShelf(seed: seed &+ 600 &+ round, objects: 60)
            for _ in 0..<8 {
                let request = try shelf.list(isWhole: true).compiled
                let store = shelf.bench.store
                let scan = FetchPlan.plans(for: request, .rows)[0]
                guard let plan = scan.orderedByKeys(request, .rows),
                    case .keys(let index, _) = plan.order
                else { continue }
                let run = FetchRun(
                    request: request, plan: plan, kind: .rows, view: store, past: nil,
                    budget: store.readBudget())
                guard SortedTableScan(run) != nil, try contradict(index, &shelf, way) else {
                    continue
                }
                contradicted += 1
                let error = #expect(throws: StoreError.self, "seed \(seed)") {
                    _ = try store.fetch(request, by: plan, for: .rows)
                }
                #expect(error?.code == .damaged)
                try store.revert()
            }
        }
        #expect(contradicted > 3, "only \(contradicted); seed \(seed)")
    }

    /// Changes an entry of an index; returns false if the index has too few entries.
    private func contradict(
        _ index: CompiledIndex, _ shelf: inout RandomShelf, _ way: Int
    ) throws -> Bool {
        let bench = shelf.bench
        try bench.store.checkpoint()
        let entries = try bench.entries(.indexes).filter {
            $0.key.starts(with: StoreKey.tag(index.id))
        }
        .shuffled(using: &shelf.random)
        guard entries.count > 1 else { return false }
        let table = bench.store.tables[.indexes]
        if way < 3 { try bench.store.current.delete(table, entries[0].key) }
        let other = way % 2 == 1 ? StoreKey.number(1 << 40) : Array(entries[1].key.suffix(8))
        if way > 0 {
            try bench.store.current.put(
                table, entries[0].key.dropLast(8) + other, entries[0].value)
        }
        return true
    }

    @Test func `indexes of numbers are found, close together and far apart`() throws {
        var random = SplitMix64(seed: seed)
        for step in [1, 5, 9, 1 << 40] as [UInt64] {
            let numbers = (1...500).map { UInt64($0) * step + 7 }.shuffled(using: &random)
            let places = try #require(NumberIndexMap(numbers))
            for (at, number) in numbers.enumerated() { #expect(places[number] == at) }
            #expect(places[6] == nil && places[8 + 500 * step] == nil)
            #expect(NumberIndexMap(numbers + [numbers[3]]) == nil)
        }
        #expect(try #require(NumberIndexMap([]))[1] == nil)
    }

    @Test func `every plan gives the placements of a list`() throws {
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
                        // The keys of long names are truncated, so those rows may be read; with a
                        // limit of 0, no placements are collected from keys.
                        let isOfNames = found.plan.contains("name")
                        let most = folders + 1 + (isOfNames ? long : 0)
                        guard list.request.limit != 0, found.rowsRead > most else { return }
                        reading.append("\(found.plan) reads \(found.rowsRead) rows")
                    })
                #expect(differences == [], "seed \(seed) round \(round)")
                #expect(reading == [], "seed \(seed) round \(round): \(list.request)")
            }
        }
        #expect(without > 20, "only \(without) plans needed no rows; seed \(seed)")
    }

    @Test func `law 4: a chunked list equals the unchunked one, whatever is saved in between`()
        throws
    {
        var inChunks = 0
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
                        chunkBytes: .random(in: 0...200, using: &shelf.random))
                    #expect(found.count == whole.count)
                    guard let parts = found.list else {
                        #expect(found.places == whole.places && found.objects == whole.objects)
                        continue
                    }
                    inChunks += 1
                    let expected = whole.places?.withLinks(upTo: Int(list.details.rowsUpTo))
                    #expect(
                        try gathered(parts, after: found.places, &shelf) == expected,
                        "seed \(seed) round \(round): \(list.request) by \(found.plan)")
                }
            }
        }
        #expect(inChunks > 20, "only \(inChunks) lists were chunked; seed \(seed)")
    }

    /// Reads a list chunk by chunk, while others save.
    private func gathered(
        _ list: ChunkedList, after head: ListPlacements?, _ shelf: inout RandomShelf
    ) throws -> ListPlacements {
        let most = Int.random(in: 1...300, using: &shelf.random)
        var places = try #require(head)
        #expect(places.count == 0)
        while let part = try list.nextChunk(bytes: most, {}) {
            if Bool.random(using: &shelf.random) { try shelf.step() }
            #expect(part.count > 0 && (list.isTaken || part.bytes >= most))
            let belongs = places.append(part)
            #expect(belongs)
        }
        #expect(list.isTaken && places.count == list.count)
        return places
    }
}
