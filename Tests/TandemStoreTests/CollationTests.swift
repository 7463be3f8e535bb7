import TandemModel
import TandemQuery
import Testing

@testable import TandemStore

/// Index entries made with other Unicode tables, all of which are rebuilt once when the store is
/// opened.
@Suite(.ownThread) struct CollationTests {
    private func filled() throws -> StoreBench {
        let bench = try StoreBench()
        try bench.apply(
            try (1...2_000).map {
                try bench.insert(
                    "Player", UInt64($0), ["note": .string("p\($0 % 7)"), "goals": .int(Int64($0))])
            })
        try bench.store.checkpoint()
        return bench
    }

    /// Changes the entries as if they had been made with other tables: every entry gets another
    /// key.
    private func spoil(_ store: Store, stamp: [UInt8]?) throws {
        let open = try store.current
        var entries: [([UInt8], [UInt8])] = []
        try open.scan(store.tables.indexes, from: []) { key, value in
            entries.append((Array(key), Array(value)))
            return true
        }
        try #require(!entries.isEmpty)
        try open.clear(store.tables.indexes)
        for (key, value) in entries {
            try open.put(store.tables.indexes, key.dropLast(8) + [7] + key.suffix(8), value)
        }
        if let stamp {
            try open.put(store.tables.meta, MetaKey.collation.key, stamp)
        } else {
            try open.delete(store.tables.meta, MetaKey.collation.key)
        }
        try store.checkpoint()
    }

    private func stamp(_ store: Store) throws -> String? {
        try store.current.get(store.tables.meta, MetaKey.collation.key).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test func `a new store has the stamp of its program`() throws {
        let bench = try StoreBench(model: nil)
        #expect(try stamp(bench.store) == StoreOptions.programCollation)
        #expect(StoreOptions.programCollation.hasSuffix("Unicode \(UnicodeTables.version)"))
    }

    @Test(arguments: [Array("keys 1, Unicode 1.0".utf8), [], nil])
    func `an index made with other tables is rebuilt`(_ other: [UInt8]?) throws {
        let bench = try filled()
        let before = try content(bench.store, bench.store.tables.indexes)
        try spoil(bench.store, stamp: other)
        #expect(try !bench.store.check().isClean)
        let position = bench.store.checkpointPosition
        try bench.reopen()
        #expect(try content(bench.store, bench.store.tables.indexes) == before)
        #expect(try stamp(bench.store) == StoreOptions.programCollation)
        #expect(bench.store.checkpointPosition == position)
        #expect(try bench.store.check().isClean)
    }

    @Test func `an index made with the same tables is left alone`() throws {
        let bench = try filled()
        try spoil(bench.store, stamp: Array(StoreOptions.programCollation.utf8))
        let spoilt = try content(bench.store, bench.store.tables.indexes)
        try bench.reopen()
        #expect(try content(bench.store, bench.store.tables.indexes) == spoilt)
    }

    @Test func `a damaged store keeps its entries until it is repaired`() throws {
        let bench = try filled()
        try bench.store.current.put(
            bench.store.tables.rows, StoreKey.row(try bench.reference("Player", 5)), [1, 2, 3])
        try spoil(bench.store, stamp: [])
        let spoilt = try content(bench.store, bench.store.tables.indexes)
        try bench.reopen()
        #expect(try content(bench.store, bench.store.tables.indexes) == spoilt)
        #expect(try stamp(bench.store) == "")
    }
}
