import FoundationEssentials
import TandemIO
import TandemModel
import TestSupport
import Testing

@testable import TandemStore

/// Rebuilds of the store from the journal alone, whatever happened to the old store (law 6).
@Suite(.ownThread) struct RebuildTests {
    let identity = StoreIdentity(log: LogID(high: 1, low: 2), epoch: 3)

    private func rebuild(
        _ bench: StoreBench, options: StoreOptions = StoreOptions(),
        through last: UInt64? = nil,
        snapshot: String? = nil, from first: Int = 0
    ) throws -> StoreReport {
        try StoreRebuild(path: bench.scratch.path, options: options).run(
            identity: identity, through: last ?? UInt64(bench.log.count), snapshot: snapshot
        ) { after in
            #expect(after >= UInt64(first))
            var rest = bench.log[Int(after)...]
            return { rest.popFirst() }
        }
    }

    @Test func `law 6: a store rebuilt from its journal has the same dump and hash`() throws {
        let bench = try StoreBench.league(400, seed: seed)
        _ = try bench.store.leaseNumbers(5_000)
        let (before, hash) = (try bench.everythingButMeta(), try bench.store.stateHash())
        let mark = bench.store.nextNumber
        bench.store.close()
        let report = try rebuild(bench)
        #expect(report.isClean && report.position == UInt64(bench.log.count))
        try bench.reopen()
        #expect(try bench.everythingButMeta() == before)
        #expect(try bench.store.stateHash() == hash)
        #expect(bench.store.nextNumber == mark)
        #expect(bench.store.identity == identity)
    }

    @Test func `law 6: a rebuild restores what no repair can`() throws {
        let bench = try StoreBench.league(300, seed: seed)
        let before = try bench.everythingButMeta()
        for key in try bench.keys(.rows).prefix(20) { try bench.remove(.rows, key) }
        #expect(try !bench.store.check().isClean)
        bench.store.close()
        _ = try rebuild(bench)
        try bench.reopen()
        #expect(try bench.everythingButMeta() == before)
    }

    @Test func `a lost store is rebuilt, and numbers that may be leased are skipped`() throws {
        let bench = try StoreBench.league(50, seed: seed)
        let (before, highest) = (try bench.everythingButMeta(), bench.store.nextNumber)
        bench.store.close()
        let files = RealFileSystem()
        for name in try files.list(bench.scratch.path) {
            try files.remove(bench.scratch.path + "/" + name)
        }
        _ = try rebuild(bench)
        try bench.reopen()
        #expect(try bench.everythingButMeta() == before)
        #expect(bench.store.nextNumber >= highest + StoreRebuild.unknownLeases)
    }

    @Test func `consumers are adopted from an old store, unreadable ones are reported by name`()
        throws
    {
        let bench = try StoreBench.league(50, seed: seed)
        let mirror = Consumer(name: "mirror", acknowledged: 7)
        try bench.store.put(mirror)
        try bench.put(.consumers, Array("broken".utf8), [1])
        bench.store.close()
        let old = StoreRebuild(path: bench.scratch.path).oldConsumers()
        #expect(old.copied == [mirror] && old.lost == ["broken"] && old.isKnown)
        _ = try rebuild(bench)
        try bench.reopen()
        #expect(try bench.store.consumers() == [mirror])
        bench.store.close()
        let path = bench.scratch.path + "/data.mdb"
        try RealFileSystem().remove(path)
        #expect(!StoreRebuild(path: bench.scratch.path).oldConsumers().isKnown)
        try Data("no store".utf8).write(to: URL(fileURLWithPath: path))
        let failure = StoreRebuild(path: bench.scratch.path).oldConsumers().failure
        #expect(failure?.contains("there is no") == false, "\(failure ?? "no failure")")
    }

    @Test func `a journal that ends early leaves the old store as it is`() throws {
        let bench = try StoreBench.league(50, seed: seed)
        bench.store.close()
        let path = bench.scratch.path + "/data.mdb"
        let before = try readFile(path)
        let error = #expect(throws: StoreError.self) {
            _ = try rebuild(bench, through: UInt64(bench.log.count) + 1)
        }
        #expect(error?.message.contains("ended at") == true)
        #expect(try readFile(path) == before)
        #expect(!RealFileSystem().exists(bench.scratch.path + ".rebuilding"))
    }

    @Test func `a rebuild begins with a snapshot and continues with the later journal`() throws {
        let bench = try StoreBench.league(100, seed: seed)
        let snapshot = bench.scratch.path + "/snapshot"
        try bench.store.copyCheckpoint(to: snapshot)
        let position = bench.store.appliedPosition
        for number in UInt64(5_000)..<5_050 {
            try bench.apply([try bench.insert("Tag", number, ["label": .string("x")])])
        }
        try bench.store.checkpoint()
        let before = try bench.everythingButMeta()
        bench.store.close()
        _ = try rebuild(bench, snapshot: snapshot, from: Int(position))
        try bench.reopen()
        #expect(try bench.everythingButMeta() == before)
    }
}

extension StoreBench {
    func everythingButMeta() throws -> [String] {
        try everything().filter { !$0.hasPrefix("meta ") }
    }
}
