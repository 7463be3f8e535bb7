import TandemModel
import TestSupport
import Testing

/// Many rows in one buffer, compared with an array of the same objects.
@Suite struct StoredObjectsTests {
    private static func objects(_ count: Int, _ random: inout SplitMix64) -> [StoredObject] {
        (0..<count).map { _ in
            let bytes = (0..<Int(random.next() % 300)).map { UInt8(truncatingIfNeeded: $0) }
            return StoredObject(
                object: ObjectReference(tag: UInt16(random.next() % 9), number: random.next()),
                version: random.next(), row: Row(bytes: bytes))
        }
    }

    @Test("objects are read as added, in any order, and over the wire") func same() throws {
        var random = SplitMix64(seed: seed)
        for count in [0, 1, 2, 130] {
            let array = Self.objects(count, &random)
            let objects = StoredObjects(array)
            #expect(Array(objects) == array)
            let places = array.indices.shuffled(using: &random)
            let arranged = objects.arranged(places.count) { places[$0] }
            #expect(Array(arranged) == places.map { array[$0] })
            let lent = arranged.withRows { rows in
                places.indices.map { place in
                    let (object, version, row) = rows[place]
                    return StoredObject(
                        object: object, version: version, row: Row(bytes: Array(row.bytes)))
                }
            }
            #expect(lent == Array(arranged))
            for one in [objects, arranged] {
                var writer = ByteWriter()
                writer.uint8(7)
                one.encode(into: &writer)
                writer.uint8(9)
                var reader = ByteReader(writer.bytes)
                _ = try reader.uint8()
                let read = try StoredObjects(from: &reader)
                #expect(read == one)
                #expect(try reader.uint8() == 9)
                var again = ByteWriter()
                read.encode(into: &again)
                #expect(again.bytes == Array(writer.bytes.dropFirst().dropLast()))
            }
        }
    }

    @Test("the encoded form equals that of a list of objects") func listForm() {
        var random = SplitMix64(seed: seed)
        let array = Self.objects(5, &random)
        var (writer, list) = (ByteWriter(), ByteWriter())
        StoredObjects(array).encode(into: &writer)
        list.count(array.count)
        for object in array { object.encode(into: &list) }
        #expect(writer.bytes == list.bytes)
    }

    @Test("truncated bytes are an error") func cut() throws {
        var random = SplitMix64(seed: seed)
        var writer = ByteWriter()
        StoredObjects(Self.objects(3, &random)).encode(into: &writer)
        for length in 0..<writer.count {
            var reader = ByteReader(Array(writer.bytes[..<length]))
            #expect(throws: CodingError.self) { try StoredObjects(from: &reader) }
        }
    }

    @Test("a row is borrowed unchanged, and appending to decoded objects keeps them")
    func lent() throws {
        var random = SplitMix64(seed: seed)
        let array = Self.objects(4, &random)
        var writer = ByteWriter()
        StoredObjects(array[..<3]).encode(into: &writer)
        writer.uint64(1)
        var reader = ByteReader(writer.bytes)
        var objects = try StoredObjects(from: &reader)
        objects.append(array[3])
        #expect(Array(objects) == array)
        for index in objects.indices {
            let row = objects.withRow(at: index) { _, _, row in Array(row.bytes) }
            #expect(row == array[index].row.bytes)
        }
        var again = ByteWriter()
        objects.encode(into: &again)
        var second = ByteReader(again.bytes)
        #expect(try StoredObjects(from: &second) == objects)
    }
}
