import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// The chosen plan, which must read no more than necessary.
@Suite(.ownThread) struct FetchPlannerTests {
    private func bench() throws -> StoreBench { try StoreBench.files() }

    private static func codes(_ range: Range<Int>) -> String {
        range.map(String.init).joined(separator: ", ")
    }

    private func explain(
        _ bench: StoreBench, _ format: String?, sort: [SortComponent] = [], limit: Int? = nil,
        part: FetchResultKind = .rows
    ) throws -> FetchResult {
        let predicate = try format.map { try ObjectPredicate(format: $0) }
        let request = FetchDescriptor(
            entity: "File", predicate: predicate, sort: sort, limit: limit)
        return try bench.store.fetch(try CompiledRequest(request, in: try bench.model), for: part)
    }

    /// Predicates, each with its plan and the maximum number of rows that this may read.
    private static let plans = [
        ("size == 5", "index (size)", 20), ("size IN {5, 7, 5}", "index (size)", 40),
        ("size >= 98", "index (size)", 40),
        ("size > 3 AND size <= 7 AND size != 5", "index (size)", 80),
        ("size BETWEEN {10, 12}", "index (size)", 60),
        ("kind BEGINSWITH 'a'", "index (kind, size)", 100),
        ("kind == 'a' AND size < 3", "index (kind, size)", 3),
        ("kind IN {'a', 'b'} AND size == 4", "index (size)", 20),
        ("kind == 'a' AND rate > 150.0", "index (kind, rate, name)", 49),
        ("folder.kind == 'rare'", "related by folder: Folder by index (kind)", 120),
        ("ANY labels.color == 'red'", "related by labels: Label by index (color)", 6),
        ("size == 5 OR size == 7", "index (size)", 40),
        ("size == 5 OR (kind == 'a' AND size < 3)", "any of index (size), index (kind, size)", 23),
        (
            "(size == 5 OR kind == 'a') AND rate < 200.0",
            "any of index (size), index (kind, rate, name)", 120
        ),
        ("size IN {5, 6} OR size < 10 OR size == 9", "index (size)", 200),
        ("ANY labels == CAST('Label/50', 'Object')", "inverse of labels", 4),
        ("code == 105", "unique (code)", 1), ("code IN {105, 106, 9, 105}", "unique (code)", 2),
        ("code IN {105, 110} AND size == 5", "unique (code)", 2),
        ("code IN {105, 110, 120} AND code > 106", "unique (code)", 2),
        ("code == 105 OR code IN {106, 110} OR code == 110", "unique (code)", 3),
        ("shelf == 3 AND place == 5", "unique (shelf, place)", 1),
        ("shelf IN {3, 4} AND place IN {5, 6}", "unique (shelf, place)", 4),
        (
            "code IN {105, 106} OR (kind == 'a' AND size < 3)",
            "any of unique (code), index (kind, size)", 5
        ),
        (
            "(code IN {105, 106} OR (shelf == 3 AND place == 5)) AND size == 5",
            "any of unique (code), unique (shelf, place)", 3
        ),
        // The scanned index finds fewer rows.
        ("size == 5 AND code IN {\(codes(100..<150))}", "index (size)", 20),
        // An alternative has no index, or the alternatives together find too many rows.
        ("size == 5 OR isOld == nil", "scan", 2_000), ("size < 50 OR kind == 'a'", "scan", 2_000),
        ("size == 5 OR NOT size == 7", "scan", 2_000),
        // An index that finds most objects costs more than a scan.
        ("code IN {\(codes(100..<1_900))}", "scan", 2_000), ("shelf == 3", "scan", 2_000),
        ("size >= 2", "scan", 2_000), ("kind == 'b'", "scan", 2_000),
        ("folder.kind == 'usual'", "scan", 2_000), ("isOld == nil", "scan", 2_000),
    ]

