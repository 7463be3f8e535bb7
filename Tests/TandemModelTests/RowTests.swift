import TandemModel
import TestSupport
import Testing

struct RowTests {
    @Test func `a row returns its values`() throws {
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

    @Test func `a view reads the values of its row`() throws {
        var random = RandomValue(seed)
        let entity = try compiled("Content")
        for _ in 0..<200 {
            let row = Row(random.values(entity), of: entity, version: 3)
            let other = Row(random.values(entity), of: entity, version: 3)
            // At an unaligned address.
            ([0] + row.bytes).withUnsafeBytes { bytes in
                let view = RowView(UnsafeRawBufferPointer(rebasing: bytes[1...]))
                #expect(view.hasShape(of: entity) && view.tag == entity.tag)
                for slot in entity.properties.indices {
                    #expect(view.value(slot, in: entity) == row.uncheckedValue(slot, in: entity))
                    let isSame = other.withView { view.hasSameValue(as: $0, slot, in: entity) }
                    #expect(isSame == row.hasSameValue(as: other, slot, in: entity))
                    var (one, two) = (KeyEncoder(), KeyEncoder())
                    one.append(slot, of: view, in: entity, ascending: slot % 2 == 0)
                    two.append(row.uncheckedValue(slot, in: entity), ascending: slot % 2 == 0)
                    #expect(one.bytes == two.bytes, "seed \(seed)")
                }
            }
        }
    }

    @Test func `a column read in place equals its value`() throws {
        let seed = seed
        var random = RandomValue(seed)
        for name in ["Bucket", "Content", "ImageContent"] {
            let entity = try compiled(name)
            for _ in 0..<200 {
                let values = random.values(entity)
                let row = Row(values, of: entity, version: 3)
                // At an unaligned address.
                ([0] + row.bytes).withUnsafeBytes { bytes in
                    let view = RowView(UnsafeRawBufferPointer(rebasing: bytes[1...]))
                    for (slot, value) in values.enumerated() {
                        guard let column = entity.column(slot) else {
                            #expect(entity.properties[slot].isToMany)
                            continue
                        }
                        #expect(view.isNull(column) == value.isNull, "seed \(seed)")
                        #expect(InPlace(view, column) == InPlace(value), "seed \(seed)")
                    }
                }
            }
        }
    }

    @Test func `a text outside the row is not read in place`() throws {
        let entity = try compiled("Content")
        let (name, site) = (
            try #require(entity.slot(of: "name")), try #require(entity.slot(of: "site"))
        )
        var values = entity.defaults
        values[name] = .string(String(repeating: "a", count: BlobReference.inlineLimit + 1))
        values[site] = .url("b:")
        let row = Row(values.map(\.inRow), of: entity, version: 1)
        #expect(row.isValid(for: entity) && row.hasBlobs(in: entity))
        let column = try #require(entity.column(name))
        row.withView { #expect($0.text(column) == nil && !$0.isNull(column)) }
        #expect(row.uncheckedValue(site, in: entity) == .url("b:"))
    }

    @Test func `invalid UTF-8 is found at any offset`() throws {
        let entity = try compiled("Bucket")
        let slot = try #require(entity.slot(of: "name"))
        for length in 1..<24 {
            for place in 0..<length {
                for wrong: [UInt8] in [[0x80], [0xc3], [0xff], [0xe2, 0x82], [0xed, 0xa0, 0x80]] {
                    guard place + wrong.count <= length else { continue }
                    var values = entity.defaults
                    values[slot] = .string(String(repeating: "a", count: length))
                    var bytes = Row(values, of: entity, version: 1).bytes
                    #expect(Row(bytes: bytes).isValid(for: entity))
                    let start = bytes.count - length + place
                    bytes.replaceSubrange(start..<(start + wrong.count), with: wrong)
                    #expect(!Row(bytes: bytes).isValid(for: entity), "\(length) \(place) \(wrong)")
                    guard place + 2 <= length else { continue }
                    bytes.replaceSubrange(
                        (bytes.count - length)..., with: Array(repeating: 97, count: length))
                    bytes.replaceSubrange(start..<(start + 2), with: [0xc3, 0xa9])
                    #expect(Row(bytes: bytes).isValid(for: entity), "\(length) \(place)")
                }
            }
        }
    }

    @Test func `a truncated row does not have its entity's shape`() throws {
        var random = RandomValue(seed)
        let entity = try compiled("Content")
        let row = Row(random.values(entity), of: entity, version: 3)
        for count in 0..<row.bytes.count {
            #expect(!Row(bytes: Array(row.bytes[..<count])).hasShape(of: entity))
        }
    }

    @Test func `a row that ends before the column is not patched`() async throws {
        let entity = try compiled("Content")
        let row = Row(entity.defaults, of: entity, version: 1)
        let slot = try #require(entity.slot(of: "count"))
        var patch = RowPatch(row, version: 2)
        patch.set(.int(2), slot, in: entity)
        #expect(
            patch.row
                == row.replacing([SlotValue(slot: slot, value: .int(2))], in: entity, version: 2))
        await #expect(processExitsWith: .failure) {
            let entity = try compiled("Content")
            var patch = RowPatch(Row(bytes: [0, 0, 0, 0, 0, 0, 0]), version: 1)
            patch.set(.int(2), entity.slot(of: "count") ?? 0, in: entity)
        }
        await #expect(processExitsWith: .failure) {
            _ = RowPatch(Row(bytes: [1]), version: 1)
        }
    }

    @Test func `text is read in place`() throws {
        let entity = try compiled("Bucket")
        let slot = try #require(entity.slot(of: "name"))
        var values = entity.defaults
        values[slot] = .string("é!")
        let row = Row(values, of: entity, version: 1)
        #expect(row.withBytes(slot, in: entity) { Array($0) } == Array("é!".utf8))
        let toMany = try #require(entity.slot(of: "contents"))
        #expect(row.withBytes(toMany, in: entity) { $0.count } == nil)
    }

    @Test func `inherited properties keep their slots`() throws {
        let content = try compiled("Content")
        let image = try compiled("ImageContent")
        for property in content.properties {
            #expect(image.slot(of: property.name) == property.slot)
        }
    }

    @Test func `a difference names the changed properties`() throws {
        let seed = seed
        var random = RandomValue(seed)
        let entity = try compiled("Content")
        for _ in 0..<200 {
            let before = random.values(entity)
            let slot = random.int(0..<before.count)
            let row = Row(before, of: entity, version: 1)
            let after = row.replacing([(slot, random.values(entity)[slot])], in: entity)
            let differs = before[slot] != after.uncheckedValue(slot, in: entity)
            let slots = after.difference(from: row, in: entity).slots
            // Representations are compared: -0.0 equals 0.0 but is a different value.
            #expect(slots == [slot] || slots.isEmpty, "seed \(seed)")
            #expect(!differs || slots == [slot], "seed \(seed)")
        }
    }

    @Test func `law 6: a row with some values replaced equals the row made of all values`() throws {
        let seed = seed
        var random = RandomValue(seed)
        for name in ["Bucket", "Content", "ImageContent"] {
            let entity = try compiled(name)
            for _ in 0..<300 {
                var values = random.values(entity)
                let row = Row(values, of: entity, version: 1)
                let new = random.values(entity)
                let slots = new.indices.filter { _ in random.int(0..<3) == 0 }
                for slot in slots { values[slot] = new[slot] }
                let changes = slots.map { SlotValue(slot: $0, value: new[$0]) }
                let patched = row.replacing(changes, in: entity, version: 2)
                #expect(patched == Row(values, of: entity, version: 2), "seed \(seed)")
            }
        }
    }

    @Test
    func `law 6: a row with fixed-width values written in place equals the row made of all values`()
        throws
    {
        let seed = seed
        var random = RandomValue(seed)
        for name in ["Bucket", "Content", "ImageContent"] {
            let entity = try compiled(name)
            for _ in 0..<300 {
                var values = random.values(entity)
                let row = Row(values, of: entity, version: 1)
                var patch = RowPatch(row, version: 2)
                // Some slots are set twice.
                for _ in 0..<6 {
                    let slot = random.int(0..<values.count)
                    guard entity.isFixed(slot) else { continue }
                    values[slot] = random.values(entity)[slot]
                    patch.set(values[slot], slot, in: entity)
                }
                #expect(patch.row == Row(values, of: entity, version: 2), "seed \(seed)")
                #expect(row.modelVersion == 1)
            }
        }
    }

    @Test func `law 6: a blob stays a blob if another value of its row changes`() throws {
        let entity = try #require(
            CompiledModel(
                ManagedObjectModel {
                    Entity("File") {
                        Attribute("content", .data)
                        Attribute("name", .string)
                        Attribute("other", .data)
                    }
                }
            ).entity(named: "File"))
        let long = PropertyValue.data([UInt8](repeating: 7, count: BlobReference.inlineLimit + 1))
        let values = [long, .string("a"), .data([1])]
        let row = Row(values, of: entity, version: 1)
        let named = row.replacing(
            [SlotValue(slot: 1, value: .string("longer"))], in: entity, version: 1)
        #expect(named == Row([long, .string("longer"), .data([1])], of: entity, version: 1))
        let swapped = row.replacing(
            [SlotValue(slot: 0, value: .data([2])), SlotValue(slot: 2, value: long)], in: entity,
            version: 1)
        #expect(swapped == Row([.data([2]), .string("a"), long], of: entity, version: 1))
    }

    @Test func `damaged rows are refused or readable`() throws {
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

    @Test func `empty bytes are not a row`() throws {
        #expect(try !Row(bytes: []).isValid(for: compiled("Bucket")))
    }
}

/// The value of a column, as each of the types that are read in place.
private struct InPlace: Equatable {
    var bool: Bool?
    var int: Int64?
    var double: UInt64?
    var date: UInt64?
    var text: String?
    var reference: ObjectReference?

    init(_ row: RowView, _ column: RowColumn) {
        (bool, int, text) = (row.bool(column), row.int(column), row.text(column))
        (double, date) = (row.double(column)?.bitPattern, row.date(column)?.bitPattern)
        reference = row.reference(column)
    }

    init(_ value: PropertyValue) {
        switch value {
        case .bool(let value): bool = value
        case .int(let value): int = value
        case .double(let value): double = value.bitPattern
        case .date(let value): date = value.bitPattern
        case .string(let value): text = value
        case .reference(let value): reference = value
        default: break
        }
    }
}
