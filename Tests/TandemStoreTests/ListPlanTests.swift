import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Where the objects of a list stand is the same by every plan, whether rows are read for that or the keys of an index.
@Suite(.ownThread) struct ListPlanTests {
    /// A list, with what it asks for beside the order.
    private struct List {
        var request: FetchRequest
        var details: ListDetails

        func compiled(in model: CompiledModel) throws -> (CompiledRequest, FetchPart) {
            let compiled = try CompiledRequest(
                request, sectionKeyPath: details.sectionKeyPath, in: model)
            return (compiled, .list(try ListHops(details, of: compiled)))
        }
    }

    private static let sorts = [
        [], ["size"], ["-size"], ["kind", "-size"], ["folder.kind"], ["folder.kind", "size"],
        ["folder.kind", "-size"], ["-folder.kind", "-kind", "size"],
        ["folder.kind", "folder.depth", "-size"], ["folder.depth", "size", "folder.kind"],
        ["folder.kind", "name"], ["folder.kind", "-kind", "rate", "name"],
    ]
    /// The last ones lead over what no key path of the request observes, so only while nothing moves.
    private static let hops = [
        [], [["folder"]], [["folder"]], [["folder"], ["folder", "parent"]],
    ]

    private func list(_ shelf: inout RandomShelf, isMoving: Bool) throws -> List {
        var request = FetchRequest(
            entity: Int.random(in: 0..<5, using: &shelf.random) > 0 ? "File" : "Image")
        let sort = Self.sorts.randomElement(using: &shelf.random) ?? []
        request.sort = sort.compactMap { SortKey($0) }
        let predicates = [nil, nil, nil, "size > 3", "kind == 'a'", "folder.kind == 'a'"]
        if let format = predicates.randomElement(using: &shelf.random) ?? nil {
            request.predicate = try ObjectPredicate(format: format)
        }
        // An index that has other objects too is not asked where these stand.
        request.includesSubentities = Int.random(in: 0..<5, using: &shelf.random) > 0
        if Int.random(in: 0..<4, using: &shelf.random) == 0 {
            request.limit = Int.random(in: 0...12, using: &shelf.random)
        }
        let leads = sort.first?.contains("folder.kind") == true
        return List(
            request: request,
            details: ListDetails(
                sectionKeyPath: [nil, leads ? "folder.kind" : "kind", "folder.kind"]
                    .randomElement(using: &shelf.random) ?? nil,
                hops: Self.hops.dropLast(isMoving ? 1 : 0).randomElement(using: &shelf.random)
                    ?? [],
                rowsUpTo: .random(in: 0...1, using: &shelf.random) == 0
                    ? 0 : .random(in: 0...30, using: &shelf.random)))
    }

    /// What stands in a list, object by object.
    private struct Placed: Equatable {
        var object: ObjectReference
        var key: [UInt8]
        var section: String
        var links: [ObjectReference?]
    }

    private func expected(_ list: List, _ shelf: RandomShelf) throws -> [Placed] {
        let compiled = try list.compiled(in: try shelf.bench.model).0
        let reader = StoreReader(shelf.bench.store)
        return try list.request.part(of: try shelf.expected(list.request)).map { object in
            let row = try #require(try shelf.bench.store.stored(object)).row
            return Placed(
                object: object, key: try #require(compiled.sortKey(object, row, reader)),
                section: compiled.sectionName(object, row, reader),
                links: try list.details.hops.map { try end($0, object, shelf) })
        }
    }

