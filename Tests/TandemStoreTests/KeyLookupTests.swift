import FoundationEssentials
import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Look-ups by a unique value, compared with fetches.
@Suite(.ownThread) struct KeyLookupTests {
    private func request(_ entity: String, _ key: String, _ value: PropertyValue) -> FetchDescriptor
    {
        let comparison = Comparison(.keyPath([key]), .equal, .constant(value))
        return FetchDescriptor(entity: entity, predicate: ObjectPredicate(.comparison(comparison)))
    }

    /// Returns the objects found by a look-up, which must be those found by a fetch.
    private func found(_ request: FetchDescriptor, _ bench: StoreBench) throws -> StoredObjects {
        let model = try bench.model
        let lookup = try #require(KeyLookup(request, in: model), "\(request)")
        let fetched = try bench.store.fetch(CompiledRequest(request, in: model))
        let found = try lookup.objects(in: bench.store)
        #expect(found == fetched.objects, "\(request)")
        #expect(found.count == fetched.count)
        return found
    }

    @Test func `a value finds its owner, even after it has moved`() throws {
        let bench = try StoreBench()
        let lions = request("Team", "name", .string("Lions"))
        #expect(try found(lions, bench).isEmpty)
        try bench.apply([
            try bench.insert("Team", 1, ["name": .string("Lions")]),
            try bench.insert("Team", 2, ["name": .string("Eagles"), "wins": .int(2)]),
        ])
        #expect(try found(lions, bench).map(\.object.number) == [1])
        try bench.apply([
            try bench.update("Team", 1, ["name": .string("Bears")]),
            try bench.update("Team", 2, ["name": .string("Lions")]),
        ])
        #expect(try found(lions, bench).map(\.object.number) == [2])
        #expect(try found(lions, bench).first?.version == bench.store.appliedPosition)
        try bench.store.checkpoint()
        #expect(try found(lions, bench).map(\.object.number) == [2])
        try bench.apply([try bench.delete("Team", 2)])
        #expect(try found(lions, bench).isEmpty)
    }

    @Test func `objects of subentities are found if they are included`() throws {
        let bench = try StoreBench()
        try bench.apply([
            try bench.insert("Captain", 1, ["pass": .string("a")]),
            try bench.insert("Player", 2, ["pass": .string("b")]),
        ])
        var player = request("Player", "pass", .string("a"))
        #expect(try found(player, bench).map(\.object.number) == [1])
        player.includesSubentities = false
        #expect(try found(player, bench).isEmpty)
        #expect(try found(request("Captain", "pass", .string("a")), bench).count == 1)
        #expect(try found(request("Captain", "pass", .string("b")), bench).isEmpty)
    }

    @Test func `texts are distinguished by their bytes, and long ones are left to fetches`() throws
    {
        let bench = try StoreBench()
        let (composed, apart) = ("caf\u{e9}", "cafe\u{301}")
        try bench.apply([try bench.insert("Team", 1, ["name": .string(composed)])])
        #expect(try found(request("Team", "name", .string(composed)), bench).count == 1)
        #expect(try found(request("Team", "name", .string(apart)), bench).isEmpty)
        for text in ["", "caf", "\u{0}", "caf\u{e9}\u{0}"] {
            #expect(try found(request("Team", "name", .string(text)), bench).isEmpty)
        }
        let long = String(repeating: "x", count: BlobReference.inlineLimit)
        #expect(try found(request("Team", "name", .string(long)), bench).isEmpty)
        #expect(KeyLookup(request("Team", "name", .string(long + "x")), in: try bench.model) == nil)
    }

    @Test func `a key that refers to another value's owner finds nothing`() throws {
        let bench = try StoreBench()
        try bench.apply([try bench.insert("Team", 1, ["name": .string("Lions")])])
        let index = try #require(try bench.entity("Team").uniqueness.first)
        for name in ["Eagles", "Lion", "Lionss", "lions"] {
            // Simulates two texts with the same hash.
            var tuple = KeyEncoder()
            tuple.append(.string(name))
            let hash = StableHash(tuple.bytes)
            let key =
                StoreKey.tag(index.id) + StoreKey.number(hash.first) + StoreKey.number(hash.second)
            let place = StoreKey.tag(try bench.entity("Team").tag) + StoreKey.number(1)
            try bench.store.current.put(bench.store.tables.unique, key, place)
            #expect(try found(request("Team", "name", .string(name)), bench).isEmpty)
        }
    }

