import TandemIO
import TandemModel
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Rows of a batch insert that can't be inserted: all of them are named at once, and no others.
@Suite(.ownThread) struct InsertRefusalTests {
    /// The values of a row, and the expected refusal if rows are inserted one by one.
    private struct Row {
        var values: [String: PropertyValue]
        var refusal: TandemError.Code?
    }

    /// Returns rows, many of which violate a rule on their own or because of other rows; `group`
    /// exists, `group + 1` does not.
    private func rows(_ random: inout SplitMix64, _ group: ObjectReference) -> [Row] {
        var taken: Set<UInt64> = []
        return (0..<400).map { _ in
            let code = random.next() % 300
            var row = Row(values: ["code": .string("\(code)")])
            var group = group
            switch random.next() % 8 {
            case 0:
                row.values["rank"] = .int(1_000)
                row.refusal = .validation
            case 1:
                group.number += 1
                row.values["group"] = .reference(group)
                row.refusal = .unknownObject
            case 2: row.values["group"] = .reference(group)
            default: break
            }
            // A unique value of a refused row is free for another row.
            if row.refusal == nil, !taken.insert(code).inserted { row.refusal = .uniqueness }
            return row
        }
    }

    /// Sends rows, leaving out refused ones, until all others are inserted.
    ///
    /// Returns the errors by row, and the number of requests.
    private func insert(
        _ rows: [Row], _ bench: EngineBench, _ client: Peer, from lease: UInt64
    ) throws -> (refused: [Int: TandemError], requests: Int) {
        var (left, done, requests) = (Array(rows.indices), 0, 0)
        var refused: [Int: TandemError] = [:]
        while done < left.count || requests == 0 {
            var part = try bench.part(
                "Node", done..<left.count, from: lease + UInt64(requests * rows.count),
                isLast: true
            ) { rows[left[$0]].values }
            part.namesRefused = true
            let answer = try client.run(part)
            requests += 1
            done = Int(answer.rows)
            #expect(answer.refused.first?.row == answer.failedRow)
            #expect(answer.refused.first.map { Int($0.row) == done } ?? (done == left.count))
            for refusal in answer.refused { refused[left[Int(refusal.row)]] = refusal.error }
            let gone = Set(answer.refused.map { Int($0.row) })
            left = left.indices.filter { !gone.contains($0) }.map { left[$0] }
        }
        return (refused, requests)
    }

    @Test(arguments: 0..<6)
    func `rows are refused exactly as if they were inserted one by one`(round: UInt64) throws {
        var random = SplitMix64(seed: seed &+ round)
        let bench = try EngineBench(clock: ManualClock())
        let client = try bench.client()
        let lease = try client.lease
        try client.save([try bench.bench.insert("Group", lease)])
        let rows = rows(&random, try bench.bench.reference("Group", lease))
        let (refused, requests) = try insert(rows, bench, client, from: lease + 10)
        for (index, row) in rows.enumerated() {
            #expect(
                refused[index]?.code == row.refusal, "row \(index), seed \(seed), round \(round)")
        }
        #expect(requests <= 8, "seed \(seed)")
        let kept = rows.count { $0.refusal == nil }
        #expect(try bench.count("Node", client) == kept)
        let changes = try bench.transactions(of: [7]).flatMap(\.transaction.changes)
        #expect(changes.count { $0.kind == .insert } == kept)
    }

    @Test func `a thousand refused rows take only a handful of requests`() throws {
        let bench = try EngineBench(clock: ManualClock())
        let client = try bench.client()
        let lease = try client.lease
        try bench.fill(client, "Node", lease...(lease + 999)) { ["code": .string("\($0 - lease)")] }
        let end = bench.position.number
        let rows = (0..<1_000).map { Row(values: ["code": .string("\($0)")]) }
        // Each request names as many rows as one turn evaluates, which increases from turn to turn.
        var part = try bench.part("Node", 0..<1_000, from: lease + 1_000) { rows[$0].values }
        part.namesRefused = true
        var (left, requests) = (1_000, 0)
        while left > 0, requests < 100 {
            let answer = try client.run(part)
            #expect(!answer.refused.isEmpty && answer.rows == 0)
            left -= answer.refused.count
            requests += 1
            part.rows.removeFirst(answer.refused.count)
        }
        #expect(left == 0 && requests <= 6, "\(requests)")
        #expect(bench.position.number == end)
    }

    @Test func `without the option only the first refused row is reported`() throws {
        let bench = try EngineBench(clock: ManualClock())
        let client = try bench.client()
        let part = try bench.part("Node", 0..<200, from: try client.lease) {
            ["rank": .int($0 % 50 == 40 ? 1_000 : 1)]
        }
        let answer = try client.run(part)
        #expect(answer.failedRow == 40 && answer.refused.isEmpty && answer.rows == 40)
        // The rows before it are one transaction, without a search.
        #expect(try bench.transactions(of: [7]).map(\.done) == [40])
    }

    @Test
    func `rows with links to many objects fill transactions, and no row is planned twice`()
        throws
    {
        let bench = try EngineBench(clock: ManualClock())
        let client = try bench.client()
        let lease = try client.lease
        try bench.fill(client, "Group", lease...(lease + 1_199))
        let groups = try (0..<1_000).map { try bench.bench.reference("Group", lease + $0) }
        let part = try bench.part("Node", 0..<1_000, from: lease + 1_200, isLast: true) {
            ["group": .reference(groups[$0])]
        }
        #expect(try client.run(part).rows == 1_000)
        // Each row is two changes, and a transaction is filled to at most fifteen sixteenths.
        let changes = try bench.transactions(of: [7]).map(\.transaction.changes.count)
        #expect(changes == [128, 256, 512, 936, 168])
    }
}
