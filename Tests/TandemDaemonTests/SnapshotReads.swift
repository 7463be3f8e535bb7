import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Reads that run as in a daemon's readers, one stage at a time.
extension CommitBench {
    /// A request that waits for a snapshot.
    struct Asked {
        let read: CompiledRead
        let window: ReadWindow?
        let modelPosition: UInt64
    }

    func ask(_ message: ClientMessage) throws -> Asked {
        let read = try #require(try CompiledRead(message, in: try model))
        return Asked(read: read, window: ReadWindow(read), modelPosition: store.modelPosition)
    }

    /// Adds the transactions up to a position to a read's window.
    func follow(_ window: ReadWindow?, to position: UInt64) throws {
        guard let window else { return }
        let source = TransactionSource(committer.journal)
        while window.position < position {
            let next = try source.transaction(at: window.position + 1, committer.ring)
            try window.add(next, try model)
        }
    }

    /// Returns the answer from the open write transaction.
    func answer(_ message: ClientMessage) throws -> DaemonMessage {
        let asked = try ask(message)
        try follow(asked.window, to: committer.position)
        return try answer(try job(asked, snapshot: nil))
    }

    /// Returns a job that has not begun.
    func job(_ asked: Asked, snapshot: StoreSnapshot?) throws -> ReadJob {
        let run = ReadRun(
            view: snapshot ?? store, model: try model, limits: committer.limits,
            counts: committer.limitCounters, window: asked.window)
        return ReadJob(.answer(asked.read, id: 1), of: 0, run, snapshot: snapshot)
    }

    /// Runs a job and assembles its messages; `between` is called after each message.
    func answer(_ job: ReadJob, between: () throws -> Void = {}) throws -> DaemonMessage {
        var decoder = DaemonMessageDecoder()
        var assembler = AnswerAssembler()
        var answer: DaemonMessage?
        repeat {
            job.advance { _ in }
            while let message = job.dequeueMessage() {
                decoder.append(message.bytes)
                while let envelope = try decoder.next() {
                    if let whole = assembler.consume(envelope) { answer = whole.message }
                }
                try between()
            }
        } while job.endRest()
        if let failure = job.consumeProgress().failure {
            let (limits, counts) = (committer.limits, committer.limitCounters)
            throw (failure as? StoreError)?.clientError(limits, counts) ?? failure
        }
        #expect(job.heldBytes == 0)
        return try #require(answer)
    }

    func fetched(_ fetch: Fetch) throws -> FetchAnswer { try answer(.fetch(fetch)).fetched }

    func verdicts(_ request: VerdictRequest) throws -> Verdicts {
        try answer(.verdicts(request)).verdicts
    }
}

extension DaemonMessage {
    var fetched: FetchAnswer {
        get throws {
            guard case .fetched(let answer) = self else {
                throw TandemError(.usage, "no answer to a fetch: \(self)")
            }
            return answer
        }
    }

    var verdicts: Verdicts {
        get throws {
            guard case .verdicts(let answer) = self else {
                throw TandemError(.usage, "no verdicts: \(self)")
            }
            return answer
        }
    }

    var objects: ReadAnswer {
        get throws {
            guard case .objects(let answer) = self else {
                throw TandemError(.usage, "no objects: \(self)")
            }
            return answer
        }
    }
}

extension RandomGraph {
    /// Sends a read and answers it from a snapshot; between the stages there are random saves.
    ///
    /// The stages are the request, the checkpoint, the read, and the first messages. `expectation`
    /// is called when the store is at the snapshot's position.
    mutating func inSnapshot<Expected>(
        _ message: ClientMessage, _ random: inout SplitMix64,
        expecting expectation: (CommitBench) throws -> Expected
    ) throws -> (found: DaemonMessage, expected: Expected) {
        let asked = try bench.ask(message)
        try save(&random)
        // Some transactions are added to the window earlier than others, as the daemon does in its
        // turns.
        try bench.follow(asked.window, to: bench.committer.position)
        try save(&random)
        try bench.committer.checkpoint()
        let position = bench.committer.position
        let expected = try expectation(bench)
        #expect(bench.store.checkpointPosition == position)
        try bench.follow(asked.window, to: bench.store.checkpointPosition)
        let snapshot = try bench.store.snapshot()
        #expect(snapshot.appliedPosition == position)
        try save(&random, withCheckpoints: true)
        var (graph, saves) = (self, 0)
        let found = try bench.answer(try bench.job(asked, snapshot: snapshot)) {
            // If the graph grew with each object of an answer, the answer would never end.
            guard saves < 2 else { return }
            saves += 1
            try graph.save(&random, withCheckpoints: true)
        }
        self = graph
        return (found, expected)
    }

    private mutating func save(_ random: inout SplitMix64, withCheckpoints: Bool = false) throws {
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            try step()
            if withCheckpoints, Bool.random(using: &random) { try bench.committer.checkpoint() }
        }
    }
}

extension EngineBench {
    /// Returns a daemon whose readers answer everything but look-ups, and that has leased a million
    /// numbers.
    static func ofReaders(
        model: ManagedObjectModel = graphModel, limits: DaemonLimits = DaemonLimits(),
        clock: any Clock = SystemClock(), engineClock: (any Clock)? = nil
    ) throws -> EngineBench {
        var limits = limits
        limits.leaseNumbers = 1 << 20
        let bench = try EngineBench(
            model: model, clock: clock, limits: limits, engineClock: engineClock)
        bench.engine.reads.smallReadWork = 0
        _ = try bench.bench.committer.lease(1 << 20)
        return bench
    }

    /// Inserts nodes with numbers from 2 on and a hundred ranks, optionally all in group 1.
    func insertNodes(_ count: Int, isGrouped: Bool = false) throws {
        try bench.save([try bench.insert("Group", 1, ["title": .string("g")])])
        let group = try bench.reference("Group", 1)
        for start in stride(from: 2, to: count + 2, by: 1_000) {
            try bench.save(
                try (start..<min(start + 1_000, count + 2)).map {
                    var values: [String: PropertyValue] = ["rank": .int(Int64($0 % 100))]
                    if isGrouped { values["group"] = .reference(group) }
                    return try bench.insert("Node", UInt64($0), values)
                })
        }
    }

    /// Runs turns until a session's read has a reader.
    func turnsUntilRead(_ client: Peer) throws {
        for _ in 0..<100 where client.session.read?.job == nil { try turn() }
        #expect(client.session.read?.job != nil)
    }

    /// Sends a request, holds the read for this many turns with a save in each, and answers it.
    ///
    /// Returns the answer, and the position at which the request was sent.
    func holding(
        _ question: ClientMessage, turns: Int, saving save: (_ turn: Int) throws -> SaveOperation
    ) throws -> (answer: DaemonMessage, asked: UInt64) {
        let (asker, saver) = (try client(), try client())
        let asked = position.number
        let id = try asker.send(question)
        try turnsUntilRead(asker)
        holdReaders(true)
        for turn in 0..<turns {
            let saved = try saver.send(.save(saver.saveRequest([try save(turn)])))
            try self.turn()
            try saver.read()
            #expect(saver.received.last?.id == saved)
        }
        try asker.read()
        #expect(asker.received.isEmpty)
        holdReaders(false)
        return (try asker.answer(id), asked)
    }
}