    private func end(
        _ path: [String], _ object: ObjectReference, _ shelf: RandomShelf
    ) throws -> ObjectReference? {
        var object: ObjectReference? = object
        for name in path {
            guard let next = object else { return nil }
            let entity = try #require(try shelf.bench.model.entity(tagged: next.tag))
            let row = try #require(try shelf.bench.store.stored(next)).row
            object = row.reference(try #require(entity.slot(of: name)), in: entity)
        }
        return object
    }

    private func placed(_ places: ListPlaces) -> [Placed] {
        (0..<places.count).map { at in
            Placed(
                object: places.object(at), key: Array(places.key(at)),
                section: places.sections[Int(places.sectionPlace(at))],
                links: places.links(at).map { $0 == 0 ? nil : places.reached[Int($0) - 1] })
        }
    }

    /// Carries a list out by each of its plans; how many of these read no rows but one for each related object.
    private func check(
        _ list: List, _ shelf: inout RandomShelf, isMoving: Bool, _ what: String
    ) throws -> Int {
        let (request, part) = try list.compiled(in: try shelf.bench.model)
        var without = 0
        for plan in FetchPlan.plans(for: request, part) {
            if case .related = plan.access { continue }
            let cursor = try FetchCursor(request, by: plan, for: part, in: shelf.bench.store)
            try shelf.carryOut(cursor, request, isMoving: isMoving)
            let found = try cursor.result()
            let wanted = try expected(list, shelf)
            let how = "\(what) \(list) by \(plan.access)"
            if wanted.count > Int(list.details.rowsUpTo) {
                #expect(placed(try #require(found.places, "\(how)")) == wanted, "\(how)")
            } else {
                #expect(found.objects.map(\.object) == wanted.map(\.object), "\(how)")
            }
            guard plan.needsNoRows(for: part) else { continue }
            without += 1
            let isCut = list.request.sort.contains { $0.keyPath == "name" }
            let folders = shelf.living.values.count { $0 == "Folder" }
            #expect(
                isMoving || isCut || found.rowsRead <= folders + 1,
                "\(how) read \(found.rowsRead) rows with \(folders) folders")
        }
        return without
    }

