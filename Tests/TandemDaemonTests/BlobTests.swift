import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TestSupport
import Testing

@testable import TandemDaemon

private let pages = ManagedObjectModel {
    Entity("Page", uniqueness: [["key"]], indexes: [["scan"]]) {
        Attribute("key", .string)
        Attribute("scan", .data)
    }
}

@Suite(.ownThread) struct BlobTests {
    let bench: CommitBench

    init() throws { bench = try CommitBench(model: pages) }

    private func content(_ byte: UInt8, _ count: Int = 100_000) -> [UInt8] {
        [UInt8](repeating: byte, count: count)
    }

    private func blobLines() throws -> [String] {
        try dump(bench.store).filter { $0.hasPrefix("blob ") }
    }

    @Test func `a long value is stored once, however many rows have it`() throws {
        let scan = content(1)
        let reference = BlobReference(of: scan)
        try bench.save([
            bench.insert("Page", 1, ["scan": .data(scan)]),
            bench.insert("Page", 2, ["scan": .data(scan)]),
        ])
        try bench.save([bench.insert("Page", 3, ["scan": .blob(reference)])])
        #expect(try bench.value("Page", 3, "scan") == .blob(reference))
        #expect(try bench.store.content(of: reference) == scan)
        #expect(try blobLines().map { $0.split(separator: " ").last } == ["3"])
        let transactions = try bench.transactions()
        #expect(transactions.map(\.blobs.count) == [0, 1, 0])
    }

    @Test func `unreferenced content stays until the journal no longer has it`() throws {
        let scan = content(1)
        let reference = BlobReference(of: scan)
        try bench.save([bench.insert("Page", 1, ["scan": .data(scan)])])
        try bench.save([bench.update("Page", 1, ["scan": .data(content(2))])])
        let last = bench.committer.position
        #expect(try blobLines().count == 1)
        #expect(try bench.store.content(of: reference) == scan)
        #expect(try bench.store.sweepBlobs(below: last) == 0)
        #expect(try bench.store.sweepBlobs(below: last + 1) == 1)
        #expect(try bench.store.content(of: reference) == nil)
        // A later save of the same content stores it again.
        try bench.save([bench.update("Page", 1, ["scan": .data(scan)])])
        #expect(try bench.store.content(of: reference) == scan)
    }

    @Test func `law 7: unused contents are removed oldest first, up to the given number`() throws {
        for byte in UInt8(1)...6 {
            try bench.save([bench.insert("Page", UInt64(byte), ["scan": .data(content(byte))])])
            try bench.save([bench.delete("Page", UInt64(byte))])
        }
        let end = bench.committer.position + 1
        #expect(try bench.store.sweepBlobs(below: end, atMost: 4) == 4)
        for byte in UInt8(1)...6 {
            let content = try bench.store.content(of: BlobReference(of: content(byte)))
            #expect((content == nil) == (byte <= 4), "\(byte)")
        }
        #expect(try bench.store.sweepBlobs(below: end, atMost: 4) == 2)
    }

    @Test func `law 6: blobs are the same after a replay from the journal`() throws {
        var random = SplitMix64(seed: seed)
        var alive: Set<UInt64> = []
        for number in 1...60 as ClosedRange<UInt64> {
            let scan = PropertyValue.data(content(UInt8.random(in: 0..<6, using: &random)))
            if let old = alive.randomElement(using: &random), Bool.random(using: &random) {
                let isDeleted = Bool.random(using: &random)
                try bench.save([
                    isDeleted
                        ? bench.delete("Page", old) : bench.update("Page", old, ["scan": scan])
                ])
                if isDeleted { alive.remove(old) }
            } else {
                try bench.save([bench.insert("Page", number, ["scan": scan])])
                alive.insert(number)
            }
            if number % 7 == 0 { try bench.crash() }
            if number % 11 == 0 { try bench.store.sweepBlobs(below: bench.committer.position) }
        }
        let scratch = try Scratch(inMemory: true)
        let copy = try Store.open(
            path: scratch.path, newIdentity: StoreIdentity(log: LogID(high: 1, low: 2), epoch: 1))
        for transaction in try bench.transactions() { try copy.apply(transaction) }
        #expect(try dump(copy) == dump(bench.store), "seed \(seed)")
        copy.close()
    }

