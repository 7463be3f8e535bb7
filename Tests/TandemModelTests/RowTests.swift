import TandemModel
import Testing

struct RowTests {
    @Test func valuesComeBackFromARow() throws {
        let seed = seed
        var random = RandomValue(seed)
        for name in ["Bucket", "Content", "ImageContent"] {
            let entity = try compiled(name)
            for _ in 0..<200 {
                let values = random.values(entity)
                let row = Row(values, of: entity, version: 3)
                #expect(row.values(in: entity) == values, "seed \(seed)")
                #expect(row.isValid(for: entity) && row.tag == entity.tag && row.modelVersion == 3)
                for slot in values.indices {
                    #expect(row.isNull(slot, in: entity) == values[slot].isNull)
                    #expect(row.reference(slot, in: entity) == values[slot].reference)
                }
            }
        }
    }

    @Test func textIsReadInPlace() throws {
        let entity = try compiled("Bucket")
        let slot = try #require(entity.slot(of: "name"))
        var values = entity.defaults
        values[slot] = .string("é!")
        let row = Row(values, of: entity, version: 1)
        #expect(row.withBytes(slot, in: entity) { Array($0) } == Array("é!".utf8))
        let toMany = try #require(entity.slot(of: "contents"))
        #expect(row.withBytes(toMany, in: entity) { $0.count } == nil)
    }

    @Test func inheritedPropertiesKeepTheirSlots() throws {
        let content = try compiled("Content")
        let image = try compiled("ImageContent")
        for property in content.properties {
            #expect(image.slot(of: property.name) == property.slot)
        }
    }

    @Test func differenceNamesWhatChanged() throws {
        let seed = seed
        var random = RandomValue(seed)
        let entity = try compiled("Content")
        for _ in 0..<200 {
            let before = random.values(entity)
            let slot = random.int(0..<before.count)
            let row = Row(before, of: entity, version: 1)
            let after = row.replacing([(slot, random.values(entity)[slot])], in: entity)
            let differs = before[slot] != after.value(slot, in: entity)
            let slots = after.difference(from: row, in: entity).slots
            // The text decides: -0.0 equals 0.0 but isn't the same value.
            #expect(slots == [slot] || slots.isEmpty, "seed \(seed)")
            #expect(!differs || slots == [slot], "seed \(seed)")
        }
    }

    @Test func damagedRowsAreRefusedOrReadable() throws {
        let seed = seed
        var random = RandomValue(seed)
        let entity = try compiled("Content")
        for _ in 0..<3_000 {
            var bytes = Row(random.values(entity), of: entity, version: 1).bytes
            for _ in 0..<random.int(1..<4) {
                bytes[random.int(0..<bytes.count)] = UInt8(random.int(0..<256))
            }
            if random.int(0..<3) == 0 { bytes.removeLast(random.int(0..<bytes.count)) }
            let row = Row(bytes: bytes)
            if row.isValid(for: entity) { _ = row.values(in: entity) }
        }
    }

    @Test func emptyBytesAreNoRow() throws {
        #expect(try !Row(bytes: []).isValid(for: compiled("Bucket")))
    }
}