    @Test func `integers and ids are found by value`() throws {
        let model = ManagedObjectModel {
            Entity("Thing", uniqueness: [["number"], ["key"]]) {
                Attribute("number", .int)
                Attribute("key", .uuid)
            }
        }
        let bench = try StoreBench(model: model)
        let keys = (0..<8).map { _ in UUID() }
        let numbers: [Int64] = [0, 1, -1, .min, .max, 1 << 53, 1 << 53 + 1, 256]
        try bench.apply(
            try zip(numbers, keys).enumerated().map { index, values in
                try bench.insert(
                    "Thing", UInt64(index) + 1,
                    ["number": .int(values.0), "key": .uuid(values.1)])
            })
        for (index, number) in numbers.enumerated() {
            #expect(
                try found(request("Thing", "number", .int(number)), bench).map(\.object.number)
                    == [UInt64(index) + 1])
            #expect(
                try found(request("Thing", "key", .uuid(keys[index])), bench).map(\.object.number)
                    == [UInt64(index) + 1])
        }
        #expect(try found(request("Thing", "number", .int(7)), bench).isEmpty)
        #expect(try found(request("Thing", "key", .uuid(UUID())), bench).isEmpty)
    }

    @Test func `a request with more or other conditions is not a look-up`() throws {
        let bench = try StoreBench()
        let model = try bench.model
        let plain = request("Team", "name", .string("Lions"))
        #expect(KeyLookup(plain, in: model) != nil)
        func isNone(_ change: (inout FetchDescriptor) -> Void) -> Bool {
            var other = plain
            change(&other)
            return KeyLookup(other, in: model) == nil
        }
        #expect(!isNone { $0.limit = 1 })
        #expect(isNone { $0.limit = 0 })
        #expect(isNone { $0.offset = 1 })
        #expect(isNone { $0.sort = [SortComponent("nothing")] })
        #expect(isNone { $0.predicate = nil })
        #expect(isNone { $0.entity = "Nothing" })
        for format in [
            "name != 'Lions'", "name ==[c] 'lions'", "city == 'Lions'", "name IN {'Lions'}",
            "name == nil", "name == city", "nothing == 'Lions'", "NOT name == 'Lions'",
            "name == 'Lions' AND wins > 3", "'Lions' == name", "ANY players.pass == 'a'",
        ] {
            let predicate = try ObjectPredicate(format: format)
            #expect(isNone { $0.predicate = predicate }, "\(format)")
        }
        #expect(KeyLookup(request("Team", "name", .int(3)), in: model) == nil)
        #expect(KeyLookup(request("Team", "name", .url("Lions")), in: model) == nil)
    }

    @Test func `law 4: in any store a look-up and a fetch find the same objects`() throws {
        let bench = try StoreBench(model: careModel)
        var stream = LeagueStream(bench, seed: seed)
        var names: Set<String> = []
        for _ in 0..<200 {
            let transaction = try stream.next()
            try bench.apply(transaction)
            for object in transaction.changes.compactMap(\.row) {
                for (entity, key) in [("Team", "name"), ("Player", "pass")] {
                    let own = try #require(bench.store.model?.entity(tagged: object.tag))
                    guard own.tag == (try bench.entity(entity).tag), let slot = own.slot(of: key),
                        case .string(let name) = object.uncheckedValue(slot, in: own)
                    else { continue }
                    names.insert(name)
                }
            }
        }
        var hits = 0
        for name in names {
            for (entity, key) in [("Team", "name"), ("Player", "pass"), ("Captain", "pass")] {
                hits += try found(request(entity, key, .string(name)), bench).count
            }
        }
        #expect(hits > 10, "\(hits) of \(names.count), seed \(seed)")
    }
}
