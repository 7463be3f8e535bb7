import TandemIO
import TandemModel
import TandemWire
import Testing

@testable import TandemDaemon

/// Batch inserts alongside saves by others, and rows that can't be inserted.
@Suite(.ownThread) struct InsertBatchTests {
    private func world(
        limits: DaemonLimits = DaemonLimits(), roles: RolePolicy = RolePolicy()
    ) throws -> (bench: EngineBench, client: Peer) {
        let bench = try EngineBench(clock: ManualClock(), limits: limits, roles: roles)
        return (bench, try bench.client())
    }

    private func inserted(_ id: UInt32, _ client: Peer) throws -> BatchInsertAnswer? {
        try client.read()
        for envelope in client.received where envelope.id == id {
            if case .inserted(let answer) = envelope.message { return answer }
        }
        return nil
    }

    @Test func `law 7: saves of others are committed between the transactions of a chunk`() throws {
        let (bench, client) = try world()
        let other = try bench.client(Hello(author: "o", interests: ["Node"]))
        let part = try bench.part("Node", 0..<1_000, from: try client.lease, isLast: true)
        let id = try client.send(.insert(part))
        var saved: [UInt64] = []
        while try inserted(id, client) == nil {
            let insert = try bench.bench.insert("Tag", try other.lease + UInt64(saved.count))
            let save = try other.send(.save(other.saveRequest([insert])))
            // Each save is answered in the turn in which it arrived.
            try bench.turn()
            try other.read()
            let answers = other.received.filter { $0.id == save }
            guard case .saved(let done)? = answers.first?.message else {
                Issue.record("the save had to wait")
                return
            }
            saved.append(done.position)
        }
        let parts = try bench.transactions(of: [7])
        #expect(parts.map(\.transaction.changes.count) == [64, 128, 256, 512, 40])
        let positions = parts.map(\.transaction.position)
        for (one, next) in zip(positions, positions.dropFirst()) {
            #expect(saved.contains { one < $0 && $0 < next }, "\(one) to \(next)")
        }
        // Followers receive these transactions like all others.
        #expect(other.pushes.filter { $0.transaction.position >= positions[0] }.count == 5)
        // The next chunk begins with the transaction size that the previous one reached.
        let more = try bench.part(
            "Node", 0..<900, from: try client.lease + 1_000, isLast: true, id: [8])
        #expect(try client.run(more).rows == 900)
        #expect(try bench.transactions(of: [8]).map(\.transaction.changes.count) == [900])
    }

    @Test(arguments: [0, 1, 63, 64, 65, 137, 998, 999])
    func `a row that can't be inserted is named, and all rows before it are inserted`(
        bad: Int
    ) throws {
        let (bench, client) = try world()
        let lease = try client.lease
        func part(_ rank: Int64, from number: UInt64) throws -> BatchInsert {
            try bench.part("Node", 0..<1_000, from: number, isLast: true) {
                ["rank": .int($0 == bad ? rank : 7)]
            }
        }
        let answer = try client.run(try part(1_000, from: lease))
        #expect(answer.failure?.code == .validation && answer.failedRow == UInt64(bad))
        #expect(answer.failure?.problems.map(\.property) == ["rank"])
        #expect(answer.rows == UInt64(bad) && answer.hash == bench.hash(bad))
        #expect(!answer.hasEnded)
        #expect(try bench.count("Node", client) == bad)
        #expect(try bench.transactions(of: [7]).last?.done ?? 0 == UInt64(bad))
        // After the correction, the batch continues at that row.
        let mended = try client.run(try part(3, from: lease + 1_500))
        #expect(mended.rows == 1_000 && mended.failure == nil && mended.hasEnded)
        #expect(try bench.count("Node", client, "rank = 7") == 999)
        #expect(try bench.count("Node", client, "rank = 3") == 1)
    }

    @Test func `rows that only together exceed a limit are inserted in several transactions`()
        throws
    {
        var limits = DaemonLimits()
        limits.transactionBytes = 1 << 16
        let (bench, client) = try world(limits: limits)
        let text = PropertyValue.string(String(repeating: "x", count: 10_000))
        let answer = try client.run(
            try bench.part("Node", 0..<10, from: try client.lease) { _ in ["name": text] })
        #expect(answer.rows == 10 && answer.failure == nil)
        let sizes = try bench.transactions(of: [7]).map(\.transaction.changes.count)
        #expect(sizes == [5, 5])
        // The answer reports a single row that exceeds the limit.
        let long = PropertyValue.string(String(repeating: "x", count: 35_000))
        let bad = try client.run(
            try bench.part("Node", 10..<12, from: try client.lease + 10, isLast: true) {
                $0 == 10 ? ["name": text] : ["name": long, "code": long]
            })
        #expect(bad.failure?.code == .limitExceeded && bad.failedRow == 11 && bad.rows == 11)
    }