    @Test func `rows are found by the content of a long value`() throws {
        try bench.save([bench.insert("Page", 1, ["scan": .data(content(1))])])
        try bench.save([bench.insert("Page", 2, ["scan": .data(content(2))])])
        let request = FetchDescriptor(
            entity: "Page",
            predicate: try ObjectPredicate(
                format: "scan == %@", arguments: [.value(.data(content(2)))]))
        let found = try bench.store.fetch(CompiledRequest(request, in: try bench.model))
        #expect(found.objects.map(\.object.number) == [2])
    }

    @Test(arguments: [0, 63, 96])
    func `law 7: a reference with a content's hash but another beginning or length is refused`(
        _ offset: Int
    ) throws {
        let scan = content(1)
        try bench.save([bench.insert("Page", 1, ["scan": .data(scan)])])
        var bytes = BlobReference(of: scan).bytes
        bytes[offset] ^= 1
        let forged = try #require(BlobReference(bytes: bytes))
        let error = try bench.refusal([bench.insert("Page", 2, ["scan": .blob(forged)])])
        #expect(error?.code == .validation)
    }

    @Test func `law 3: contents are applied again after a rollback if the journal is full`() throws
    {
        let clock = ManualClock()
        let bench = try CommitBench(model: pages, clock: clock)
        func save(_ number: UInt64) throws -> TandemError? {
            let scan = content(UInt8(number))
            return try bench.refusal([bench.insert("Page", number, ["scan": .data(scan)])])
        }
        for number in 1...6 as ClosedRange<UInt64> { #expect(try save(number) == nil) }
        let expected = try dump(bench.store)
        bench.disk.faults.writesUntilFailure = 1
        bench.disk.faults.writeErrno = 28
        #expect(try save(7)?.code == .readOnly)
        #expect(bench.store.checkpointPosition < bench.store.appliedPosition)
        #expect(try dump(bench.store) == expected)
        #expect(try bench.store.check().isClean)
        try bench.crash()
        #expect(try dump(bench.store) == expected)
    }

    @Test func `law 7: reads of long texts count toward the budget`() throws {
        let text = long("a")
        try bench.save([bench.insert("Page", 1, ["key": .string(text)])])
        let reference = TextReference(of: text)
        var options = StoreOptions()
        options.objectReads = 2_000 * (1 + reference.length / 64)
        let budget = ReadBudget(options)
        let reader = StoreReader(bench.store, budget: budget)
        budget.beginObject()
        let reads = (0..<4_000).prefix { _ in reader.content(of: reference) != nil }.count
        #expect(reads == 2_000)
        #expect(budget.interruption?.code == .tooMuchOfObject)
    }

    @Test func `a reference to unknown content is refused`() throws {
        let error = try bench.refusal([
            bench.insert("Page", 1, ["scan": .blob(BlobReference(of: content(1)))])
        ])
        #expect(error?.code == .validation)
    }

    @Test(arguments: ["key", "scan"])
    func `an oversized value is refused with the limit`(_ property: String) throws {
        let content = content(120, DaemonLimits().blobBytes + 1)
        let value = property == "key" ? PropertyValue.string(text(content)) : .data(content)
        let refusal = try bench.refusal([bench.insert("Page", 1, [property: value])])
        #expect(refusal?.problems.first?.property == property)
        #expect(refusal?.problems.first?.message.contains("16777216") == true)
    }

    // MARK: Texts

    private func text(_ content: [UInt8]) -> String { String(decoding: content, as: UTF8.self) }

    private func long(_ beginning: String, _ end: String = "") -> String {
        beginning + String(repeating: "-", count: 70_000) + end
    }

    private func found(_ format: String, _ arguments: [PredicateArgument] = []) throws -> [UInt64] {
        let request = FetchDescriptor(
            entity: "Page", predicate: try ObjectPredicate(format: format, arguments: arguments),
            sort: [SortComponent("key")])
        return try bench.store.fetch(CompiledRequest(request, in: try bench.model))
            .objects.map(\.object.number)
    }

    @Test func `a text grows beyond the limit of a row and shrinks again`() throws {
        let content = content(97)
        try bench.save([
            bench.insert("Page", 1, ["key": .string("a"), "scan": .data(content)])
        ])
        // The same bytes, whether stored as text or as data, share one blob.
        try bench.save([bench.update("Page", 1, ["key": .string(text(content))])])
        let reference = TextReference(of: text(content))
        #expect(try bench.value("Page", 1, "key") == .longText(reference))
        #expect(try blobLines().map { $0.split(separator: " ").last } == ["2"])
        #expect(try bench.store.content(of: reference.blob) == content)
        try bench.save([bench.update("Page", 1, ["key": .string("b"), "scan": .null])])
        #expect(try bench.value("Page", 1, "key") == .string("b"))
        #expect(try blobLines().isEmpty)
        #expect(try bench.store.check().isClean)
    }

    @Test func `law 6: long texts are the same after a replay from the journal`() throws {
        var random = SplitMix64(seed: seed)
        var alive: [UInt64] = []
        for number in 1...40 as ClosedRange<UInt64> {
            let name = "\(number)"
            let key = PropertyValue.string(Bool.random(using: &random) ? long(name) : name)
            if let old = alive.randomElement(using: &random), Bool.random(using: &random) {
                try bench.save([bench.update("Page", old, ["key": key])])
            } else {
                try bench.save([bench.insert("Page", number, ["key": key])])
                alive.append(number)
            }
            if number % 9 == 0 { try bench.crash() }
        }
        let scratch = try Scratch(inMemory: true)
        let copy = try Store.open(
            path: scratch.path, newIdentity: StoreIdentity(log: LogID(high: 1, low: 2), epoch: 1))
        for transaction in try bench.transactions() { try copy.apply(transaction) }
        #expect(try dump(copy) == dump(bench.store), "seed \(seed)")
        #expect(try copy.check().isClean)
        copy.close()
    }

    @Test func `a long text is unique as a whole`() throws {
        try bench.save([bench.insert("Page", 1, ["key": .string(long("a", "x"))])])
        try bench.save([bench.insert("Page", 2, ["key": .string(long("a", "y"))])])
        let refusal = try bench.refusal([
            bench.insert("Page", 3, ["key": .string(long("a", "x"))])
        ])
        #expect(refusal?.code == .uniqueness)
    }

    @Test func `predicates are evaluated on the whole of a long text`() throws {
        let texts = [long("a", "Xx"), long("a", "Yy"), "a", long("b", "Xx"), long("Ä", "Z")]
        for (number, text) in zip(1..., texts) {
            try bench.save([bench.insert("Page", UInt64(number), ["key": .string(text)])])
        }
        let wanted: [PredicateArgument] = [.value(.string(texts[1]))]
        #expect(try found("key CONTAINS 'Xx'") == [1, 4])
        #expect(try found("key ENDSWITH[c] 'yY'") == [2])
        #expect(try found("key LIKE 'a*y'") == [2])
        #expect(try found("key BEGINSWITH 'a'").sorted() == [1, 2, 3])
        #expect(try found("key == %@", wanted) == [2])
        #expect(try found("key != %@", wanted).sorted() == [1, 3, 4, 5])
        #expect(try found("key > %@", wanted) == [4, 5])
        #expect(try found("key < %@", wanted).sorted() == [1, 3])
        #expect(try found("key BETWEEN {'a', %@}", wanted).sorted() == [1, 2, 3])
        #expect(try found("key IN {'a', %@}", wanted).sorted() == [2, 3])
        #expect(try found("key ==[cd] %@", [.value(.string(long("a", "z")))]) == [5])
        #expect(try found("NOT key CONTAINS 'Xx'").sorted() == [2, 3, 5])
        #expect(try found("key == key").count == 5)
    }

    @Test func `the order is that of the prefixes, short texts first`() throws {
        let same = String(repeating: "a", count: 600)
        let texts = [long(same), same + "b", same, "aa", long("b"), "b"]
        for (number, text) in zip(1..., texts) {
            try bench.save([bench.insert("Page", UInt64(number), ["key": .string(text)])])
        }
        #expect(try found("TRUEPREDICATE") == [4, 3, 2, 1, 6, 5])
    }

    @Test func `a reference to a text is accepted only if that text exists`() throws {
        let good = TextReference(of: long("a"))
        try bench.save([
            bench.insert(
                "Page", 1, ["key": .string(long("a")), "scan": .data(content(255))])
        ])
        try bench.save([bench.update("Page", 1, ["key": .string("b")])])
        try bench.save([bench.insert("Page", 2, ["key": .longText(good)])])
        #expect(try found("key CONTAINS 'a-'") == [2])
        var forged = good.bytes
        forged[3] = 0x41
        let notText = TextReference(Blob(content(255)))
        let unknown = TextReference(of: long("c"))
        for reference in [TextReference(bytes: forged), notText, unknown].compactMap({ $0 }) {
            let refusal = try bench.refusal([
                bench.insert("Page", 3, ["key": .longText(reference)])
            ])
            #expect(refusal?.code == .validation)
        }
    }
}
