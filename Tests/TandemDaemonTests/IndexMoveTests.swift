import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Objects whose index entries move during a scan over related objects, by changes of properties
/// that no predicate names.
@Suite(.ownThread) struct IndexMoveTests {
    private static let model = ManagedObjectModel {
        Entity("Folder", indexes: [["kind", "size"]]) {
            Attribute("kind", .string)
            Attribute("size", .int)
            Relationship("shelf", to: "Shelf", inverse: "folders")
            Relationship("papers", to: "Paper", inverse: "folder", toMany: true)
        }
        Entity("Shelf", indexes: [["room", "height"]]) {
            Attribute("room", .string)
            Attribute("height", .int)
            Relationship("folders", to: "Folder", inverse: "shelf", toMany: true)
        }
        Entity("Paper") {
            Attribute("title", .string)
            Relationship("folder", to: "Folder", inverse: "papers")
        }
    }

    /// Returns a bench with a few rare folders among many ordinary ones, each with some papers, on
    /// 40 shelves.
    private func bench() throws -> CommitBench {
        let bench = try CommitBench(model: Self.model)
        var operations: [SaveOperation] = []
        for shelf in 1...40 as ClosedRange<UInt64> {
            let room = PropertyValue.string(shelf <= 4 ? "cellar" : "attic \(shelf)")
            operations.append(
                try bench.insert("Shelf", shelf, ["room": room, "height": .int(Int64(shelf))]))
        }
        for folder in 100...299 as ClosedRange<UInt64> {
            let shelf = try bench.reference("Shelf", folder % 40 + 1)
            operations.append(
                try bench.insert(
                    "Folder", folder,
                    [
                        "kind": .string(folder % 40 < 4 ? "rare" : "usual \(folder % 9)"),
                        "size": .int(Int64(folder)), "shelf": .reference(shelf),
                    ]))
        }
        for paper in 1_000...2_999 as ClosedRange<UInt64> {
            let folder = try bench.reference("Folder", 100 + paper % 200)
            operations.append(try bench.insert("Paper", paper, ["folder": .reference(folder)]))
        }
        try bench.save(operations)
        return bench
    }

    @Test(arguments: [
        ("folder.kind == 'rare'", "Folder", 100...299, "size"),
        ("folder.shelf.room == 'cellar'", "Shelf", 1...40, "height"),
    ])
    func `law 4: an object that moves in an index is found at its place in the snapshot`(
        _ format: String, _ entity: String, _ numbers: ClosedRange<UInt64>, _ property: String
    ) throws {
        let bench = try bench()
        let model = try bench.model
        var random = SplitMix64(seed: seed)
        let request = FetchDescriptor(
            entity: "Paper", predicate: try ObjectPredicate(format: format), sort: ["title"])
        for round in 0..<8 {
            let fetch = Fetch(request: request)
            func move() throws {
                for _ in 0..<Int.random(in: 0...60, using: &random) {
                    let number = UInt64.random(in: numbers, using: &random)
                    let value = PropertyValue.int(Int64.random(in: 0...400, using: &random))
                    try bench.save([try bench.update(entity, number, [property: value])])
                }
            }
            try move()
            try bench.committer.checkpoint()
            let compiled = try fetch.compiled(in: model)
            let expected = try bench.store.fetch(compiled)
            let snapshot = try bench.store.snapshot()
            try move()
            try bench.committer.checkpoint()
            let found = try snapshot.fetch(compiled)
            snapshot.end()
            #expect(found.objects == expected.objects, "seed \(seed) round \(round)")
            let access = try #require(found.steps.last)
            #expect(access.access == .index, "\(found.steps)")
            #expect(found.steps.count > 1)
        }
    }
}
