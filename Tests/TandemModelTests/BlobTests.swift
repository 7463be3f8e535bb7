import Testing

@testable import TandemModel

struct BlobTests {
    private let page = ManagedObjectModel {
        Entity("Page") {
            Attribute("title", .string)
            Attribute("scan", .data)
            Attribute("thumb", .data)
        }
    }

    private func entity() throws -> CompiledEntity {
        try #require(try CompiledModel(page).entity(named: "Page"))
    }

    private func content(_ byte: UInt8, _ count: Int = 70_000) -> [UInt8] {
        [UInt8](repeating: byte, count: count)
    }

    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            String(repeating: "a", count: 1_000),
            "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"
        ),
    ]) func theHashIsSHA256(_ text: String, _ expected: String) {
        let digits = Array("0123456789abcdef")
        let digest = SHA256.digest(of: Array(text.utf8))
        #expect(
            String(digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }) == expected)
    }

    @Test func `a row holds a long value by reference and a short one inline`() throws {
        let entity = try entity()
        let long = content(1)
        let short = content(2, BlobReference.inlineLimit)
        var values = entity.defaults
        values[try #require(entity.slot(of: "title"))] = .string("t")
        values[try #require(entity.slot(of: "scan"))] = .data(long)
        values[try #require(entity.slot(of: "thumb"))] = .data(short)
        let row = Row(values, of: entity, version: 1)
        let reference = BlobReference(of: long)
        #expect(row.isValid(for: entity))
        #expect(row.blobs(in: entity) == [reference])
        #expect(
            row.uncheckedValue(try #require(entity.slot(of: "scan")), in: entity)
                == .blob(reference))
        #expect(
            row.uncheckedValue(try #require(entity.slot(of: "thumb")), in: entity) == .data(short))
        #expect(
            row.uncheckedValue(try #require(entity.slot(of: "title")), in: entity) == .string("t"))
        #expect(reference.length == 70_000 && reference.isReference(to: long))
        #expect(!reference.isReference(to: short) && !reference.isReference(to: content(3)))
        let again = Row(row.values(in: entity), of: entity, version: 1)
        #expect(again == row)
    }

    @Test func `content that looks like a reference is a different value`() throws {
        let entity = try entity()
        let slot = try #require(entity.slot(of: "scan"))
        let reference = BlobReference(of: content(1))
        var values = entity.defaults
        values[slot] = .blob(reference)
        let blob = Row(values, of: entity, version: 1)
        values[slot] = .data(reference.bytes)
        let data = Row(values, of: entity, version: 1)
        #expect(!blob.hasSameValue(as: data, slot, in: entity) && data.blobs(in: entity).isEmpty)
    }

    @Test func `a damaged reference makes the row invalid`() throws {
        let entity = try entity()
        var values = entity.defaults
        values[try #require(entity.slot(of: "scan"))] = .data(content(1))
        let row = Row(values, of: entity, version: 1)
        for index in row.bytes.indices {
            for bit in 0..<8 {
                var bytes = row.bytes
                bytes[index] ^= 1 << UInt8(bit)
                let damaged = Row(bytes: bytes)
                // A row that claims to be valid must be readable without a trap.
                if damaged.isValid(for: entity) { _ = damaged.values(in: entity) }
            }
        }
        var short = row.bytes
        short.removeLast()
        #expect(!Row(bytes: short).isValid(for: entity))
    }

    @Test func `a transaction has its blobs for the journal but not for sessions`() throws {
        let blob = Blob(content(9))
        let entity = try entity()
        let row = Row(entity.defaults, of: entity, version: 1)
        let object = ObjectReference(tag: entity.tag, number: 1)
        let insert = Change(.insert, object, changed: PropertyMask(), row: row)
        let transaction = Transaction(position: 3, content: .objects([insert]), blobs: [blob])
        let encoded = EncodedTransaction(transaction)
        #expect(try encoded.decoded() == transaction)
        #expect(encoded.blobBytes > 70_000 && encoded.withoutBlobs.blobBytes == 0)
        let reread = try EncodedTransaction(bytes: encoded.bytes)
        #expect(try reread.blobs() == [blob])
        #expect(throws: CodingError.self) {
            _ = try EncodedTransaction(bytes: Array(encoded.bytes.dropLast()))
        }
    }

    @Test func `references, keys and predicates have the same order`() throws {
        let values: [PropertyValue] = [
            .data([1]), .data(content(1)), .data(content(1, 80_000)), .data(content(2)), .data([3]),
        ]
        let keys = values.map { value in
            var key = KeyEncoder()
            key.append(value.inRow)
            return key.bytes
        }
        for (value, key) in zip(values, keys) {
            var whole = KeyEncoder()
            whole.append(value)
            #expect(whole.bytes == key)
        }
        #expect(Set(keys).count == values.count)
        #expect(keys[0].lexicographicallyPrecedes(keys[1]))
        #expect(keys[3].lexicographicallyPrecedes(keys[4]))
    }
}
