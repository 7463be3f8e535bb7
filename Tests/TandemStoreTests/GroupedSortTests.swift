import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Sorting by groups, compared with sorting by whole keys.
@Suite(.ownThread) struct GroupedSortTests {
    @Test func `entries are sorted by their whole keys`() throws {
        var random = SplitMix64(seed: seed)
        for round in 0..<Volume.of(6, deep: 12) {
            let model = try Self.model()
            let request = try CompiledRequest(
                FetchDescriptor(entity: "Match", sort: ["place.name", "-goals"]), in: model)
            let graph = MadeGraph(model, places: [1, 3, 40][round % 3], &random)
            let keys = GroupedKeys(of: request)
            let arena = SortKeyArena()
            var (entries, whole): ([SortEntry], [(key: [UInt8], number: UInt64)]) = ([], [])
            // Some rounds have groups of thousands.
            for number in 1...UInt64(round % 3 == 0 ? 9_000 : 600) {
                let (object, row) = graph.match(number, &random)
                let place = row.withView { keys.placement(of: object, $0, graph) }
                let group = try #require(place?.group)
                entries.append(
                    keys.rest.bytes.withUnsafeBytes { arena.add(object, $0, group: group) })
                whole.append((try #require(request.sortKey(object, row, graph)), number))
                #expect(keys.prefixes[Int(group)] + keys.rest.bytes == whole.last?.key)
            }
            var checks = 0
            try GroupedSort.sort(&entries, keys, arena.records) { () throws(StoreError) in
                checks += 1
            }
            // Nine thousand entries take more than 65,536 comparisons.
            #expect(round % 3 != 0 || checks > 0)
            let expected = whole.sorted {
                $0.key == $1.key ? $0.number < $1.number : $0.key.lexicographicallyPrecedes($1.key)
            }
            let sorted = entries.map { arena.records.object($0.at).number }
            #expect(sorted == expected.map(\.number), "seed \(seed)")
        }
    }

    @Test func `no entries are sorted to an empty result`() throws {
        let request = try CompiledRequest(
            FetchDescriptor(entity: "Match", sort: ["place.name"]), in: Self.model())
        var entries: [SortEntry] = []
        try GroupedSort.sort(&entries, GroupedKeys(of: request), SortKeyRecords()) {}
        #expect(entries.isEmpty)
    }

    @Test func `a check ends a sort`() throws {
        var random = SplitMix64(seed: seed)
        let arena = SortKeyArena()
        var entries = (1...20_000 as ClosedRange<UInt64>).map { number in
            withUnsafeBytes(of: random.next().bigEndian) { key in
                arena.add(ObjectReference(tag: 1, number: number), key, group: 0)
            }
        }
        let keys = GroupedKeys(
            of: try CompiledRequest(
                FetchDescriptor(entity: "Match", sort: ["goals"]), in: Self.model()))
        var checks = 0
        let error = #expect(throws: StoreError.self) {
            try GroupedSort.sort(&entries, keys, arena.records) { () throws(StoreError) in
                checks += 1
                if checks == 2 { throw StoreError(.interrupted, "enough") }
            }
        }
        #expect(error?.code == .interrupted && checks == 2)
    }

    private static func model() throws -> CompiledModel {
        try CompiledModel(
            ManagedObjectModel {
                Entity("Place") {
                    Attribute("name", .string)
                    Relationship("matches", to: "Match", inverse: "place", toMany: true)
                }
                Entity("Match") {
                    Attribute("goals", .int)
                    Relationship("place", to: "Place", inverse: "matches")
                }
            })
    }
}

/// Places, some of which share a name, and matches at them or without a place.
private struct MadeGraph: GraphReader {
    private let model: CompiledModel
    private var places: [ObjectNumber: Row] = [:]

    init(_ model: CompiledModel, places count: Int, _ random: inout SplitMix64) {
        self.model = model
        guard let entity = model.entity(named: "Place") else { return }
        for number in 0..<count {
            let name: PropertyValue = number % 5 == 4 ? .null : .string("place \(number % 17)")
            places[100_000 + UInt64(number)] = Row([name, .null], of: entity, version: 1)
        }
    }

    func match(_ number: ObjectNumber, _ random: inout SplitMix64) -> (ObjectReference, Row) {
        guard let entity = model.entity(named: "Match"), let place = model.entity(named: "Place")
        else { preconditionFailure("The model has both.") }
        let at = UInt64.random(in: 0...UInt64(places.count), using: &random)
        let target: PropertyValue =
            at == places.count || at == 0 && places.count > 1
            ? .null : .reference(ObjectReference(tag: place.tag, number: 100_000 + at))
        let goals = PropertyValue.int(Int64.random(in: 0...30, using: &random))
        return (
            ObjectReference(tag: entity.tag, number: number),
            Row([goals, target], of: entity, version: 1)
        )
    }

    func row(of object: ObjectReference) -> RowLookup {
        places[object.number].map { .row($0) } ?? .missing
    }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? { nil }
}