    @Test
    func `links refer to existing objects, and no transaction exceeds its maximum of changes`()
        throws
    {
        let (bench, client) = try world()
        let lease = try client.lease
        try bench.fill(client, "Node", lease...(lease + 1_199))
        let nodes = try (0..<1_200).map { try bench.bench.reference("Node", lease + $0) }
        var part = try bench.part("Tag", 0..<1_000, from: lease + 1_200, isLast: true)
        let slot = try #require(try bench.bench.entity("Tag").slot(of: "nodes"))
        for row in part.rows.indices {
            part.rows[row].links = [LinkChange(slot: slot, target: nodes[row], isAdded: true)]
        }
        part.rows[999].links[0].target.number = 1 << 40
        let answer = try client.run(part)
        #expect(answer.failure?.code == .unknownObject && answer.failedRow == 999)
        let changes = try bench.transactions(of: [7]).map(\.transaction.changes.count)
        #expect(changes.allSatisfy { $0 <= WireLimits.batchObjects }, "\(changes)")
        #expect(try bench.count("Tag", client, "nodes.@count = 1") == 999)
    }

    // MARK: Unique values

    @Test(arguments: MergePolicy.allCases)
    func `two batches whose rows have equal unique values leave one object per value`(
        policy: MergePolicy
    ) throws {
        let (bench, one) = try world()
        let two = try bench.client()
        func part(_ client: Peer, _ id: UInt8, _ name: String) throws -> BatchInsert {
            try bench.part(
                "Node", 0..<300, from: try client.lease, isLast: true, id: [id], policy: policy
            ) { row in
                // The second half of one batch equals the first half of the other.
                let code = id == 7 ? row : row + 150
                return ["code": .string("\(code)"), "name": .string(name)]
            }
        }
        let ids = (
            try one.send(.insert(try part(one, 7, "a"))),
            try two.send(.insert(try part(two, 8, "b")))
        )
        guard case .inserted(let first) = try one.answer(ids.0),
            case .inserted(let second) = try two.answer(ids.1)
        else {
            Issue.record("no answers")
            return
        }
        #expect(first.rows == 300 && first.failure == nil)
        guard policy != .error else {
            #expect(second.failure?.code == .uniqueness && second.failedRow == 0)
            #expect(try bench.count("Node", one) == 300)
            return
        }
        #expect(second.rows == 300 && second.hasEnded && second.failure == nil)
        #expect(try bench.count("Node", one) == 450)
        let takes = policy == .objectTrump || policy == .overwrite
        #expect(try bench.count("Node", one, "name = 'a'") == (takes ? 150 : 300))
        // A repeat changes nothing, even after the store was rebuilt.
        let end = bench.position.number
        try bench.rebuild()
        let again = try bench.client()
        #expect(try again.run(try part(again, 8, "b")) == second)
        #expect(bench.position.number == end)
    }

    @Test
    func `rows that match existing objects are counted in the journal, and pushed to no client`()
        throws
    {
        let (bench, client) = try world()
        let lease = try client.lease
        try client.save([try bench.bench.insert("Node", lease, ["code": .string("c")])])
        let follower = try bench.client(Hello(author: "f", interests: ["Node"]))
        let answer = try client.run(
            try bench.part(
                "Node", 0..<9, from: lease + 1, isLast: true, policy: .storeTrump
            ) { _ in ["code": .string("c"), "name": .string("n")] })
        #expect(answer.rows == 9 && answer.hasEnded)
        let last = try #require(try bench.transactions(of: [7]).last?.transaction)
        #expect(last.changes.isEmpty && last.position == answer.position)
        for _ in 0..<5 { try bench.turn() }
        try follower.read()
        #expect(follower.pushes.isEmpty)
        #expect(try bench.bench.value("Node", lease, "name") == .null)
    }

    // MARK: Limits, disconnects and faults

