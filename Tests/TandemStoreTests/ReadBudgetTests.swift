import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Budgets of reads: an error of the check ends the read anywhere, and no read exceeds its budget.
@Suite(.ownThread) struct ReadBudgetTests {
    private static let stop = StoreError(.interrupted, "the test ends the read")

    /// Predicates and sort keys whose plans cover every access path.
    private static let requests: [(format: String?, sort: [SortComponent])] = [
        (nil, []), (nil, ["folder.kind", "size"]), ("size > 3", ["name"]),
        ("size < 60 OR kind == 'a'", []), ("folder.kind == 'usual'", ["-size"]),
        ("ANY labels.color == 'blue'", []), ("size < 3 AND ANY folder.files.size > 98", []),
        ("code IN {\((100..<1_500).map(String.init).joined(separator: ", "))}", ["rate"]),
        ("isOld == nil AND folder.kind != 'x'", ["folder.kind", "-name"]),
    ]

    /// Calls `body` with each request, for each result kind, with every `step`th of its plans.
    private func forEachPlan(
        _ view: StoreView, every step: Int = 1,
        _ body: (CompiledRequest, FetchResultKind, FetchPlan, String) throws -> Void
    ) throws {
        var count = 0
        let model = try #require(view.model)
        for (format, sort) in Self.requests {
            let predicate = try format.map { try ObjectPredicate(format: $0) }
            let request = FetchDescriptor(entity: "File", predicate: predicate, sort: sort)
            let details = ListDetails(
                sectionKeyPath: sort.first?.keyPath == "folder.kind" ? "folder.kind" : nil,
                hops: [["folder"]], rowsUpTo: 10)
            let compiled = try CompiledRequest(
                request, sectionKeyPath: details.sectionKeyPath, in: model)
            let list = FetchResultKind.list(try ListHops(details, of: compiled))
            for part in [FetchResultKind.rows, .references, .count, list] {
                for plan in ExpectedFetch.plans(compiled, part) {
                    count += 1
                    guard (count + Int(seed % UInt64(step))) % step == 0 else { continue }
                    let path = plan.text(of: compiled, for: part)
                    let what = "\(format ?? "all") \(sort) for \(part) by \(path)"
                    try body(compiled, part, plan, what)
                }
            }
        }
    }

