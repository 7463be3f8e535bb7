import TandemModel
import Testing

@testable import TandemStore

@Suite(.ownThread) struct SavesTests {
    private func answer(_ position: UInt64, _ objects: [ObjectReference?] = []) -> IdempotencyRecord
    {
        IdempotencyRecord(
            position: position, contentHash: StableHash([3]), wrote: false, inserted: objects)
    }

    @Test func `law 3: the outcomes of inserts outlive restart and replay`() throws {
        let bench = try StoreBench()
        let existing = try bench.reference("Team", 1)
        try bench.apply([try bench.insert("Team", 1, ["name": .string("A")])])
        let transaction = Transaction(
            saveID: [9], contentHash: StableHash([1]),
            content: .objects([
                try bench.insert("Team", 5, [:]), try bench.insert("Tag", 7, [:]),
            ]))
        let outcomes = [
            existing, try bench.reference("Tag", 7), nil, try bench.reference("Team", 5),
        ]
        let encoded = try bench.apply(transaction.withOutcomes(outcomes))
        let known = try #require(try bench.store.save(by: 0, id: [9]))
        #expect(known.inserted == outcomes && known.wrote && known.position == 3)
        // Not checkpointed: the tail of the journal is replayed.
        try bench.reopen()
        for transaction in bench.log { try bench.store.apply(transaction) }
        #expect(try bench.store.save(by: 0, id: [9]) == known)
        #expect(bench.log.last == encoded)
        try bench.store.checkpoint()
        try bench.reopen()
        #expect(try bench.store.save(by: 0, id: [9]) == known)
    }

    @Test func `law 3: an answer of any length is restored from its bytes`() throws {
        for count in [0, 1, 2, 127, 128, 300, 16_384] {
            let objects = (0..<UInt64(count)).map { number -> ObjectReference? in
                if number % 7 == 3 { return nil }
                return ObjectReference(tag: EntityTag(number & 0xff), number: number + 1)
            }
            let saved = answer(5, objects)
            #expect(saved.bytes.count == saved.byteCount)
            #expect(try IdempotencyRecord(bytes: saved.bytes) == saved)
            var part = saved
            part.batch = BatchProgress(
                reached: ObjectReference(tag: 2, number: 9), done: 7, hasEnded: true)
            #expect(part.bytes.count == part.byteCount)
            #expect(try IdempotencyRecord(bytes: part.bytes) == part)
        }
    }

    @Test func `law 3: the last transaction of a batch is remembered for as long as any save`()
        throws
    {
        var options = StoreOptions()
        options.savesKept = 5
        let bench = try StoreBench(options: options)
        for number in UInt64(1)...4 {
            let object = try bench.reference("Tag", number)
            try bench.apply(
                Transaction(
                    saveID: [7], contentHash: StableHash([1]),
                    batch: BatchProgress(reached: object, done: number, hasEnded: number == 4),
                    content: .objects([try bench.insert("Tag", number, [:])])))
        }
        let known = try #require(try bench.store.save(by: 0, id: [7]))
        #expect(known.batch?.done == 4 && known.batch?.hasEnded == true && known.position == 5)
        try bench.store.checkpoint()
        #expect(try bench.store.check().findings.isEmpty)
        for number in UInt64(10)...13 {
            try bench.apply([try bench.insert("Tag", number, [:])])
            #expect(try bench.store.save(by: 0, id: [7]) == known)
        }
        try bench.apply([try bench.insert("Tag", 14, [:])])
        #expect(try bench.store.save(by: 0, id: [7]) == nil)
    }