    @Test func `law 7: however many chunks one user sends, another's batch is next`() throws {
        let (bench, _) = try world()
        func peer(_ uid: UInt32) throws -> Peer {
            try bench.client(
                Hello(author: "\(uid)"), as: PeerCredentials(uid: uid, gid: uid, pid: 1))
        }
        let busy = try peer(2)
        // The number of queued chunks exceeds the limit on queued batches, but none is refused.
        var sent: [UInt32] = []
        for index in 0..<40 {
            let part = try bench.part(
                "Tag", 0..<10, from: try busy.lease + UInt64(10 * index), isLast: true,
                id: [UInt8(index)])
            sent.append(try busy.send(.insert(part)))
        }
        try bench.turn()
        let other = try peer(3)
        let id = try other.send(
            .insert(try bench.part("Node", 0..<10, from: try other.lease, isLast: true, id: [99])))
        guard case .inserted(let answer) = try other.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.rows == 10)
        #expect(try bench.count("Tag", other) < 100)
        for id in sent {
            guard case .inserted(let answer) = try busy.answer(id) else {
                Issue.record("no answer")
                return
            }
            #expect(answer.rows == 10 && answer.failure == nil)
        }
        #expect(try bench.count("Tag", other) == 400)
    }

    @Test func `law 8: a connection with many queued rows is not read further`() throws {
        var limits = DaemonLimits()
        limits.inboundBytes = 20_000
        let (bench, client) = try world(limits: limits)
        let text = PropertyValue.string(String(repeating: "x", count: 3_000))
        var part = try bench.part("Tag", 0..<2, from: try client.lease) { _ in ["label": text] }
        var ids: [UInt32] = []
        for index in UInt8(0)..<30 {
            part.batchID = [index]
            for row in part.rows.indices {
                part.rows[row].number = try client.lease + UInt64(index) * 2 + UInt64(row)
            }
            ids.append(try client.send(.insert(part)))
            guard client.session.wants.contains(.read) else { continue }
            try client.carry()
        }
        #expect(!client.session.wants.contains(.read))
        #expect(client.session.inboundBytes > limits.inboundBytes)
        #expect(client.session.inboundBytes < limits.inboundBytes + (64 << 10))
        for id in ids {
            guard case .inserted = try client.answer(id) else {
                Issue.record("no answer")
                return
            }
        }
        #expect(client.session.wants.contains(.read) && client.session.inboundBytes == 0)
        #expect(!bench.engine.hasWork)
    }

    @Test func `law 7: a client that disconnects leaves only the committed part of its batch`()
        throws
    {
        let (bench, other) = try world()
        let client = try bench.client()
        for index in UInt8(0)..<3 {
            _ = try client.send(
                .insert(
                    try bench.part(
                        "Node", 0..<500, from: try client.lease + UInt64(index) * 500,
                        id: [7, index])))
        }
        try bench.turn()
        let end = bench.position.number
        bench.engine.disconnect(client.session, because: nil)
        for _ in 0..<5 { try bench.turn() }
        #expect(bench.position.number == end && !bench.engine.hasWork)
        #expect(bench.engine.batches.queue.isEmpty)
        #expect(try bench.count("Node", other) > 0)
    }

    @Test
    func `laws 1 and 3: rows that do not fit on the disk are reported, the others are kept`()
        throws
    {
        let (bench, client) = try world()
        bench.bench.disk.capacityBytes = 512 << 10
        let text = PropertyValue.string(String(repeating: "x", count: 300))
        let part = try bench.part("Node", 0..<1_000, from: try client.lease, isLast: true) { _ in
            ["name": text]
        }
        var answers: [BatchInsertAnswer] = []
        for number in UInt8(0)..<8 where answers.last?.failure == nil {
            var part = part
            part.batchID = [number]
            for row in part.rows.indices {
                part.rows[row].number = try client.lease + UInt64(number) * 500 + UInt64(row)
            }
            part.rows = Array(part.rows.prefix(500))
            answers.append(try client.run(part))
        }
        let last = try #require(answers.last)
        #expect(last.failure?.code == .readOnly && last.failedRow == nil)
        let kept = answers.reduce(0) { $0 + Int($1.rows) }
        #expect(try bench.count("Node", client) == kept)
        try bench.crash()
        #expect(try bench.count("Node", try bench.client()) == kept)
    }

    @Test func `laws 3 and 7: rows that meet a new model are resumed with its slots`() throws {
        let (bench, client) = try world()
        let lease = try client.lease
        let id = try client.send(
            .insert(try bench.part("Node", 0..<1_000, from: lease) { _ in [:] }))
        try bench.turn(until: 1)
        var model = graphModel
        model.entities["Node"]?.attributes["a"] = Attribute("a", .int, default: .int(-1))
        let other = try bench.client()
        _ = try other.ask(.schema(SchemaRequest(model: model.json.text)))
        guard case .inserted(let answer) = try client.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.failure?.code == .schemaMismatch && answer.failedRow == nil)
        #expect(answer.rows > 0 && answer.rows < 1_000)
        let again = try client.run(
            try bench.part("Node", 0..<1_000, from: lease + 1_500, isLast: true) { _ in
                ["a": .int(5)]
            })
        #expect(again.rows == 1_000 && again.failure == nil)
        #expect(try bench.count("Node", client, "a = 5") == 1_000 - Int(answer.rows))
    }

    @Test func `a batch insert requires the role of a writer`() throws {
        var roles = RolePolicy()
        roles.others = .reader
        let (bench, _) = try world(roles: roles)
        let reader = try bench.client(
            Hello(author: "r"), as: PeerCredentials(uid: 4_711, gid: 4_711, pid: 1))
        let part = try bench.part("Node", 0..<1, from: 1)
        #expect(#expect(throws: TandemError.self) { try reader.run(part) }?.code == .denied)
        #expect(try !bench.bench.exists("Node", 1))
    }
}
