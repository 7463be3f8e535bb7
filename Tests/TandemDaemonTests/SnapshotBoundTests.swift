import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// The limits that end reads whose snapshots retain pages, and the order in which readers run
/// reads.
@Suite(.ownThread) struct SnapshotBoundTests {
    private let clock = ManualClock(monotonicNanoseconds: 1_000_000_000, wallMicroseconds: 1)

    private func bench(_ limits: DaemonLimits = DaemonLimits()) throws -> EngineBench {
        let bench = try EngineBench.ofReaders(limits: limits, clock: clock)
        try bench.insertNodes(10)
        return bench
    }

    private let nodes = ClientMessage.fetch(Fetch(request: FetchDescriptor(entity: "Node")))

    /// Sends a fetch and runs turns until a reader has it; the reader is held.
    private func held(_ bench: EngineBench, _ client: Peer) throws -> UInt32 {
        let id = try client.send(nodes)
        bench.holdReaders(true)
        try bench.turnsUntilRead(client)
        return id
    }

    private func save(_ bench: EngineBench, _ number: UInt64, bytes: Int = 1) throws {
        let name = PropertyValue.string(String(repeating: "x", count: bytes))
        try bench.bench.save([try bench.bench.insert("Node", number, ["name": name])])
        try bench.bench.committer.checkpoint()
    }

    private func failure(_ message: DaemonMessage) -> TandemError? {
        if case .failure(let error) = message { error } else { nil }
    }

    @Test func `law 8: a read that takes too long ends if others committed meanwhile`() throws {
        let bench = try bench()
        let client = try bench.client()
        let id = try held(bench, client)
        let time = UInt64(bench.engine.limits.snapshotMilliseconds) * 1_000_000
        let deadline = try #require(bench.engine.reads.nextDeadline)
        #expect(deadline == clock.monotonicNanoseconds + time + 1)
        clock.advance(byNanoseconds: time / 2)
        try save(bench, 100)
        try bench.turn()
        #expect(bench.engine.reads.nextDeadline == deadline)
        clock.advance(byNanoseconds: deadline - clock.monotonicNanoseconds)
        try bench.turn()
        #expect(bench.engine.reads.nextDeadline == nil)
        #expect(bench.engine.limitCounters[.snapshotMilliseconds] == 1)
        bench.holdReaders(false)
        let error = try #require(failure(try client.answer(id)))
        #expect(error.code == .timeout)
        #expect(error.message.contains("limits.snapshotMilliseconds"), "\(error)")
        #expect(bench.engine.reads.bytes.held == 0 && bench.bench.store.readers.count == 0)
        // The request can be sent again.
        #expect(try client.ask(nodes).fetched.objects.count == 11)
    }

    @Test func `law 7: the time that a read waits for its turn is not counted`() throws {
        let bench = try bench()
        let client = try bench.client()
        let id = try held(bench, client)
        let job = try #require(client.session.read?.job)
        let time = UInt64(bench.engine.limits.snapshotMilliseconds) * 1_000_000
        clock.advance(byNanoseconds: time / 2)
        job.waits(since: clock.monotonicNanoseconds)
        try save(bench, 100)
        clock.advance(byNanoseconds: 10 * time)
        #expect(job.waited(until: clock.monotonicNanoseconds) == 10 * time)
        try bench.turn()
        #expect(bench.engine.limitCounters[.snapshotMilliseconds] == 0)
        bench.holdReaders(false)
        #expect(try client.answer(id).fetched.objects.count == 10)
    }

    @Test func `a read may take any time if there are no commits, and wakes no thread`() throws {
        let bench = try bench()
        let client = try bench.client()
        let id = try held(bench, client)
        for _ in 0..<10 {
            clock.advance(byNanoseconds: 3_000_000_000)
            try bench.turn()
            let deadline = bench.engine.reads.nextDeadline
            #expect(deadline == nil || deadline ?? 0 > clock.monotonicNanoseconds)
        }
        bench.holdReaders(false)
        #expect(try client.answer(id).fetched.objects.count == 10)
        #expect(bench.engine.limitCounters[.snapshotMilliseconds] == 0)
    }

    @Test func `law 8: a read ends if others committed too much since it began`() throws {
        var limits = DaemonLimits()
        limits.snapshotBytes = 256 << 10
        let bench = try bench(limits)
        let client = try bench.client()
        let id = try held(bench, client)
        var number: UInt64 = 100
        while bench.engine.limitCounters[.snapshotBytes] == 0, number < 1_000 {
            try save(bench, number, bytes: 20_000)
            try bench.turn()
            number += 1
        }
        #expect(number > 102 && number < 1_000)
        bench.holdReaders(false)
        let error = try #require(failure(try client.answer(id)))
        #expect(error.code == .timeout)
        #expect(error.message.contains("limits.snapshotBytes"), "\(error)")
        #expect(try client.ask(nodes).fetched.objects.count == Int(number) - 90)
        #expect(bench.engine.reads.bytes.held == 0 && bench.engine.reads.running.isEmpty)
    }