    @Test func `law 7: an error thrown by any call of the check ends the read`() throws {
        let bench = try StoreBench.files()
        try bench.store.checkpoint()
        var (ended, paths): (Int, Set<String>) = (0, [])
        let snapshot = try bench.store.snapshot()
        // Three has no common factor with the number of result kinds.
        try forEachPlan(snapshot, every: Volume.of(3, deep: 1)) { request, part, plan, what in
            let whole = try snapshot.fetch(request, by: plan, for: part)
            var (isWhole, last) = (false, 0)
            while !isWhole {
                // Fail each of the first calls, then fewer and fewer of them.
                last += 1 + last / 12
                var calls = 0
                let budget = snapshot.readBudget { _ throws(StoreError) in
                    calls += 1
                    if calls == last { throw Self.stop }
                }
                do throws(StoreError) {
                    let found = try snapshot.fetch(request, by: plan, for: part, budget: budget)
                    isWhole = true
                    #expect(calls < last, "\(what) continues after call \(last)")
                    #expect(isSame(found, whole), "\(what)")
                } catch {
                    #expect(error == Self.stop, "\(what), call \(last): \(error)")
                    ended += 1
                    paths.insert("\(whole.plan.prefix { $0 != " " })")
                }
            }
        }
        #expect(ended > 200, "only \(ended)")
        #expect(
            paths.isSuperset(of: ["scan", "index", "any", "related", "unique"]), "\(paths)")
        snapshot.end()
        #expect(bench.store.readers.count == 0)
        try bench.apply([try bench.insert("File", 9_000, ["size": .int(5)])])
        try bench.store.checkpoint()
        let next = try bench.store.snapshot()
        defer { next.end() }
        let all = try CompiledRequest(FetchDescriptor(entity: "File"), in: try bench.model)
        #expect(try next.fetch(all).count == 2_001)
        #expect(try bench.store.check().isClean)
    }

    @Test func `law 7: the check ends the listing of many members`() throws {
        let bench = try StoreBench(model: shelfModel)
        let files = try (UInt64(100)..<5_100).map { try bench.reference("File", $0) }
        try bench.apply(
            [
                try bench.insert("Folder", 1, ["kind": .string("usual")]),
                try bench.touch("Folder", 1, "files", added: files),
            ]
                + files.map {
                    try bench.insert(
                        "File", $0.number, ["folder": .reference(try bench.reference("Folder", 1))])
                })
        var calls = 0
        let budget = bench.store.readBudget { _ throws(StoreError) in
            calls += 1
            if calls == 2 { throw Self.stop }
        }
        let (folder, entity) = (try bench.reference("Folder", 1), try bench.entity("Folder"))
        let slot = try #require(entity.slot(of: "files"))
        let relationship = try #require(entity.properties[slot].relationship)
        let reader = StoreReader(bench.store, budget: budget)
        #expect(reader.members(of: folder, relationship, slot: slot) == nil && calls == 2)
        #expect(budget.interruption == Self.stop && budget.failure == nil)
    }

    @Test func `law 7: the check is called once for each thousand keys and rows`() throws {
        let bench = try StoreBench.files()
        try forEachPlan(bench.store, every: Volume.of(3, deep: 1)) { request, part, plan, what in
            var (calls, mostHeld) = (0, 0)
            let budget = bench.store.readBudget { held in
                calls += 1
                mostHeld = max(mostHeld, held)
            }
            let found = try bench.store.fetch(request, by: plan, for: part, budget: budget)
            let looked = found.rowsRead + found.keysRead
            #expect(calls >= looked / 1_024, "\(what): \(calls) calls, \(looked) looked at")
            let rows = if case .keys = plan.order { 0 } else { found.objects.byteCount }
            #expect(mostHeld >= rows, "\(what): \(mostHeld) bytes held, \(rows) of rows")
        }
    }

    @Test func `a check may apply transactions while a snapshot is scanned`() throws {
        let bench = try StoreBench.files()
        try bench.store.checkpoint()
        var number = UInt64(10_000)
        try forEachPlan(bench.store, every: Volume.of(2, deep: 1)) { request, part, plan, what in
            try bench.store.checkpoint()
            let snapshot = try bench.store.snapshot()
            defer { snapshot.end() }
            let whole = try snapshot.fetch(request, by: plan, for: part)
            var failure: (any Error)?
            let budget = snapshot.readBudget { _ in
                do {
                    number += 1
                    let kind = PropertyValue.string(number % 2 == 0 ? "a" : "b")
                    try bench.apply([
                        try bench.insert("File", number, ["size": .int(4), "kind": kind]),
                        try bench.update("File", 100 + number % 2_000, ["size": .int(97)]),
                        try bench.update("Folder", 1 + number % 20, ["kind": kind]),
                    ])
                    if number % 3 == 0 { try bench.store.checkpoint() }
                } catch {
                    failure = error
                }
            }
            let found = try snapshot.fetch(request, by: plan, for: part, budget: budget)
            #expect(isSame(found, whole), "\(what)")
            #expect(failure == nil, "\(what): \(String(describing: failure))")
        }
        #expect(number > 10_050)
    }

    private func isSame(_ one: FetchResult, _ other: FetchResult) -> Bool {
        one.objects == other.objects && one.references == other.references
            && one.places == other.places && one.count == other.count
    }

    // MARK: Little reads

    @Test func `law 7: a little read returns the same as a fetch, or nothing`() throws {
        var (little, nothing, ended) = (0, 0, 0)
        for objects in [40, 400] {
            var shelf = try RandomShelf(seed: seed &+ 1_100 &+ UInt64(objects), objects: objects)
            for _ in 0..<150 {
                let request = try shelf.request()
                let compiled = try CompiledRequest(request, in: try shelf.bench.model)
                for part in [FetchResultKind.rows, .references, .count] {
                    let (work, weight) = (
                        Int.random(in: 0...2_000, using: &shelf.random),
                        Int.random(in: 1...4, using: &shelf.random)
                    )
                    let what = "seed \(seed) \(request) for \(part), \(work) of \(weight)"
                    let budget = shelf.bench.store.readBudget(work: work, weight: weight)
                    do throws(StoreError) {
                        guard
                            let found = try shelf.bench.store.fetchLittle(
                                compiled, for: part, budget: budget)
                        else {
                            nothing += 1
                            continue
                        }
                        little += 1
                        let looked = found.rowsRead + found.keysRead + budget.spent
                        #expect(looked * weight <= work, "\(what) looked at \(looked)")
                        let whole = try shelf.bench.store.fetch(compiled, for: part)
                        #expect(isSame(found, whole), "\(what) by \(found.plan)")
                    } catch {
                        #expect(error.code == .interrupted, "\(what): \(error)")
                        ended += 1
                    }
                }
            }
        }
        #expect(
            little > 100 && nothing > 20 && ended > 20,
            "\(little) little, \(nothing) nothing, \(ended) ended; seed \(seed)")
    }

    @Test func `a read of many keys or rows is not little`() throws {
        let bench = try StoreBench.files()
        for (format, isLittle) in [
            ("code == 105", true), ("size == 5", true), ("size >= 98", true),
            ("code IN {105, 106}", true), ("kind == 'a' AND size < 3", true),
            ("size == 5 OR (kind == 'a' AND size < 3)", true), ("size >= 2", false),
            ("kind == 'b'", false), ("isOld == nil", false), ("size == 5 OR isOld == nil", false),
        ] {
            let predicate = try ObjectPredicate(format: format)
            let request = try CompiledRequest(
                FetchDescriptor(entity: "File", predicate: predicate), in: try bench.model)
            for part in [FetchResultKind.rows, .references, .count] {
                let budget = bench.store.readBudget(work: 4_096)
                let found = try bench.store.fetchLittle(request, for: part, budget: budget)
                #expect((found != nil) == isLittle, "\(format) for \(part)")
                guard let found else { continue }
                #expect(isSame(found, try bench.store.fetch(request, for: part)), "\(format)")
            }
        }
    }
}
