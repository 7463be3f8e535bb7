import TandemModel
import TestSupport
import Testing

struct CodingTests {
    @Test(arguments: AttributeType.allCases)
    func `values survive encoding and decoding`(_ type: AttributeType) throws {
        let seed = seed
        var random = RandomValue(seed)
        for _ in 0..<200 {
            let value = random.value(type)
            var writer = ByteWriter()
            value.encode(into: &writer)
            var reader = ByteReader(writer.bytes)
            #expect(try PropertyValue(from: &reader) == value, "seed \(seed)")
            #expect(reader.isAtEnd)
        }
    }

    @Test(arguments: [0, 1, 127, 128, 300, 1 << 32, UInt64.max])
    func `varints survive encoding and decoding`(_ value: UInt64) throws {
        var writer = ByteWriter()
        writer.varint(value)
        var reader = ByteReader(writer.bytes)
        #expect(try reader.varint() == value)
    }

    @Test func `counts beyond the remaining bytes are refused`() {
        var reader = ByteReader([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01])
        #expect(throws: CodingError.self) { try reader.blob() }
        var endless = ByteReader(Array(repeating: 0xff, count: 20))
        #expect(throws: CodingError.self) { try endless.varint() }
    }

    @Test func `text that is not UTF-8 is refused`() {
        var reader = ByteReader([2, 0xc3, 0x28])
        #expect(throws: CodingError(expected: "UTF-8", offset: 0)) { try reader.string() }
    }

    // MARK: Transactions

    private func transaction(_ random: inout RandomValue) throws -> Transaction {
        let model = try CompiledModel(sampleModel)
        var changes: [Change] = []
        for entity in model.entities {
            for number in 0..<UInt64(random.int(0..<4)) {
                let object = ObjectReference(
                    tag: entity.tag, number: number * 10 + UInt64(entity.tag))
                let row = Row(random.values(entity), of: entity, version: 1)
                let mask = PropertyMask([0])
                let link = LinkChange(slot: 0, target: object, isAdded: true)
                switch random.int(0..<4) {
                case 0:
                    changes.append(Change(.insert, object, changed: mask, row: row, links: [link]))
                case 1:
                    let before = [SlotValue(slot: 1, value: .string("old"))]
                    changes.append(
                        Change(.update, object, changed: mask, row: row, before: before))
                case 2: changes.append(Change(.delete, object, changed: mask, deleted: row))
                default: changes.append(Change(.touch, object, changed: mask, links: [link]))
                }
            }
        }
        changes.sort { ($0.object.tag, $0.object.number) < ($1.object.tag, $1.object.number) }
        let transaction = Transaction(
            position: 7, time: -5, principal: Principal(author: "me", uid: 3), saveID: [1, 2],
            contentHash: StableHash([1]), batch: progress(&random), content: .objects(changes))
        return transaction.withOutcomes(outcomes(of: transaction, &random))
    }

    private func progress(_ random: inout RandomValue) -> BatchProgress? {
        guard random.int(0..<3) == 0 else { return nil }
        let reached = ObjectReference(tag: 3, number: UInt64(random.int(0..<9)))
        return BatchProgress(reached: reached, done: 4, hasEnded: random.int(0..<2) == 0)
    }

    /// Returns the transaction's inserts, sometimes reordered, with existing objects and nil in
    /// between.
    private func outcomes(
        of transaction: Transaction, _ random: inout RandomValue
    ) -> [ObjectReference?] {
        var outcomes: [ObjectReference?] = transaction.insertedObjects
        if random.int(0..<3) == 0 { outcomes.reverse() }
        for _ in 0..<random.int(0..<3) {
            let existing = ObjectReference(tag: 1, number: 1_000 + UInt64(random.int(0..<9)))
            outcomes.insert(
                random.int(0..<2) == 0 ? nil : existing, at: random.int(0..<outcomes.count + 1))
        }
        return outcomes
    }

    @Test func `law 3: outcomes are derived from inserts and exceptions`() throws {
        let seed = seed
        var random = RandomValue(seed)
        for _ in 0..<300 {
            var transaction = try transaction(&random)
            let outcomes = outcomes(of: transaction, &random)
            transaction = transaction.withOutcomes(outcomes)
            #expect(try EncodedTransaction(transaction).decoded().outcomes == outcomes, "\(seed)")
        }
        var plain = try transaction(&random).withOutcomes([])
        plain.batch = nil
        #expect(EncodedTransaction(plain).bytes[4] == 1)
    }

    @Test func `transactions survive encoding and decoding`() throws {
        let seed = seed
        var random = RandomValue(seed)
        for _ in 0..<100 {
            let transaction = try transaction(&random)
            let encoded = EncodedTransaction(transaction)
            #expect(try encoded.decoded() == transaction, "seed \(seed)")
            #expect(try EncodedTransaction(bytes: encoded.bytes) == encoded)
            #expect(try encoded.placed(at: 9, time: 8).decodedHeader().position == 9)
        }
    }

    @Test func `filtering keeps the requested entities`() throws {
        var random = RandomValue(seed)
        let transaction = try transaction(&random)
        let tag = try #require(transaction.changes.first?.object.tag)
        let filtered = try #require(EncodedTransaction(transaction).filtered { $0 == tag })
        #expect(try filtered.changes() == transaction.changes.filter { $0.object.tag == tag })
        #expect(EncodedTransaction(transaction).filtered { _ in false } == nil)
    }

    @Test func `a transaction without changes concerns no entity`() throws {
        let end = Transaction(
            position: 3, saveID: [1], batch: BatchProgress(done: 2, hasEnded: true),
            content: .objects([]))
        let encoded = EncodedTransaction(end)
        #expect(try EncodedTransaction(bytes: encoded.bytes).decoded() == end)
        #expect(encoded.filtered { _ in true } == nil)
    }

    @Test func `damaged transactions never trap`() throws {
        let seed = seed
        var random = RandomValue(seed)
        let model = try CompiledModel(sampleModel)
        for _ in 0..<Volume.of(500, deep: 5_000) {
            var bytes = EncodedTransaction(try transaction(&random)).bytes
            for _ in 0..<random.int(1..<4) {
                bytes[random.int(0..<bytes.count)] = UInt8(random.int(0..<256))
            }
            if random.int(0..<3) == 0 { bytes.removeLast(random.int(0..<bytes.count)) }
            guard let encoded = try? EncodedTransaction(bytes: bytes),
                let decoded = try? encoded.decoded()
            else { continue }
            _ = decoded.outcomes
            for change in decoded.changes {
                guard let entity = model.entity(tagged: change.object.tag) else { continue }
                if change.isValid(for: entity) { _ = change.rowBefore(in: entity) }
            }
        }
    }

    // MARK: Names

    @Test func `ids and positions survive printing and parsing`() {
        let id = ObjectID(entity: "Team", number: 33)
        #expect(ObjectID("Team/33") == id && id.description == "Team/33")
        for text in ["Team", "Team/", "/3", "Team/-3", "Team/3x", "Team/99999999999999999999"] {
            #expect(ObjectID(text) == nil)
        }
        let position = Position(log: LogID(high: 1, low: .max), epoch: 4, number: 18)
        #expect(Position(position.description) == position)
        #expect(Position("18@x") == nil && Position("@1-") == nil && Position("") == nil)
    }

    @Test func `the stable hash is SipHash`() {
        #expect(StableHash([]).description == "a3817f04ba25a8e66df67214c7550293")
        #expect(StableHash("a3817f04ba25a8e66df67214c7550293") == StableHash([]))
        #expect(StableHash([0]) != StableHash([0, 0]))
    }
}