    @Test func `a batch's search may take any time`() throws {
        let bench = try bench()
        let client = try bench.client()
        bench.holdReaders(true)
        let id = try client.send(.batch(try bench.batch("Node")))
        for _ in 0..<5 { try bench.turn() }
        try save(bench, 100)
        clock.advance(byNanoseconds: 60_000_000_000)
        try bench.turn()
        #expect(bench.engine.reads.nextDeadline == nil)
        bench.holdReaders(false)
        guard case .batched(let answer) = try client.answer(id) else {
            Issue.record("the batch failed")
            return
        }
        #expect(answer.failure == nil && answer.count == 10)
    }

    @Test func `the status contains waiting reads, running reads, and the oldest snapshot`()
        throws
    {
        let bench = try bench()
        let clients = try (0..<3).map { _ in try bench.client() }
        bench.holdReaders(true)
        for client in clients { _ = try client.send(nodes) }
        for _ in 0..<5 { try bench.turn() }
        try save(bench, 100, bytes: 20_000)
        clock.advance(byNanoseconds: 1_500_000_000)
        let reads = try #require(bench.engine.status["reads"])
        #expect(reads["reading"]?.int == 2 && reads["waiting"]?.int == 1)
        #expect(reads["oldestMilliseconds"]?.int == 1_500)
        #expect((reads["oldestCommittedBytes"]?.int ?? 0) > 20_000)
        #expect(reads["heldBytes"]?.int == Int64(bench.engine.reads.bytes.held))
        #expect(bench.engine.reads.bytes.held > 0)
    }

    // MARK: Order

