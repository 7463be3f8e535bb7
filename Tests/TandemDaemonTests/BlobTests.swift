import TandemModel
import TandemQuery
import TandemStore
import Testing

@testable import TandemDaemon

private let pages = Model {
    Entity("Page", uniqueness: [["key"]], indexes: [["scan"]]) {
        Attribute("key", .string)
        Attribute("scan", .data)
    }
}

struct BlobTests {
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

    @Test func `a content nobody has any more stays until the journal forgets it`() throws {
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
        // It comes back with a save that brings it again.
        try bench.save([bench.update("Page", 1, ["scan": .data(scan)])])
        #expect(try bench.store.content(of: reference) == scan)
    }

    @Test func `law 6: blobs are the same after a replay from the journal`() throws {
        var random = SplitMix64(seed: seed)
        var alive: Set<UInt64> = []
        for number in 1...60 as ClosedRange<UInt64> {
            let scan = Value.data(content(UInt8.random(in: 0..<6, using: &random)))
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
        let scratch = try Scratch()
        let copy = try Store.open(
            path: scratch.path, newIdentity: StoreIdentity(log: LogID(high: 1, low: 2), epoch: 1))
        for transaction in try bench.transactions() { try copy.apply(transaction) }
        #expect(try dump(copy) == dump(bench.store), "seed \(seed)")
        copy.close()
    }

    @Test func `rows are found by the content of a long value`() throws {
        try bench.save([bench.insert("Page", 1, ["scan": .data(content(1))])])
        try bench.save([bench.insert("Page", 2, ["scan": .data(content(2))])])
        let request = FetchRequest(
            entity: "Page",
            predicate: try ObjectPredicate(
                format: "scan == %@", arguments: [.value(.data(content(2)))]))
        let found = try bench.store.fetch(CompiledRequest(request, in: try bench.model))
        #expect(found.objects.map(\.object.number) == [2])
    }

    @Test func `a reference without its content is refused`() throws {
        let error = try bench.refusal([
            bench.insert("Page", 1, ["scan": .blob(BlobReference(of: content(1)))])
        ])
        #expect(error?.code == .validation)
    }

    @Test func `too much is refused with the limit, and a long text with what to do`() throws {
        let data = try bench.refusal([
            bench.insert(
                "Page", 1, ["scan": .data(content(1, DaemonLimits().blobBytes + 1))])
        ])
        #expect(data?.problems.first?.message.contains("16777216") == true)
        let text = try bench.refusal([
            bench.insert("Page", 1, ["key": .string(String(repeating: "x", count: 70_000))])
        ])
        #expect(text?.problems.first?.message.contains("type data") == true)
    }
}
