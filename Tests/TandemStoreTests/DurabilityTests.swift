import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

@Suite(.ownThread) struct DurabilityTests {
    @Test func `a revert and a reopened store return to the checkpoint`() throws {
        let bench = try StoreBench()
        try bench.apply([try bench.insert("Team", 1, ["name": .string("A")])])
        try bench.store.checkpoint()
        let kept = try dump(bench.store)
        for isReopened in [false, true] {
            try bench.apply([try bench.insert("Team", 2, ["name": .string("B")])])
            #expect(bench.store.appliedPosition == 3)
            #expect(bench.store.checkpointPosition == 2)
            if isReopened { try bench.reopen() } else { try bench.store.revert() }
            #expect(bench.store.appliedPosition == 2)
            #expect(bench.store.uncommittedChanges == 0)
            #expect(try dump(bench.store) == kept)
        }
    }

    @Test func `dirty pages never exceed the pages written, and are zero after a checkpoint`()
        throws
    {
        let bench = try StoreBench()
        try bench.store.checkpoint()
        #expect(bench.store.dirtyPages == 0)
        for number in UInt64(1)...50 { try bench.apply([try bench.insert("Team", number, [:])]) }
        #expect(bench.store.dirtyPages > 0)
        try bench.store.checkpoint()
        // Repeated writes of one row dirty the pages only once.
        for wins in Int64(1)...500 {
            try bench.apply([try bench.update("Team", 7, ["wins": .int(wins)])])
        }
        #expect((1..<64).contains(bench.store.dirtyPages))
        #expect(!bench.store.isReplayFull)
        try bench.store.checkpoint()
        #expect(bench.store.dirtyPages == 0)
    }

    @Test func `consecutive rows count as the pages that they fill`() throws {
        let bench = try StoreBench()
        for start in stride(from: UInt64(1), to: 40_000, by: 1_000) {
            try bench.apply(try (start..<start + 1_000).map { try bench.insert("Tag", $0, [:]) })
        }
        try bench.store.checkpoint()
        let label = PropertyValue.string("n")
        // The same number of scattered rows dirties pages all over the table.
        for number in stride(from: UInt64(1), to: 40_000, by: 20) {
            try bench.apply([try bench.update("Tag", number, ["label": label])])
        }
        #expect(bench.store.dirtyPages > 300, "\(bench.store.dirtyPages)")
        try bench.store.checkpoint()
        try bench.apply(try (UInt64(40_001)...42_000).map { try bench.insert("Tag", $0, [:]) })
        #expect((20..<300).contains(bench.store.dirtyPages), "\(bench.store.dirtyPages)")
    }

