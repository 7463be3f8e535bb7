import TandemIO
import TandemModel
import TandemStore
import TandemWire
import TestSupport

@testable import TandemDaemon

/// The end of a world: without further faults, every request must complete.
extension World {
    /// The number of rounds after which everything must be idle if there are no long fetches.
    private static let patience = 400

    /// The number of rounds that the clients' open requests may take.
    ///
    /// Each request may be a fetch of all objects that ever existed, with a message for each
    /// object, and only one job runs per round.
    private var patience: Int {
        let messages = clients.reduce(0) { $0 + $1.requests.count } * oracle.truth.numbers.count
        return Self.patience + messages + Int(oracle.truth.last) / settings.limits.sliceReads
    }

    func settle() {
        record("settle")
        let patience = patience
        machine.disarm()
        machine.disk.capacityBytes = nil
        var chance = Chance(plan.seed, .max)
        start()
        for client in clients { client.isStalled = false }
        for turn in 0..<patience where oracle.violation == nil {
            for client in clients where client.pipe == nil { connect(client, &chance) }
            for pipe in pipes {
                pipe.widen()
                pipe.carry(.max)
            }
            round(&chance, all: true)
            for client in clients { deliver(to: client, .max) }
            machine.clock.advance(byNanoseconds: 20_000_000)
            for client in clients where client.isReady { finish(client, isLast: turn > 20) }
            if turn > 20, clients.allSatisfy(isAtRest) { return conclude() }
        }
        let waiting = clients.filter { !isAtRest($0) }
        oracle.report(0, "the world does not become idle: \(waiting.map(describe))")
    }

    private func describe(_ client: SimulatedClient) -> String {
        "client \(client.number) in \(client.machine.state) at \(client.cursor), "
            + "\(client.requests.count) requests, "
            + "\(client.repeatable(isOpen: true).count) open saves, \(describe(client.pipe))"
    }

    private func describe(_ pipe: Pipe?) -> String {
        guard let pipe, let sessions = daemon?.engine.admission.sessions.values,
            let session = sessions.first(where: { $0.socket.descriptor == pipe.descriptor })
        else { return "no session" }
        return "\(pipe.outgoing.count) bytes to come, \(pipe.incoming.count) to go, "
            + describe(session)
    }

    func describe(_ session: Session) -> String {
        let wait = daemon.map { "\($0.engine.queues.wait(of: session))" } ?? "nothing"
        let read = session.read.map { $0.job == nil ? "a read waits" : "a read has a reader" }
        return "\(session.outboundBytes) queued, \(session.input.queue.waiting.count) in, "
            + "\(session.output.held.count) held, \(session.syncs.count) syncs, sent \(session.sent), "
            + "waits for \(wait), in \(session.marks.rawValue), \(read ?? "no read")"
    }

    private func finish(_ client: SimulatedClient, isLast: Bool) {
        for save in client.repeatable(isOpen: true) { client.send(save) }
        for batch in client.repeatableBatches(isOpen: true) { client.send(batch) }
        guard isLast, client.requests.isEmpty, client.cursor < oracle.truth.last else { return }
        let last = oracle.truth.last
        client.send(.sync(Sync(number: last)), .sync(last, floor: oracle.known))
    }

    private func isAtRest(_ client: SimulatedClient) -> Bool {
        client.isReady && client.requests.isEmpty && client.cursor == oracle.truth.last
            && client.repeatable(isOpen: true).isEmpty
            && client.repeatableBatches(isOpen: true).isEmpty
    }

    private func conclude() {
        for client in clients {
            for save in client.saves where save.state == .acknowledged {
                guard save.epoch == oracle.epoch, let answer = save.answer else { continue }
                guard answer.wrote else { continue }
                let key = Truth.SaveKey(uid: client.uid, id: save.request.saveID)
                oracle.expect(
                    oracle.truth.position(of: key) == answer.position, 3,
                    "the save acknowledged at \(answer.position) is gone")
            }
        }
        compareStores()
        record("end", oracle.truth.last, UInt64(oracle.epoch))
    }

    // MARK: Law 6

    /// Checks that the store equals a replay of all transactions into an empty one, byte for byte.
    func compareStores() {
        guard let daemon, daemon.committer.store.appliedPosition == oracle.truth.last else {
            return
        }
        do {
            let path = try directory.make("replay")
            defer { directory.remove("replay") }
            let replayed = try Store.open(
                path: path, newIdentity: StoreIdentity(log: settings.log, epoch: 1))
            defer { replayed.close() }
            for transaction in oracle.truth.transactions { try replayed.apply(transaction) }
            let expected = try lines(of: replayed)
            let found = try lines(of: daemon.committer.store)
            let difference = zip(expected, found).first { $0 != $1 }
            let example = difference.map { "\($0.0.prefix(200)) against \($0.1.prefix(200))" }
            oracle.expect(
                expected == found, 6,
                "the store at \(oracle.truth.last) is not its replay: "
                    + (example ?? "\(expected.count) lines against \(found.count)"))
            record("compared", oracle.truth.last, UInt64(found.count))
        } catch {
            oracle.report(6, "the store cannot be compared: \(error)")
        }
    }

    private func lines(of store: Store) throws -> [String] {
        var lines: [String] = []
        try store.dump { lines.append($0) }
        return lines
    }
}