    /// Fetches the rows of a list by each plan; how many of these let an index put them in order.
    private func checkRows(
        _ list: List, _ shelf: inout RandomShelf, isMoving: Bool, _ what: String
    ) throws -> Int {
        let (request, _) = try list.compiled(in: try shelf.bench.model)
        var byKeys = 0
        for plan in FetchPlan.plans(for: request, .rows) {
            if case .related = plan.access { continue }
            let cursor = try FetchCursor(request, by: plan, for: .rows, in: shelf.bench.store)
            try shelf.carryOut(cursor, request, isMoving: isMoving)
            let found = try cursor.result()
            let wanted = try list.request.part(of: shelf.expected(list.request)).map {
                try #require(try shelf.bench.store.stored($0))
            }
            #expect(
                Array(found.objects) == wanted,
                "\(what) \(list) by \(plan.access) by keys \(plan.isOrderedByKeys)")
            if plan.isOrderedByKeys { byKeys += 1 }
        }
        return byKeys
    }

    @Test(arguments: [false, true]) func `law 4: rows that an index puts in order`(
        isMoving: Bool
    ) throws {
        var byKeys = 0
        for round in UInt64(0)..<Volume.of(4, deep: 6) {
            var shelf = try RandomShelf(seed: seed &+ 500 &+ round, objects: 60)
            for _ in 0..<16 {
                var list = try list(&shelf, isMoving: isMoving)
                list.request.predicate = nil
                list.request.limit = nil
                byKeys += try checkRows(
                    list, &shelf, isMoving: isMoving, "seed \(seed) round \(round):")
            }
        }
        #expect(byKeys > 10, "only \(byKeys) plans; seed \(seed)")
    }

    /// Ways to let an index say something else than the rows: an entry less, one instead of another or one more of an object that is not
    /// there, one object twice.
    @Test(arguments: 0..<4) func `law 7: rows that their index contradicts are an error`(
        way: Int
    ) throws {
        var contradicted = 0
        for round in UInt64(0)..<4 {
            var shelf = try RandomShelf(seed: seed &+ 600 &+ round, objects: 60)
            for _ in 0..<8 {
                var list = try list(&shelf, isMoving: false)
                (list.request.predicate, list.request.limit) = (nil, nil)
                let request = try list.compiled(in: try shelf.bench.model).0
                for plan in FetchPlan.plans(for: request, .rows) {
                    guard case .keys(let index, _) = plan.order,
                        RowsWalk(request, plan, .rows, shelf.bench.store) != nil,
                        try contradict(index, &shelf, way)
                    else { continue }
                    contradicted += 1
                    let error = #expect(throws: StoreError.self, "seed \(seed)") {
                        let cursor = try FetchCursor(
                            request, by: plan, for: .rows, in: shelf.bench.store)
                        var budget = Int.max
                        _ = try cursor.step(&budget)
                    }
                    #expect(error?.code == .damaged)
                    try shelf.bench.store.revert()
                }
            }
        }
        #expect(contradicted > 3, "only \(contradicted); seed \(seed)")
    }

    /// Alters an entry of an index; false where it has too few.
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

    @Test func `places of numbers are found, near to each other and far apart`() throws {
        var random = SplitMix64(seed: seed)
        for step in [1, 5, 9, 1 << 40] as [UInt64] {
            let numbers = (1...500).map { UInt64($0) * step + 7 }.shuffled(using: &random)
            let places = try #require(PlacesOfNumbers(numbers))
            for (at, number) in numbers.enumerated() { #expect(places[number] == at) }
            #expect(places[6] == nil && places[8 + 500 * step] == nil)
            #expect(PlacesOfNumbers(numbers + [numbers[3]]) == nil)
        }
        #expect(try #require(PlacesOfNumbers([]))[1] == nil)
    }

    @Test func `every plan says where the objects of a list stand`() throws {
        var without = 0
        for round in UInt64(0)..<4 {
            var shelf = try RandomShelf(seed: seed &+ 300 &+ round, objects: 120)
            for number in 0..<50 {
                if number % 4 == 0 { try shelf.step() }
                let list = try list(&shelf, isMoving: false)
                let what = "seed \(seed) round \(round):"
                without += try check(list, &shelf, isMoving: false, what)
            }
        }
        #expect(without > 20, "only \(without) plans without rows; seed \(seed)")
    }

    @Test func `law 4: every plan says it while others save`() throws {
        var without = 0
        for round in UInt64(0)..<Volume.of(6, deep: 10) {
            var shelf = try RandomShelf(seed: seed &+ 400 &+ round, objects: 50)
            for _ in 0..<14 {
                let list = try list(&shelf, isMoving: true)
                let what = "seed \(seed) round \(round):"
                without += try check(list, &shelf, isMoving: true, what)
            }
        }
        #expect(without > 5, "only \(without) plans without rows; seed \(seed)")
    }

    @Test func `law 4: a list in parts is the one that comes whole, whatever is saved between`()
        throws
    {
        var inParts = 0
        for round in UInt64(0)..<4 {
            var shelf = try RandomShelf(seed: seed &+ 700 &+ round, objects: 50)
            for _ in 0..<40 {
                var list = try list(&shelf, isMoving: false)
                (list.request.predicate, list.request.limit) = (nil, nil)
                let (request, part) = try list.compiled(in: try shelf.bench.model)
                for plan in FetchPlan.plans(for: request, part) {
                    if case .related = plan.access { continue }
                    let whole = try FetchCursor(request, by: plan, for: part, in: shelf.bench.store)
                    try shelf.carryOut(whole, request, isMoving: false)
                    let cursor = try FetchCursor(
                        request, by: plan, for: part, in: shelf.bench.store,
                        partBytes: .random(in: 0...200, using: &shelf.random))
                    try shelf.carryOut(cursor, request, isMoving: false)
                    guard let found = cursor.list else { continue }
                    inParts += 1
                    let expected = try whole.result().places?.withLinks(
                        upTo: Int(list.details.rowsUpTo))
                    #expect(
                        try gathered(found, behind: try cursor.result().places, &shelf) == expected,
                        "seed \(seed) round \(round): \(list) by \(plan.access)")
                }
            }
        }
        #expect(inParts > 20, "only \(inParts) lists in parts; seed \(seed)")
    }

    /// Takes a list part by part, while others save.
    private func gathered(
        _ list: FoundList, behind head: ListPlaces?, _ shelf: inout RandomShelf
    ) throws -> ListPlaces {
        let most = Int.random(in: 1...300, using: &shelf.random)
        var places = try #require(head)
        #expect(places.count == 0)
        while !list.isTaken {
            if Bool.random(using: &shelf.random) { try shelf.step() }
            var budget = Int.random(in: 1...6, using: &shelf.random)
            guard let part = list.takePart(bytes: most, &budget) else { continue }
            let isLast = list.isTaken
            #expect(isLast || part.bytes >= most)
            let belongs = places.append(part)
            #expect(belongs)
        }
        #expect(places.count == list.count)
        return places
    }
}