    @Test func `random save ids count as a page each, ascending ones do not`()
        throws
    {
        let bench = try StoreBench()
        var random = SplitMix64(seed: seed)
        func save(_ id: [UInt8]) throws {
            try bench.apply(
                Transaction(
                    principal: Principal(uid: 7), saveID: id, content: .objects([])))
        }
        func anywhere() -> [UInt8] {
            (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        for _ in 0..<2_000 { try save(anywhere()) }
        try bench.store.checkpoint()
        for number in UInt8(0)..<60 { try save([1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, number]) }
        #expect(bench.store.dirtyPages < 24)
        try bench.store.checkpoint()
        for _ in 0..<20 { try save(anywhere()) }
        // Twenty of about forty pages, usually different ones each time.
        #expect(bench.store.dirtyPages >= 20)
        // A common prefix with random endings is not ascending either.
        try bench.store.checkpoint()
        for _ in 0..<20 { try save([9, 9, 9, 9] + anywhere().prefix(8)) }
        #expect(bench.store.dirtyPages >= 20)
    }

    @Test func `a row that grows and shrinks without its indexes has the last written value`()
        throws
    {
        let bench = try StoreBench()
        try bench.apply([try bench.insert("Tag", 1, ["label": .string("n")])])
        for length in [1, 1, 900, 900, 3_000, 2, 60_000, 0] {
            let label = PropertyValue.string(String(repeating: "x", count: length))
            try bench.apply([try bench.update("Tag", 1, ["label": label])])
            let stored = try #require(try bench.store.stored(try bench.reference("Tag", 1)))
            let entity = try bench.entity("Tag")
            #expect(stored.version == bench.store.appliedPosition)
            #expect(
                stored.row.uncheckedValue(try #require(entity.slot(of: "label")), in: entity)
                    == label)
        }
        #expect(try bench.dumpOfRebuilt() == dump(bench.store))
    }

    @Test func `a model that was not checkpointed is gone after a revert`() throws {
        let bench = try StoreBench()
        try bench.store.revert()
        #expect(bench.store.model == nil)
        #expect(bench.store.appliedPosition == 0)
        #expect(try dump(bench.store) == ["position 0", "model none"])
    }

    @Test func `law 3: numbers below a lease are never leased again`() throws {
        let bench = try StoreBench()
        let first = try bench.store.leaseNumbers(100)
        #expect(first == 1)
        try bench.reopen()
        #expect(bench.store.nextNumber == 101)
        #expect(try bench.store.leaseNumbers(1) == 101)
        try bench.apply([try bench.insert("Team", 500, [:])])
        try bench.store.checkpoint()
        try bench.reopen()
        #expect(try bench.store.leaseNumbers(1) == 501)
        try bench.store.revert()
        #expect(bench.store.nextNumber == 502)
    }

    @Test func `a newer format is refused and nothing is touched`() throws {
        let bench = try StoreBench()
        try bench.store.checkpoint()
        let newer = StoreIdentity.bytes(Store.format + 1)
        try bench.store.current.put(bench.store.tables.meta, MetaKey.format.key, newer)
        try bench.store.checkpoint()
        bench.store.close()
        let before = try readFile(bench.scratch.path + "/data.mdb")
        let error = #expect(throws: StoreError.self) { _ = try openStore(bench.scratch.path) }
        #expect(error?.code == .notOurs)
        #expect(error?.message.contains(bench.scratch.path) == true)
        #expect(try readFile(bench.scratch.path + "/data.mdb") == before)
    }

    @Test func `identity and epoch outlive the store's owner`() throws {
        let bench = try StoreBench()
        try bench.store.setEpoch(7)
        try bench.reopen()
        #expect(bench.store.identity == StoreIdentity(log: LogID(high: 1, low: 2), epoch: 7))
    }

    @Test func `save ids are kept for the last positions and then forgotten`() throws {
        var options = StoreOptions()
        options.savesKept = 10
        let bench = try StoreBench(options: options)
        for number in UInt64(1)...40 {
            var transaction = Transaction(
                principal: Principal(uid: UInt32(number % 2)), saveID: [UInt8(number)],
                contentHash: StableHash(first: number, second: 0),
                content: .objects([try bench.insert("Team", number, [:])]))
            // Some transactions have no id; they must not keep others from being forgotten.
            if number % 7 == 0 { transaction.saveID = [] }
            try bench.apply(transaction)
        }
        let last = bench.store.appliedPosition
        for number in UInt64(1)...40 {
            let position = number + 1
            let known = try bench.store.save(by: UInt32(number % 2), id: [UInt8(number)])
            let isKept = number % 7 != 0 && position > last - 10
            #expect((known != nil) == isKept, "number \(number)")
            guard let known else { continue }
            #expect(known.position == position)
            #expect(known.inserted.map { $0?.number } == [number])
            #expect(try bench.store.save(by: UInt32(1 - number % 2), id: [UInt8(number)]) == nil)
        }
        #expect(try content(bench.store, bench.store.tables.saves).count == 9)
        #expect(try content(bench.store, bench.store.tables.saveOrder).count == 9)
    }

    @Test func `save ids outlive a checkpoint and not a revert`() throws {
        let bench = try StoreBench()
        let change = try bench.insert("Team", 1, [:])
        try bench.apply(Transaction(saveID: [1, 2], content: .objects([change])))
        try bench.store.checkpoint()
        try bench.apply(
            Transaction(saveID: [3], content: .objects([try bench.insert("Team", 2, [:])])))
        try bench.reopen()
        #expect(try bench.store.save(by: 0, id: [1, 2])?.position == 2)
        #expect(try bench.store.save(by: 0, id: [3]) == nil)
    }
}

extension StoreBench {
    /// Applies the transactions after the checkpoint again.
    func replayAll() throws {
        while store.appliedPosition < UInt64(log.count) {
            try store.apply(log[Int(store.appliedPosition)])
        }
    }

    /// Returns to the last checkpoint and applies the rest again, as after a shortage.
    func revertAndReplay() throws {
        try store.revert()
        try replayAll()
    }
    /// Returns the dump of a store to which every transaction was applied.
    func dumpOfRebuilt() throws -> [String] {
        let scratch = try Scratch(inMemory: true)
        let rebuilt = try openStore(scratch.path)
        defer { rebuilt.close() }
        for transaction in log {
            try rebuilt.apply(EncodedTransaction(bytes: transaction.bytes))
        }
        return try dump(rebuilt)
    }
}
