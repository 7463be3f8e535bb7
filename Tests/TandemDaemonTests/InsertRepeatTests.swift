import TandemIO
import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// Repeated batch inserts: each row is inserted once, whatever interrupts the batch.
@Suite(.ownThread) struct InsertRepeatTests {
    private func bench(limits: DaemonLimits = DaemonLimits()) throws -> EngineBench {
        try EngineBench(clock: ManualClock(), limits: limits)
    }

    /// Checks the batch's transactions in the journal against the number of its rows.
    private func check(_ bench: EngineBench, rows: Int, isEnded: Bool = true) throws {
        let parts = try bench.transactions(of: [7])
        let changes = parts.flatMap(\.transaction.changes)
        #expect(changes.count == rows && changes.allSatisfy { $0.kind == .insert })
        #expect(parts.map(\.done) == parts.map(\.done).sorted())
        #expect(parts.last?.done == UInt64(rows))
        #expect(parts.last?.transaction.contentHash == bench.hash(rows))
        #expect(parts.last?.transaction.batch?.hasEnded == isEnded)
        #expect(parts.dropLast().allSatisfy { $0.transaction.batch?.hasEnded == false })
        // The store has exactly these rows, each with a name of its own.
        let client = try bench.client()
        #expect(try bench.count("Node", client) == rows)
        let names = (0..<rows).map { "\"\($0)\"" }
        for start in stride(from: 0, to: rows, by: 100) {
            let some = names[start..<min(start + 100, rows)]
            let text = "name IN {\(some.joined(separator: ", "))}"
            #expect(try bench.count("Node", client, text) == some.count, "rows from \(start)")
        }
    }

    private func named(_ row: Int) -> [String: PropertyValue] { ["name": .string("\(row)")] }

    @Test func `law 3: a chunk may be sent again after any restart, and inserts no row twice`()
        throws
    {
        let bench = try bench()
        var after: UInt64 = 0
        for (index, start) in stride(from: 0, to: 600, by: 100).enumerated() {
            let isLast = start == 500
            func part() throws -> (Peer, BatchInsert) {
                let client = try bench.client()
                let part = try bench.part(
                    "Node", start..<start + 100, from: try client.lease, isLast: isLast,
                    after: after, named)
                return (client, part)
            }
            let (client, first) = try part()
            let answer = try client.run(first)
            #expect(answer.rows == UInt64(start) + 100 && answer.hasEnded == isLast)
            #expect(answer.hash == bench.hash(start + 100))
            #expect(try client.run(first) == answer)
            if index % 2 == 0 { try bench.crash() } else { try bench.rebuild() }
            let (other, again) = try part()
            #expect(try other.run(again) == answer)
            // A chunk that begins and ends earlier gets the same answer.
            if start > 0 {
                let wide = try bench.part(
                    "Node", (start - 50)..<(start + 50), from: try other.lease, named)
                #expect(try other.run(wide) == answer)
            }
            after = answer.position
        }
        try check(bench, rows: 600)
    }

    @Test func `law 3: a chunk that is killed after each of its transactions resumes after it`()
        throws
    {
        let bench = try bench()
        var answer: BatchInsertAnswer?
        for lives in 1..<100 where answer == nil {
            let client = try bench.client()
            let part = try bench.part(
                "Node", 0..<1_000, from: try client.lease, isLast: true, named)
            let before = try bench.transactions(of: [7]).count
            _ = try client.send(.insert(part))
            try bench.turn(until: before + 1)
            let last = try bench.transactions(of: [7]).last
            if lives % 2 == 0 { try bench.crash() } else { try bench.rebuild() }
            guard last?.transaction.batch?.hasEnded ?? false else { continue }
            let other = try bench.client()
            answer = try other.run(
                try bench.part("Node", 0..<1_000, from: try other.lease, isLast: true, named))
        }
        #expect(answer?.rows == 1_000 && answer?.hasEnded == true)
        #expect(try bench.transactions(of: [7]).count > 3)
        try check(bench, rows: 1_000)
    }

    @Test
    func `law 3: two clients with one batch insert each row once, and both get its progress`()
        throws
    {
        let bench = try bench()
        let (one, two) = (try bench.client(), try bench.client())
        for start in stride(from: 0, to: 400, by: 100) {
            let isLast = start == 300
            let ids = try [one, two].map { client in
                try client.send(
                    .insert(
                        try bench.part(
                            "Node", start..<start + 100,
                            from: try client.lease + UInt64(start), isLast: isLast, named)))
            }
            guard case .inserted(let its) = try two.answer(ids[1]),
                case .inserted(let mine) = try one.answer(ids[0])
            else {
                Issue.record("no answers")
                return
            }
            #expect(mine == its && mine.rows == UInt64(start) + 100)
        }
        try check(bench, rows: 400)
    }

