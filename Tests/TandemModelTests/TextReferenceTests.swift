import TandemIO
import Testing

@testable import TandemModel

struct TextReferenceTests {
    private let text = "ab" + String(repeating: "ä", count: 40_000)

    private func entity() throws -> CompiledEntity {
        let model = ManagedObjectModel { Entity("Page") { Attribute("title", .string) } }
        return try #require(try CompiledModel(model).entity(named: "Page"))
    }

    @Test func `a row has a reference to a long text, and reports it`() throws {
        let entity = try entity()
        let reference = TextReference(of: text)
        let row = Row([.string(text)], of: entity, version: 1)
        #expect(row.isValid(for: entity) && row.hasBlobs(in: entity))
        #expect(row.uncheckedValue(0, in: entity) == .longText(reference))
        #expect(row.blobs(in: entity) == [BlobReference(of: Array(text.utf8))])
        #expect(reference.length == text.utf8.count && reference.matches(Array(text.utf8)))
        #expect(Row(row.values(in: entity), of: entity, version: 1) == row)
        let limit = String(repeating: "x", count: BlobReference.inlineLimit)
        let short = row.replacing([(slot: 0, value: .string(limit))], in: entity)
        #expect(
            !short.hasBlobs(in: entity) && short.uncheckedValue(0, in: entity) == .string(limit))
    }

    @Test func `damaged rows with a reference are refused or readable`() throws {
        let entity = try entity()
        let row = Row([.string(text)], of: entity, version: 1)
        for index in row.bytes.indices {
            for bit in 0..<8 {
                var bytes = row.bytes
                bytes[index] ^= 1 << UInt8(bit)
                let damaged = Row(bytes: bytes)
                if damaged.isValid(for: entity) { _ = damaged.values(in: entity) }
            }
        }
    }

    @Test func `values survive encoding and decoding, and truncated ones are refused`() throws {
        let value = PropertyValue.longText(TextReference(of: text))
        var writer = ByteWriter()
        value.encode(into: &writer)
        var reader = ByteReader(writer.bytes)
        #expect(try PropertyValue(from: &reader) == value)
        var cut = ByteReader(Array(writer.bytes.dropLast()))
        #expect(throws: CodingError.self) { try PropertyValue(from: &cut) }
        #expect(value.json == PropertyValue.blob(BlobReference(of: Array(text.utf8))).json)
    }

    @Test func `the index key of a reference has the same prefix as the whole text's`() throws {
        var whole = KeyEncoder()
        whole.append(bytes: text.utf8)
        let entity = try entity()
        let row = Row([.string(text)], of: entity, version: 1)
        var key = KeyEncoder()
        key.append(0, of: row, in: entity)
        #expect(key.bytes.prefix(480) == whole.bytes.prefix(480))
        var value = KeyEncoder()
        value.append(.string(text))
        #expect(value.bytes == key.bytes)
    }

    @Test func `the name of a section is text, and differs for another text`() {
        let other = TextReference(of: text + "!")
        let name = TextReference(of: text).name
        #expect(name.hasPrefix("abä") && !name.contains("\u{fffd}") && name != other.name)
    }
}