    @Test func `law 7: users take turns at the readers`() throws {
        let bench = try bench()
        (bench.engine.reads.readers as? ReadsInTurns)?.capacity = 1
        let greedy = try (0..<5).map { _ in
            try bench.client(as: PeerCredentials(uid: 5_001, gid: 1, pid: 1))
        }
        for client in greedy { _ = try client.send(nodes) }
        bench.holdReaders(true)
        for _ in 0..<3 { try bench.turn() }
        let modest = try bench.client(as: PeerCredentials(uid: 5_002, gid: 1, pid: 1))
        let id = try modest.send(nodes)
        for _ in 0..<3 { try bench.turn() }
        bench.holdReaders(false)
        for _ in 0..<20 where modest.received.isEmpty {
            try bench.turn()
            for client in greedy + [modest] { try client.read() }
        }
        #expect(greedy.count { !$0.received.isEmpty } <= 2)
        #expect(try modest.answer(id).fetched.objects.count == 10)
        for client in greedy { #expect(try client.answer(1).fetched.objects.count == 10) }
    }

    @Test func `law 2: a second read of a client waits for the first`() throws {
        let bench = try bench()
        let client = try bench.client()
        let first = try held(bench, client)
        let second = try client.send(nodes)
        for _ in 0..<5 { try bench.turn() }
        #expect(bench.engine.reads.running.count == 1 && bench.engine.reads.waiting.isEmpty)
        try save(bench, 100)
        bench.holdReaders(false)
        #expect(try client.answer(first).fetched.objects.count == 10)
        // The second read sees the saves before its own snapshot.
        #expect(try client.answer(second).fetched.objects.count == 11)
    }

    @Test
    func `law 2: interests hold from the answer's position on, without gaps or repeats`()
        throws
    {
        let bench = try bench()
        let (client, saver) = (try bench.client(), try bench.client())
        let tag = try bench.bench.entity("Node").tag
        let fetch = Fetch(request: FetchDescriptor(entity: "Node"), interests: [tag])
        let id = try client.send(.fetch(fetch))
        try bench.turnsUntilRead(client)
        bench.holdReaders(true)
        for number in UInt64(100)..<103 { try saver.save([try bench.bench.insert("Node", number)]) }
        bench.holdReaders(false)
        let found = try client.answer(id).fetched
        for number in UInt64(103)..<105 { try saver.save([try bench.bench.insert("Node", number)]) }
        for _ in 0..<20 where client.machine.cursor < bench.position.number {
            try bench.turn()
            try client.read()
        }
        // Answer and pushes together are the graph; earlier pushes have the answer's position or a
        // lower one.
        let positions = client.pushes.map(\.transaction.position)
        #expect(found.objects.count == 10 && positions == Array(positions[0]..<positions[0] + 5))
        #expect(positions.first == found.position + 1)
        #expect(positions.last == bench.position.number)
    }

    // MARK: Model changes and ends

    private func installSpare(_ bench: EngineBench) throws {
        var model = graphModel
        model.entities["Spare"] = Entity("Spare")
        _ = try bench.client().ask(.schema(SchemaRequest(model: model.json.text)))
    }

    @Test(arguments: [false, true])
    func `law 6: a read whose model changes before its answer begins is refused`(
        hasReader: Bool
    ) throws {
        let bench = try bench()
        let client = try bench.client()
        bench.makesCheckpoints = hasReader
        if !hasReader { try bench.bench.save([try bench.bench.insert("Node", 100)]) }
        bench.holdReaders(true)
        let id = try client.send(nodes)
        for _ in 0..<5 { try bench.turn() }
        #expect((client.session.read?.job != nil) == hasReader)
        #expect(client.session.read != nil)
        bench.makesCheckpoints = true
        try installSpare(bench)
        bench.holdReaders(false)
        #expect(failure(try client.answer(id))?.code == .schemaMismatch)
        #expect(bench.engine.reads.bytes.held == 0 && bench.engine.reads.running.isEmpty)
        #expect(try client.ask(nodes).fetched.objects.count == (hasReader ? 10 : 11))
    }

    /// The read used to decode transactions of the earlier model with the new one, and trapped.
    @Test
    func `law 6: a read of the past is refused if the model changes before it begins`()
        throws
    {
        let bench = try bench()
        let client = try bench.client()
        let position = bench.position.number
        for number in UInt64(2)..<12 {
            try bench.bench.save([try bench.bench.update("Node", number, ["rank": .int(7)])])
        }
        bench.makesCheckpoints = false
        try bench.bench.save([try bench.bench.insert("Node", 100)])
        let id = try client.send(
            .fetch(Fetch(request: FetchDescriptor(entity: "Node"), at: position)))
        for _ in 0..<5 { try bench.turn() }
        #expect(client.session.read?.window?.position == position)
        // The slots of earlier transactions have other properties in this model, or none.
        let model = ManagedObjectModel { Entity("Node") { Attribute("name", .string) } }
        let migration = SchemaRequest(model: model.json.text, purpose: .migrate)
        guard case .schema = try bench.client().ask(.schema(migration)) else {
            Issue.record("the store was not migrated")
            return
        }
        bench.makesCheckpoints = true
        #expect(failure(try client.answer(id))?.code == .schemaMismatch)
        #expect(bench.engine.reads.bytes.held == 0 && bench.engine.reads.waiting.isEmpty)
    }

    @Test func `a client that disconnects during its read leaves nothing behind`()
        throws
    {
        let bench = try bench()
        let (gone, other) = (try bench.client(), try bench.client())
        _ = try held(bench, gone)
        let id = try other.send(nodes)
        for _ in 0..<3 { try bench.turn() }
        bench.engine.disconnect(gone.session, because: nil)
        bench.holdReaders(false)
        #expect(try other.answer(id).fetched.objects.count == 10)
        #expect(bench.engine.reads.bytes.held == 0 && bench.engine.reads.running.isEmpty)
        #expect(bench.bench.store.readers.count == 0 && bench.engine.reads.readers.room == 4)
    }

    @Test func `closed readers end their snapshots, whatever they run`() throws {
        let bench = try bench()
        let clients = try (0..<3).map { _ in try bench.client() }
        bench.holdReaders(true)
        for client in clients { _ = try client.send(nodes) }
        for _ in 0..<5 { try bench.turn() }
        #expect(bench.bench.store.readers.count == 2)
        bench.engine.reads.close()
        #expect(bench.bench.store.readers.count == 0 && bench.engine.reads.running.isEmpty)
        // A second call is harmless.
        bench.engine.reads.close()
    }

    @Test func `law 7: a read with unreadable history is refused alone`() throws {
        var limits = DaemonLimits()
        limits.ringTransactions = 1
        let bench = try bench(limits)
        let (client, other) = (try bench.client(), try bench.client())
        let at = bench.position.number
        // Too many transactions to be read at the moment the request arrives.
        for number in UInt64(100)..<100 + 2 * DaemonLimits.smallReadTransactions {
            try bench.bench.save([try bench.bench.insert("Node", number)])
        }
        try bench.bench.committer.checkpoint()
        let past = Fetch(request: FetchDescriptor(entity: "Node"), at: at)
        let ids = (try client.send(.fetch(past)), try other.send(nodes))
        bench.bench.disk.faults.opensUntilFailure = 1
        let error = try #require(failure(try client.answer(ids.0)))
        #expect(error.code == .storage || error.code == .historyExpired, "\(error)")
        let all = 10 + 2 * Int(DaemonLimits.smallReadTransactions)
        #expect(try other.answer(ids.1).fetched.objects.count == all)
        #expect(bench.engine.reads.bytes.held == 0 && bench.engine.reads.waiting.isEmpty)
        #expect(try client.fetch(past).objects.count == 10)
    }
}