    @Test func `law 3: a query for a batch's progress returns it, and changes nothing`() throws {
        let bench = try bench()
        let client = try bench.client()
        func ask(_ peer: Peer) throws -> BatchInsertAnswer {
            try peer.run(try bench.part("Node", 0..<0, from: 0))
        }
        let end = bench.position.number
        #expect(
            try ask(client)
                == BatchInsertAnswer(position: end, rows: 0, hash: bench.hash(0), hasEnded: false))
        let some = try client.run(try bench.part("Node", 0..<120, from: try client.lease, named))
        #expect(try ask(client) == some)
        // Ends the batch without further rows.
        let last = try bench.part("Node", 120..<120, from: 0, isLast: true)
        let ended = try client.run(last)
        #expect(ended.hasEnded && ended.rows == 120 && ended.position == some.position + 1)
        #expect(try client.run(last) == ended)
        #expect(bench.position.number == ended.position)
        try bench.rebuild()
        #expect(try ask(try bench.client()) == ended)
        try check(bench, rows: 120)
    }

    @Test func `a batch insert without rows writes nothing`() throws {
        let bench = try bench()
        let client = try bench.client()
        let end = bench.position.number
        let none = try client.run(try bench.part("Node", 0..<0, from: 0, isLast: true))
        #expect(none.rows == 0 && none.position == end)
        #expect(bench.position.number == end)
    }

    @Test func `law 3: rows sent after a batch has ended are accepted like others`() throws {
        let bench = try bench()
        let client = try bench.client()
        _ = try client.run(
            try bench.part("Node", 0..<10, from: try client.lease, isLast: true, named))
        let more = try client.run(
            try bench.part("Node", 0..<15, from: try client.lease + 20, isLast: true, named))
        #expect(more.rows == 15 && more.hasEnded)
        #expect(try bench.count("Node", client) == 15)
    }

    @Test
    func `law 3: different rows under the same id are refused, and so is an id used otherwise`()
        throws
    {
        let bench = try bench()
        let client = try bench.client()
        let lease = try client.lease
        _ = try client.run(try bench.part("Node", 0..<100, from: lease, named))
        func refusal(_ part: BatchInsert) -> TandemError.Code? {
            #expect(throws: TandemError.self) { try client.run(part) }?.code
        }
        let fresh = lease + 500
        // A different row before the chunk or in it, or a batch that ends earlier.
        #expect(
            refusal(try bench.part("Node", 100..<110, from: fresh, salt: "x", named)) == .usage)
        #expect(refusal(try bench.part("Node", 0..<110, from: fresh, salt: "x", named)) == .usage)
        #expect(
            refusal(try bench.part("Node", 0..<90, from: fresh, isLast: true, named)) == .usage)
        // A gap, and impossibly large row numbers.
        #expect(refusal(try bench.part("Node", 101..<110, from: fresh, named)) == .usage)
        for first in [UInt64.max, UInt64.max - 1, 1 << 63] as [UInt64] {
            var far = try bench.part("Node", 0..<2, from: fresh, named)
            far.first = first
            #expect(refusal(far) == .usage)
        }
        // The id of a save, and of a batch delete.
        var save = client.saveRequest([try bench.bench.insert("Tag", fresh + 1)])
        save.saveID = [9]
        _ = try client.ask(.save(save))
        #expect(refusal(try bench.part("Node", 0..<9, from: fresh + 9, id: [9], named)) == .usage)
        _ = try client.run(try bench.batch("Node", "rank < 0", id: [8]))
        #expect(refusal(try bench.part("Node", 0..<9, from: fresh + 9, id: [8], named)) == .usage)
        // The batch insert's id, used for a batch delete and for a save.
        let delete = try bench.batch("Node", id: [7])
        #expect(#expect(throws: TandemError.self) { try client.run(delete) }?.code == .usage)
        save.saveID = [7]
        guard case .failure(let error) = try client.ask(.save(save)) else {
            Issue.record("a save used a batch's id")
            return
        }
        #expect(error.code == .usage)
        #expect(refusal(try bench.part("Node", 0..<9, from: fresh, id: [], named)) == .usage)
        try check(bench, rows: 100, isEnded: false)
    }

    @Test func `law 3: a forgotten batch continues for a client that had its answer`() throws {
        var limits = DaemonLimits()
        limits.savesKept = 20
        let bench = try bench(limits: limits)
        let client = try bench.client()
        let lease = try client.lease
        let some = try client.run(try bench.part("Node", 0..<50, from: lease, named))
        let early = try bench.part("Node", 50..<60, from: lease + 50, isLast: true, named)
        for number in (lease + 200)...(lease + 240) {
            try client.save([try bench.bench.insert("Tag", number)])
        }
        func refusal(_ part: BatchInsert) -> TandemError.Code? {
            #expect(throws: TandemError.self) { try client.run(part) }?.code
        }
        // A client without an answer has no row count to continue from.
        #expect(refusal(early) == .unknownOutcome)
        var next = early
        next.after = bench.position.number
        #expect(refusal(next) == .unknownOutcome)
        // Sent before the batch was forgotten, the chunk may have been applied.
        next.after = some.position
        next.firstSentAt = some.position
        #expect(refusal(next) == .unknownOutcome)
        next.firstSentAt = nil
        let answer = try client.run(next)
        #expect(answer.rows == 60 && answer.hasEnded)
        try check(bench, rows: 60)
    }

    @Test func `law 7: an impossible record under an id does not crash the daemon`() throws {
        let bench = try bench()
        let client = try bench.client()
        let known = IdempotencyRecord(
            position: 1, contentHash: bench.hash(0), wrote: false, inserted: [],
            batch: BatchProgress(done: .max))
        try bench.bench.store.rememberUnchanged(known, by: client.session.peer.uid, id: [7])
        let part = try bench.part("Node", 0..<2, from: try client.lease, named)
        #expect(#expect(throws: TandemError.self) { try client.run(part) }?.code == .storage)
    }
}
