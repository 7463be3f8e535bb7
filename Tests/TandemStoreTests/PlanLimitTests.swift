import TandemModel
import TandemQuery
import Testing

@testable import TandemStore

/// Plans for requests whose planning itself could fail.
@Suite(.ownThread) struct PlanLimitTests {
    @Test func `rows of subentities are sampled by their own layout`() throws {
        let bench = try StoreBench(
            model: ManagedObjectModel {
                Entity("Animal", indexes: [["name"]]) { Attribute("name", .string) }
                Entity("Dog", parent: "Animal") { Attribute("weight", .double) }
            })
        // More rows than are counted exactly, so that samples from the whole table are read.
        try bench.apply(
            (UInt64(1)...5_000).map {
                try bench.insert(
                    "Dog", $0,
                    ["name": .string("n\($0)"), "weight": .double(Double($0) / 10)])
            })
        let request = FetchDescriptor(
            entity: "Animal", predicate: try ObjectPredicate(format: "name >= 'n'"))
        let found = try bench.store.fetch(
            try CompiledRequest(request, in: try bench.model), for: .rows)
        #expect(found.objects.count == 5_000)
    }

    @Test func `lists of values for several properties of an index don't multiply`() throws {
        let model = try CompiledModel(
            ManagedObjectModel {
                Entity("Pair", indexes: [["a", "b"]]) {
                    Attribute("a", .int)
                    Attribute("b", .int)
                }
            })
        let many = { (count: Int) in (0..<count).map(String.init).joined(separator: ", ") }
        let request = FetchDescriptor(
            entity: "Pair",
            predicate: try ObjectPredicate(
                format: "a IN {\(many(1_000))} AND b IN {\(many(2_000))}"))
        let compiled = try CompiledRequest(request, in: model)
        let index = try #require(compiled.entity.indexes.first)
        let bounds = IndexBounds(index, compiled.constraints)
        #expect(bounds.ranges.count <= 1_024 && bounds.used == 1 && bounds.met == [0])
    }

    @Test func `lists of values for several unique properties don't multiply`() throws {
        let model = try CompiledModel(
            ManagedObjectModel {
                Entity("Pair", uniqueness: [["a", "b"]]) {
                    Attribute("a", .int)
                    Attribute("b", .int)
                }
            })
        let many = { (count: Int) in (0..<count).map(String.init).joined(separator: ", ") }
        for (a, b, count) in [(32, 32, 1_024), (33, 32, nil), (1, 4_000, 4_000), (4_000, 1, 4_000)]
        {
            let format = "a IN {\(many(a))} AND b IN {\(many(b))}"
            let request = FetchDescriptor(
                entity: "Pair", predicate: try ObjectPredicate(format: format))
            let compiled = try CompiledRequest(request, in: model)
            let constraint = try #require(compiled.entity.uniqueness.first)
            let keys = UniqueKeys(constraint, compiled.constraints)
            #expect(keys?.keys.count == count, "\(a) \(b)")
        }
    }

    @Test func `a predicate with too many alternatives is a scan`() throws {
        let bench = try StoreBench(
            model: ManagedObjectModel {
                Entity("Pair", indexes: [["a"], ["b"]]) {
                    Attribute("a", .int)
                    Attribute("b", .int)
                }
            })
        try bench.apply(
            (UInt64(1)...2_000).map {
                try bench.insert("Pair", $0, ["a": .int(Int64($0)), "b": .int(Int64($0))])
            })
        for (count, way) in [
            (FetchPlan.mostAlternatives, "any of index"), (FetchPlan.mostAlternatives + 1, "scan"),
        ] {
            let parts = (1...count).map { $0 % 2 == 0 ? "a == \($0)" : "b == \($0)" }
            let predicate = try ObjectPredicate(format: parts.joined(separator: " OR "))
            let found = try bench.fetch(FetchDescriptor(entity: "Pair", predicate: predicate))
            #expect(found.objects.map(\.object.number) == Array(1...UInt64(count)))
            #expect(found.plan.hasPrefix(way), "\(found.plan)")
            #expect(found.rowsRead == (way == "scan" ? 2_000 : count))
        }
    }
}
