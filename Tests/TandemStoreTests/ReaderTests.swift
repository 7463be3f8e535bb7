import TandemIO
import TandemModel
import TestSupport
import Testing

@testable import TandemStore

/// Readers alongside the writer, and a writer that returns to its checkpoint.
@Suite(.ownThread) struct ReaderTests {
    @Test func `law 3: a stream with reverts at any step loses nothing`() throws {
        for round in UInt64(0)..<6 {
            let seed = seed &+ round
            var random = SplitMix64(seed: seed)
            let bench = try StoreBench(model: nil)
            let twin = try StoreBench(model: nil)
            try bench.install(CompiledModel(careModel))
            try twin.install(CompiledModel(careModel))
            var stream = LeagueStream(bench, seed: seed)
            for step in 0..<250 {
                let transaction = try stream.next()
                try bench.apply(transaction)
                try twin.apply(transaction)
                switch step % 50 {
                case 17: try bench.store.checkpoint()
                case 33: _ = try bench.store.leaseNumbers(100)
                case 49:
                    try bench.reopen()
                    try bench.replayAll()
                default: break
                }
                if step == 150 {
                    let later = try CompiledModel(migrated, replacing: try twin.model)
                    try bench.install(later)
                    try twin.install(later)
                }
                let isReverted = step == 150 || Int.random(in: 0..<12, using: &random) == 0
                if isReverted { try bench.revertAndReplay() }
            }
            try bench.store.checkpoint()
            #expect(try bench.everythingButMeta() == twin.everythingButMeta(), "seed \(seed)")
            #expect(try bench.store.check().findings == [], "seed \(seed)")
        }
    }

    /// The league with another attribute and index.
    private var migrated: ManagedObjectModel {
        var model = careModel
        model.entities["Player"]?.attributes["age"] = Attribute("age", .int, default: .int(20))
        model.entities["Player"]?.indexes.append(["age"])
        return model
    }

    @Test func `readers are counted, and so are the commits whose pages they retain`() throws {
        let bench = try StoreBench.league(10, seed: seed)
        let before = bench.store.readers
        #expect(before.count == 0 && before.oldestCommit == before.lastCommit)
        let reader = try bench.store.snapshot()
        for number in UInt64(900)..<904 {
            try bench.apply([try bench.insert("Tag", number, [:])])
            try bench.store.checkpoint()
        }
        let readers = bench.store.readers
        #expect(readers.count == 1 && readers.lastCommit == before.lastCommit + 4)
        #expect(readers.oldestCommit == before.lastCommit)
        #expect(try bench.store.checkReaders() == 0)
        reader.end()
        #expect(bench.store.readers.count == 0)
    }

    /// A checkpoint near the quota, like a revert, reads in a transaction of its own, and no reader
    /// slot was left for it.
    @Test
    func `law 3: snapshots in all reader slots prevent neither a checkpoint nor a revert`()
        throws
    {
        var options = StoreOptions()
        (options.readers, options.quotaBytes) = (2, 1 << 20)
        let bench = try StoreBench(model: careModel, options: options)
        let text = String(repeating: "t", count: 60_000)
        for number in UInt64(900)..<914 {
            try bench.apply([try bench.insert("Player", number, ["note": .string(text)])])
        }
        try bench.store.checkpoint()
        var snapshots: [StoreSnapshot] = []
        let error = #expect(throws: StoreError.self) {
            while snapshots.count < 100 { snapshots.append(try bench.store.snapshot()) }
        }
        defer { for snapshot in snapshots { snapshot.end() } }
        #expect(error?.code == .noReader && !snapshots.isEmpty)
        try bench.apply([try bench.insert("Player", 950, ["note": .string(text)])])
        try bench.store.checkpoint()
        let position = bench.store.appliedPosition
        #expect(bench.store.usedBytes > 3 << 18)
        try bench.apply([try bench.insert("Player", 951, ["note": .string("one more")])])
        try bench.store.revert()
        #expect(bench.store.appliedPosition == position)
        try bench.apply([try bench.insert("Player", 951, ["note": .string("again")])])
        try bench.store.checkpoint()
    }

    @Test func `law 4: a reader keeps its snapshot while the store grows to its quota`() throws {
        var options = StoreOptions()
        let quota = Volume.of(24, deep: 1_024) << 20
        options.quotaBytes = quota
        let bench = try StoreBench(model: careModel, options: options)
        let text = String(repeating: "t", count: 60_000)
        func insert(_ number: UInt64, _ text: String) throws {
            try bench.apply([try bench.insert("Player", number, ["note": .string(text)])])
        }
        for number in UInt64(900)..<920 { try insert(number, "\(number)") }
        try bench.store.checkpoint()
        func rows(_ snapshot: StoreSnapshot) throws -> [[UInt8]?] {
            try (UInt64(900)..<920).map { number in
                let key = StoreKey.row(try bench.reference("Player", number))
                return try snapshot.current.get(snapshot.tables.rows, key).map { Array($0) }
            }
        }
        let reader = try bench.store.snapshot()
        defer { reader.end() }
        let before = try rows(reader)
        #expect(before.allSatisfy { $0 != nil })
        let refusal = #expect(throws: StoreError.self) {
            for number in UInt64(1_000)..<100_000 {
                try bench.store.checkQuota(for: text.utf8.count)
                try insert(number, text)
                // Different rows each time, so that pages in use by the reader are replaced.
                let old = 900 + number % 20
                try bench.apply([
                    try bench.update("Player", old, ["note": .string("new \(number)")])
                ])
                if number % 16 == 0 {
                    try bench.store.checkpoint()
                    #expect(try rows(reader) == before)
                }
            }
        }
        #expect(refusal?.code == .overQuota, "\(refusal?.message ?? "nothing")")
        // Applied transactions can be committed, and the file is not much larger than the quota.
        try bench.store.checkpoint()
        let used = bench.store.usedBytes
        #expect(used > quota / 3 * 2 && used < quota + max(40 << 20, quota / 8), "\(used) bytes")
        #expect(try rows(reader) == before)
        #expect(try bench.store.check().isClean)
    }

    @Test func `a store opened for reading reads and does not write`() throws {
        let bench = try StoreBench.league(30, seed: seed)
        let kept = try dump(bench.store)
        bench.store.close()
        let before = try readFile(bench.scratch.path + "/data.mdb")
        let reader = try Store.openForReading(path: bench.scratch.path)
        #expect(reader.isReadOnly)
        #expect(try dump(reader) == kept)
        #expect(try reader.check().isClean)
        #expect(throws: StoreError.self) { _ = try reader.leaseNumbers(1) }
        reader.close()
        #expect(try readFile(bench.scratch.path + "/data.mdb") == before)
        #expect(throws: StoreError.self) {
            _ = try Store.openForReading(path: bench.scratch.path + "/none")
        }
    }
}
