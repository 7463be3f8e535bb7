import TandemModel
import TestSupport
import Testing

struct KeyEncoderTests {
    private func key(_ values: [(PropertyValue, Bool)]) -> [UInt8] {
        var encoder = KeyEncoder()
        for (value, ascending) in values { encoder.append(value, ascending: ascending) }
        return encoder.bytes
    }

    /// Compares values by the documented rules: null first.
    private func precedes(_ a: PropertyValue, _ b: PropertyValue) -> Bool {
        switch (a, b) {
        case (.null, _): !b.isNull
        case (_, .null): false
        case (.bool(let a), .bool(let b)): !a && b
        case (.int(let a), .int(let b)): a < b
        case (.double(let a), .double(let b)), (.date(let a), .date(let b)): a < b
        case (.decimal(let a), .decimal(let b)): a < b
        case (.string(let a), .string(let b)), (.url(let a), .url(let b)):
            Array(a.utf8).lexicographicallyPrecedes(Array(b.utf8))
        case (.data(let a), .data(let b)): a.lexicographicallyPrecedes(b)
        case (.uuid(let a), .uuid(let b)): a.uuidString < b.uuidString
        default: false
        }
    }

    @Test(arguments: AttributeType.allCases)
    func `keys sort by bytes in the order of their tuples`(_ type: AttributeType) {
        let seed = seed
        var random = RandomValue(seed)
        for _ in 0..<2_000 {
            let ascending = [random.int(0..<2) == 0, random.int(0..<2) == 0]
            let a = (0..<2).map { _ in
                random.int(0..<6) == 0 ? PropertyValue.null : random.value(type)
            }
            var b = (0..<2).map { _ in
                random.int(0..<6) == 0 ? PropertyValue.null : random.value(type)
            }
            if random.int(0..<2) == 0 { b[0] = a[0] }
            let expected = order(a, b, ascending)
            let left = key(Array(zip(a, ascending)))
            let right = key(Array(zip(b, ascending)))
            let found =
                left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
            #expect(found == expected, "seed \(seed): \(a) \(b) \(ascending)")
        }
    }

    private func order(_ a: [PropertyValue], _ b: [PropertyValue], _ ascending: [Bool]) -> Int {
        for index in a.indices {
            let sign = ascending[index] ? 1 : -1
            if precedes(a[index], b[index]) { return -sign }
            if precedes(b[index], a[index]) { return sign }
        }
        return 0
    }

    @Test func `a slot is encoded like its value`() throws {
        let seed = seed
        var random = RandomValue(seed)
        let entity = try compiled("Content")
        for _ in 0..<200 {
            let values = random.values(entity)
            let row = Row(values, of: entity, version: 1)
            for slot in values.indices {
                var bySlot = KeyEncoder()
                bySlot.append(slot, of: row, in: entity, ascending: false)
                #expect(bySlot.bytes == key([(values[slot], false)]), "seed \(seed): slot \(slot)")
            }
        }
    }

    @Test func `a text sorts before longer texts that begin with it`() {
        #expect(
            key([(.string("a"), true)]).lexicographicallyPrecedes(key([(.string("a\0"), true)])))
        #expect(
            key([(.string("a\0"), true)]).lexicographicallyPrecedes(key([(.string("ab"), true)])))
    }
}