    @Test(arguments: [("== '%a'", 1), ("> '%a'", 1), ("<= '%a'", 1), ("BEGINSWITH '%b'", 1)])
    func `an index with truncated keys does not decide a predicate`(
        _ condition: String, _ count: Int
    ) throws {
        let bench = try StoreBench()
        // The texts are longer than a key, which ends before they differ.
        let text = String(repeating: "x", count: 600)
        try bench.apply([
            try bench.insert("Player", 1, ["note": .string(text + "a")]),
            try bench.insert("Player", 2, ["note": .string(text + "b")]),
        ])
        let predicate = try ObjectPredicate(
            format: "note " + condition.replacing("%", with: text))
        let request = try CompiledRequest(
            FetchDescriptor(entity: "Player", predicate: predicate), in: try bench.model)
        for part in [FetchResultKind.rows, .count] {
            for plan in FetchPlan.plans(for: request, part) {
                let found = try bench.store.fetch(request, by: plan, for: part)
                #expect(found.count == count, "\(part) by \(found.plan)")
            }
        }
    }

    @Test func `a predicate reads the rows that its index finds`() throws {
        let bench = try bench()
        for (format, plan, rows) in Self.plans {
            let found = try explain(bench, format)
            #expect(found.plan == plan, "\(format)")
            #expect(found.rowsRead <= rows, "\(format)")
            let all = try explain(bench, "(\(format)) OR FALSEPREDICATE")
            #expect(all.plan == "scan" && all.objects == found.objects, "\(format)")
            #expect(!all.objects.isEmpty, "\(format)")
        }
    }

    @Test(arguments: [
        (["size"], "index (size)"), (["-size"], "index (size)"),
        (["kind", "-size"], "index (kind, size)"),
        (["-kind", "-size"], "index (kind, size)"),
        (["-kind", "rate", "-name"], "index (kind, rate, name)"),
    ])
    func `a limit ends the scan of an index that has the order`(
        _ sort: [String], _ plan: String
    ) throws {
        let bench = try bench()
        let keys = sort.compactMap { SortComponent($0) }
        let found = try explain(bench, nil, sort: keys, limit: 7)
        #expect(found.plan == plan && found.steps.first?.isOrdered == true)
        #expect(found.rowsRead <= 8, "\(found.rowsRead)")
        let all = try explain(bench, nil, sort: keys)
        #expect(found.objects == StoredObjects(all.objects.prefix(7)))
    }

