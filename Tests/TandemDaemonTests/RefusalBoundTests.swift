import TandemIO
import TandemModel
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// The bounds on rounds and bytes for reports about rows that can't be inserted, whatever the rows
/// are.
@Suite(.ownThread) struct RefusalBoundTests {
    private func bench(_ model: ManagedObjectModel = graphModel) throws -> (
        EngineBench, Peer, UInt64
    ) {
        let bench = try EngineBench(model: model, clock: ManualClock())
        let client = try bench.client()
        return (bench, client, try client.lease)
    }

    private func refusals(
        _ operations: [SaveOperation], _ bench: EngineBench, _ budget: inout RejectionBudget
    ) throws -> [ObjectNumber: TandemError] {
        let committer = bench.bench.committer
        let request = SaveRequest(
            saveID: [1], contentHash: bench.hash(0), modelVersion: try bench.bench.model.version,
            operations: operations)
        return try SavePlanner.refusals(
            of: request, model: try bench.bench.model, store: committer.store,
            numbersBelow: committer.leases.numbersBelow, limits: committer.limits,
            counts: committer.limitCounters, budget: &budget)
    }

    @Test func `a chain of links is found in two rounds, however long it is`() throws {
        let (bench, _, lease) = try bench()
        let chain = try (0..<300).map { index in
            let before = index == 0 ? 1 << 40 : lease + UInt64(index) - 1
            return try bench.bench.insert(
                "Node", lease + UInt64(index),
                ["parent": .reference(try bench.bench.reference("Node", before))])
        }
        var budget = RejectionBudget(rounds: .max, work: .max)
        let single = try bench.bench.insert("Node", lease + 300)
        let found = try refusals(chain + [single], bench, &budget)
        #expect(Set(found.keys) == Set(lease..<(lease + 300)))
        #expect(found.values.allSatisfy { $0.code == .unknownObject })
        #expect(budget.rounds == 2)
    }

    @Test(arguments: 0..<6)
    func `exactly the rows whose links reach a row that breaks a rule are refused`(round: UInt64)
        throws
    {
        var random = SplitMix64(seed: seed &+ round)
        let (bench, _, lease) = try bench()
        var targets: [Int?] = []
        var broken: Set<Int> = []
        let rows = try (0..<80).map { index in
            var values: [String: PropertyValue] = [:]
            if random.next() % 8 == 0 {
                values["rank"] = .int(1_000)
                broken.insert(index)
            }
            let target = random.next() % 2 == 0 ? Int(random.next() % 80) : nil
            targets.append(target)
            if let target {
                values["parent"] = .reference(
                    try bench.bench.reference("Node", lease + UInt64(target)))
            }
            return try bench.bench.insert("Node", lease + UInt64(index), values)
        }
        while true {
            let more = targets.indices.filter { index in
                !broken.contains(index) && targets[index].map(broken.contains) ?? false
            }
            if more.isEmpty { break }
            broken.formUnion(more)
        }
        var budget = RejectionBudget()
        let found = try refusals(rows, bench, &budget)
        #expect(
            Set(found.keys) == Set(broken.map { lease + UInt64($0) }), "seed \(seed) \(round)")
    }

    @Test func `rounds and work are bounded, and the rows found until then are reported`() throws {
        let (bench, _, lease) = try bench()
        let nowhere = PropertyValue.reference(try bench.bench.reference("Node", 1 << 40))
        let rows = try [
            ["parent": nowhere], ["rank": .int(1_000)], ["code": .string("a")],
            ["code": .string("a")],
        ].enumerated().map { try bench.bench.insert("Node", lease + UInt64($0), $1) }
        for (most, work, count) in [(1, 100, 1), (2, 100, 2), (3, 100, 3), (3, 0, 1), (3, 9, 2)] {
            var budget = RejectionBudget(rounds: most, work: work)
            #expect(try refusals(rows, bench, &budget).count == count)
            #expect(budget.rounds == count)
        }
    }

    /// An attribute with many long allowed values, such as a list of towns.
    private static let towns = ManagedObjectModel {
        Entity("House") {
            Attribute(
                "town", .string,
                values: (0..<1_000).map { .string("\($0)" + String(repeating: "x", count: 200)) })
        }
    }

    @Test func `the report about many wrong values is bounded`() throws {
        let (bench, client, lease) = try bench(Self.towns)
        let long = PropertyValue.string(String(repeating: "\u{1}é", count: 5_000))
        let rows = try (0..<1_000).map {
            try bench.bench.insert("House", lease + $0, ["town": long])
        }
        var budget = RejectionBudget()
        let found = try refusals(rows, bench, &budget)
        let message = try #require(found[lease]?.problems.first?.message)
        #expect(message.unicodeScalars.count < 900 && message.hasSuffix(" and 990 more"))
        #expect(found.count > 50 && found.count < 1_000)
        #expect(found.keys.max() == lease + UInt64(found.count) - 1)
        #expect(found.values.reduce(0) { $0 + $1.bytes } < 300 << 10)
        // The same rows in one save.
        let error = try #require(throws: TandemError.self) { try client.save(rows) }
        #expect(error.code == .validation && error.bytes < 300 << 10)
        #expect(error.message.utf8.count < 32 << 10)
    }

    @Test(arguments: [MergePolicy.storeTrump, .objectTrump], 0..<3)
    func `rows of equal unique values are split at the second one, and nowhere else`(
        policy: MergePolicy, round: UInt64
    ) throws {
        var random = SplitMix64(seed: seed &+ round)
        let (bench, client, lease) = try bench()
        let codes = (0..<600).map { _ in random.next() % 500 }
        let part = try bench.part("Node", 0..<600, from: lease, isLast: true, policy: policy) {
            ["code": .string("\(codes[$0])"), "rank": .int(Int64($0 % 100))]
        }
        #expect(try client.run(part).rows == 600)
        #expect(try bench.count("Node", client) == Set(codes).count)
        let done = try bench.transactions(of: [7]).map { Int($0.done) }
        // A transaction ends when a code would repeat within it, or when it fills a turn.
        var needed = 0
        var (first, start) = ([UInt64: Int](), 0)
        for (row, code) in codes.enumerated() {
            if let before = first[code], before >= start { (needed, start) = (needed + 1, row) }
            if first[code] == nil { first[code] = row }
        }
        #expect(done.count <= needed + 8, "\(done) needed \(needed), seed \(seed) \(round)")
        let rank = Int64(
            (policy == .storeTrump
                ? codes.firstIndex(of: codes[0]) : codes.lastIndex(of: codes[0])) ?? 0)
        #expect(
            try bench.count("Node", client, "code = \"\(codes[0])\" AND rank = \(rank % 100)") == 1)
    }
}

extension TandemError {
    fileprivate var bytes: Int {
        problems.reduce(message.utf8.count) { $0 + $1.message.utf8.count }
    }
}
