import TandemModel
import TestSupport
import Testing

@testable import TandemStore

/// Cached rows, and values read through open cursors, compared with LMDB.
@Suite(.ownThread) struct RowCacheTests {
    @Test func `law 6: a cached row is the row in the store`() throws {
        let bench = try StoreBench()
        var random = SplitMix64(seed: seed)
        // Numbers that share cache slots, and a note that is sometimes too long for the cache.
        let numbers = (0..<24).map { n in
            UInt64(n % 8 + 1) + UInt64(n / 8 * StoreLimits.cachedRows)
        }
        for step in 0..<600 {
            let number = numbers[Int(random.next() % UInt64(numbers.count))]
            let exists = try bench.store.stored(bench.reference("Player", number)) != nil
            let length = random.next() % 4 == 0 ? StoreLimits.cachedRowBytes : 8
            let note = PropertyValue.string(String(repeating: "n", count: length))
            switch (exists, random.next() % 8) {
            case (false, _):
                guard try bench.store.entity(ofNumber: number) == nil else { continue }
                try bench.apply([bench.insert("Player", number, ["note": note])])
            case (true, 0) where step > 300: try bench.apply([bench.delete("Player", number)])
            case (true, 1):
                // Reverts to the checkpoint, and applies everything again.
                try bench.store.revert()
                for one in bench.log where one.position > bench.store.appliedPosition {
                    try bench.store.apply(one)
                }
            case (true, 2): try bench.store.checkpoint()
            case (true, 3): try bench.apply([bench.update("Player", number, ["note": note])])
            default:
                let rating = PropertyValue.double(Double(step))
                try bench.apply([bench.update("Player", number, ["rating": rating])])
            }
            try compare(bench, numbers)
        }
    }

    private func compare(_ bench: StoreBench, _ numbers: [UInt64]) throws {
        let objects = try numbers.map { try bench.reference("Player", $0) }
        let kept = try objects.map { try bench.store.stored($0) }
        let read = try objects.map { try bench.storedInTable($0) }
        #expect(kept == read, "seed \(seed), position \(bench.store.appliedPosition)")
    }

    @Test func `law 6: a table contains the values put through its open cursor`() throws {
        let bench = try StoreBench()
        let table = bench.store.tables.links
        var random = SplitMix64(seed: seed)
        var expected: [UInt64: [UInt8]] = [:]
        for step in 0..<20_000 {
            let number = random.next() % 4_000
            let key = SmallKey(number: number)
            let open = try bench.store.current
            let value = [UInt8](repeating: UInt8(step & 255), count: Int(random.next() % 40 + 1))
            switch random.next() % 8 {
            case 0:
                #expect(try open.delete(table, key) == (expected[number] != nil))
                expected[number] = nil
            case 1, 2:
                let found = try open.get(table, key).map { Array($0) }
                #expect(found == expected[number], "seed \(seed), step \(step)")
            case 3:
                let isThere = try open.replace(table, key, count: value.count) {
                    $0.copyBytes(from: value)
                }
                #expect(isThere == (expected[number] != nil), "seed \(seed), step \(step)")
                if isThere { expected[number] = value }
            default:
                try open.put(table, StoreKey.number(number), value)
                expected[number] = value
            }
            if step % 5_000 == 4_999 { try bench.store.checkpoint() }
        }
        var found: [UInt64: [UInt8]] = [:]
        try bench.store.current.scan(table, from: []) { key, value in
            found[key.bigEndian(0, as: UInt64.self)] = Array(value)
            return true
        }
        #expect(found == expected, "seed \(seed)")
    }
}