    @Test func `the steps of a plan are its tree in preorder`() throws {
        let bench = try bench()
        let predicate = try ObjectPredicate(format: "folder.kind == 'rare' AND size == 5")
        let request = try CompiledRequest(
            FetchDescriptor(entity: "File", predicate: predicate), in: try bench.model)
        let condition = try #require(request.relatedConditions.first)
        let target = try CompiledRequest(condition.target, in: try bench.model)
        let paths = target.entity.indexes.map { AccessPath.index($0, ranges: []) }
        let related = AccessPath.related(condition, target, FetchPlan(access: .union(paths)))
        let plan = FetchPlan(access: .union([related, .scan]))
        let steps = plan.steps(of: request, for: .rows)
        #expect(steps.map(\.access) == [.union, .related, .union, .index, .index, .scan])
        #expect(steps.map(\.depth) == [0, 1, 2, 3, 3, 1])
        #expect(
            steps.map(\.entity) == ["File", "File", "Folder", "Folder", "Folder", "File"])
    }

    @Test(arguments: [
        ("size < 50", FetchResultKind.count, [true]), ("size < 5", .references, [true]),
        ("size < 5", .rows, [false]), ("size < 5 AND isOld == nil", .count, [false]),
        // Folders are found by keys, then the rows of their files are evaluated.
        ("folder.kind == 'rare'", .rows, [false, true]),
    ])
    func `a step that needs only keys is reported as such`(
        _ format: String, _ part: FetchResultKind, _ expected: [Bool]
    ) throws {
        let found = try explain(try bench(), format, part: part)
        #expect(found.steps.map(\.needsOnlyKeys) == expected)
        #expect((found.rowsRead == 0) == expected[0])
    }

    @Test func `a limit without an order ends a scan`() throws {
        let bench = try bench()
        let request = FetchDescriptor(entity: "Folder", limit: 9)
        let found = try bench.fetch(request)
        #expect(found.objects.map(\.object.number) == Array(1...9) && found.rowsRead == 9)
    }

    @Test func `a count that an index answers reads no row`() throws {
        let bench = try bench()
        for (format, count) in [
            ("size < 50", 1_000), ("size != nil AND size < 2", 40), ("kind == 'b'", 1_900),
            ("kind == 'b' AND size IN {1, 2}", 38), ("folder == nil", 0), (nil, 2_000),
        ] {
            let found = try explain(bench, format, part: .count)
            #expect(found.count == count, "\(format ?? "")")
            let isWhole = format?.contains("!=") != true
            #expect(!isWhole || found.rowsRead == 0, "\(format ?? "") read \(found.rowsRead)")
        }
        let folder = ObjectID(entity: "Folder", number: 3)
        let predicate = try ObjectPredicate(format: "folder == %@", arguments: [.object(folder)])
        let request = FetchDescriptor(entity: "File", predicate: predicate)
        let compiled = try CompiledRequest(request, in: try bench.model)
        let found = try bench.store.fetch(compiled, for: .count)
        #expect(found.count == 100 && found.rowsRead == 0)
    }

    @Test func `a plan never reads more rows than a scan`() throws {
        var shelf = try RandomShelf(seed: seed &+ 300, objects: 300)
        for _ in 0..<200 {
            let request = try shelf.request()
            let compiled = try CompiledRequest(request, in: try shelf.bench.model)
            let plan = FetchPlan.plans(for: compiled, .rows)[0]
            let scan = try shelf.bench.store.fetch(compiled, by: plan, for: .rows)
            let found = try shelf.bench.fetch(request)
            let isRelated = found.plan.hasPrefix("related")
            // Samples of related objects give only an estimate.
            let most = isRelated ? 2 * scan.rowsRead : scan.rowsRead
            #expect(found.rowsRead <= most, "seed \(seed) \(request) by \(found.plan)")
        }
    }

    @Test func `law 7: a read of many unique values ends when its budget is used up`() throws {
        let bench = try bench()
        let predicate = try ObjectPredicate(format: "code IN {\(Self.codes(0..<600))}")
        let request = try CompiledRequest(
            FetchDescriptor(entity: "File", predicate: predicate), in: try bench.model)
        let found = try bench.store.fetch(request, for: .count)
        #expect(found.plan == "unique (code)" && found.count == 500 && found.keysRead == 600)
        for work in [0, 10, 100, 599] {
            let error = #expect(throws: StoreError.self, "work \(work)") {
                let budget = bench.store.readBudget(work: work)
                _ = try bench.store.fetch(request, for: .count, budget: budget)
            }
            #expect(error?.code == .interrupted)
        }
    }

    @Test func `law 7: the budget is checked while the members of related objects are read`()
        throws
    {
        let bench = try StoreBench(model: shelfModel)
        let files = try (UInt64(100)..<4_100).map { try bench.reference("File", $0) }
        let labels = try (UInt64(1)...2).map { try bench.reference("Label", $0) }
        try bench.apply(
            try labels.map { try bench.insert("Label", $0.number, ["color": .string("red")]) })
        try bench.apply(try files.map { try bench.insert("File", $0.number, [:]) })
        for (label, own) in zip(labels, [files[...], files[..<7]]) {
            let changes = try own.map {
                try bench.touch("File", $0.number, "labels", added: [label])
            }
            try bench.apply(
                changes + [try bench.touch("Label", label.number, "files", added: Array(own))])
        }
        let predicate = try ObjectPredicate(format: "ANY labels.color == 'red'")
        let request = try CompiledRequest(
            FetchDescriptor(entity: "File", predicate: predicate), in: try bench.model)
        let condition = try #require(request.relatedConditions.first)
        let target = try CompiledRequest(condition.target, in: try bench.model)
        let plan = FetchPlan(access: .related(condition, target, FetchPlan(access: .scan)))
        var (calls, mostHeld) = (0, 0)
        let budget = bench.store.readBudget { held in
            calls += 1
            mostHeld = max(mostHeld, held)
        }
        let found = try bench.store.fetch(request, by: plan, for: .count, budget: budget)
        #expect(found.count == 4_000 && found.keysRead >= 4_007)
        #expect(calls >= 4_007 / 1_024, "\(calls) calls")
        // The last call is at most about a thousand objects before the end.
        #expect(mostHeld >= 2_900 * MemoryLayout<ObjectReference>.stride, "\(mostHeld) bytes")
    }
}