    @Test func `law 3: save ids of 1 to 64 bytes are distinguished, longer ones are damage`() throws
    {
        let bench = try StoreBench()
        for count in 1...64 {
            let id = [UInt8](repeating: 7, count: count)
            try bench.apply(
                Transaction(
                    saveID: id,
                    content: .objects([try bench.insert("Tag", UInt64(count), [:])])))
        }
        for count in 1...64 {
            let id = [UInt8](repeating: 7, count: count)
            // Position 1 is the model's.
            #expect(try bench.store.save(by: 0, id: id)?.position == UInt64(count + 1))
        }
        let long = [UInt8](repeating: 7, count: 65)
        #expect(try bench.store.save(by: 0, id: long) == nil)
        #expect(throws: StoreError.self) {
            try bench.apply(
                Transaction(
                    saveID: long, content: .objects([try bench.insert("Tag", 99, [:])])))
        }
    }

    @Test func `saves without effect are kept until the floor exceeds their first position`()
        throws
    {
        var options = StoreOptions()
        options.savesKept = 10
        let bench = try StoreBench(options: options)
        let team = try bench.reference("Team", 1)
        try bench.store.rememberUnchanged(answer(1, [team, nil]), by: 4, id: [1])
        try bench.store.checkpoint()
        try bench.store.rememberUnchanged(answer(1), by: 4, id: [2])
        try bench.reopen()
        #expect(try bench.store.save(by: 4, id: [1]) == answer(1, [team, nil]))
        #expect(try bench.store.save(by: 5, id: [1]) == nil)
        #expect(try bench.store.save(by: 4, id: [2]) == nil)
        for number in UInt64(1)...10 { try bench.apply([try bench.insert("Tag", number, [:])]) }
        // The save was first sent at position 1, which is not below the floor yet.
        #expect(bench.store.saveFloor == 2)
        #expect(try bench.store.save(by: 4, id: [1]) != nil)
        try bench.apply([try bench.insert("Tag", 11, [:])])
        #expect(bench.store.saveFloor == 3)
        #expect(try bench.store.save(by: 4, id: [1]) == nil)
        #expect(try bench.store.current.count(bench.store.tables.unchanged) == 0)
    }

    @Test func `law 8: if there are too many saves without effect, the oldest are forgotten`()
        throws
    {
        var options = StoreOptions()
        options.unchangedKept = 8
        let bench = try StoreBench(options: options)
        for number in UInt64(1)...30 {
            let position = bench.store.appliedPosition
            try bench.store.rememberUnchanged(answer(position), by: 0, id: [UInt8(number)])
            if number % 2 == 0 { try bench.apply([try bench.insert("Tag", number, [:])]) }
        }
        #expect(try bench.store.current.count(bench.store.tables.unchanged) == 8)
        #expect(try bench.store.current.count(bench.store.tables.saves) == 8)
        for number in UInt8(1)...30 {
            #expect(try (bench.store.save(by: 0, id: [number]) != nil) == (number > 22))
        }
    }

    @Test func `law 8: after a lower limit, surplus ids are removed at the next checkpoints`()
        throws
    {
        let bench = try StoreBench()
        func save(_ number: UInt64, _ store: Store) throws {
            var transaction = Transaction(
                principal: Principal(uid: 4), saveID: StoreKey.number(number),
                content: .objects([try bench.insert("Tag", number, [:])]))
            transaction.position = store.appliedPosition + 1
            try store.apply(transaction)
        }
        for number in UInt64(1)...6_000 { try save(number, bench.store) }
        try bench.store.checkpoint()
        bench.store.close()
        var options = StoreOptions()
        options.savesKept = 100
        let store = try openStore(bench.scratch.path, options)
        func kept() throws -> [Int] {
            try [store.tables.saveOrder, store.tables.saves].map { try store.current.count($0) }
        }
        try save(6_001, store)
        #expect(try kept() == [6_000, 6_000])
        // A bounded number is removed each time; ids still known are answered as before.
        try store.sweepSaves()
        #expect(try kept() == [1_904, 1_904])
        #expect(try store.save(by: 4, id: StoreKey.number(5_000)) != nil)
        try store.checkpoint()
        try store.sweepSaves()
        #expect(try kept() == [100, 100])
        for number in UInt64(1)...6_001 {
            let isKnown = try store.save(by: 4, id: StoreKey.number(number)) != nil
            #expect(isKnown == (number > 5_901), "\(number)")
        }
        try store.sweepSaves()
        #expect(try kept() == [100, 100])
        #expect(try store.check().findings == [])
        store.close()
    }

    @Test func `the floor of ids does not sink if more are kept`() throws {
        var options = StoreOptions()
        options.savesKept = 3
        let bench = try StoreBench(options: options)
        for number in UInt64(1)...9 { try bench.apply([try bench.insert("Tag", number, [:])]) }
        let floor = bench.store.saveFloor
        #expect(floor == 8)
        try bench.store.checkpoint()
        bench.store.close()
        options.savesKept = 5
        let store = try openStore(bench.scratch.path, options)
        #expect(store.saveFloor == floor)
        var next = Transaction(content: .objects([]))
        next.position = store.appliedPosition + 1
        try store.apply(next)
        #expect(store.saveFloor == floor)
        store.close()
    }

    @Test func `an answer stored by an earlier release can be read`() throws {
        let known = answer(7, [ObjectReference(tag: 1, number: 2)])
        #expect(try IdempotencyRecord(bytes: known.bytes) == known)
        #expect(try IdempotencyRecord(bytes: Array(known.bytes.dropLast())).wrote)
        for count in 0..<known.bytes.count - 1 {
            #expect(throws: CodingError.self) {
                try IdempotencyRecord(bytes: Array(known.bytes[..<count]))
            }
        }
    }
}
