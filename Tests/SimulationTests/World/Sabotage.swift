import TandemIO
import TandemModel
import TandemStore
import TandemWire

@testable import TandemDaemon
@testable import TandemStore

/// A deliberate defect that the oracle must report; there is at least one for each law.
enum Sabotage: CaseIterable {
    /// Law 1: a sync does nothing and reports success.
    case diskLies
    /// Law 2: a client misses a push.
    case clientLosesPush
    /// Law 3: the last durable batch is lost in a crash.
    case losesLastBatch
    /// Law 3: the store loses a commit, and with it the mark of leased numbers.
    case losesCheckpoint
    /// Law 3: saves are repeated though their ids are forgotten.
    case ignoresFloor
    /// Linearizability: a read gets an earlier answer.
    case readsOldAnswers
    /// Law 4: a verdict is inverted.
    case turnsVerdicts
    /// Law 6: the store holds data that no transaction made.
    case writesIntoStore
    /// Law 7: a session is expired though it needs no removed transaction.
    case expiresSession
    /// A session is removed from the queue in which it waits.
    case forgetsSession
    /// Law 8: answers accumulate in a session.
    case overfillsSession
}

extension World {
    func apply(_ sabotage: Sabotage?) {
        switch sabotage {
        case .diskLies: machine.lies = true
        case .clientLosesPush: for client in clients { client.sabotage = .losesPush }
        case .ignoresFloor: for client in clients { client.sabotage = .ignoresFloor }
        case .turnsVerdicts: for client in clients { client.sabotage = .turnsVerdicts }
        case .readsOldAnswers: for client in clients { client.sabotage = .readsOldAnswers }
        default: break
        }
    }

    /// Applies defects of a running daemon, between steps.
    func sabotageDaemon() {
        guard let daemon else { return }
        switch plan.sabotage {
        case .losesCheckpoint: if counters.rounds == 20 { savedStore() }
        case .writesIntoStore:
            guard counters.rounds == 60, let open = try? daemon.committer.store.current else {
                return
            }
            let key: [UInt8] = [0, 1] + [UInt8](repeating: 9, count: 16)
            try? open.put(daemon.committer.store.tables.links, key, [0, 1])
        case .expiresSession:
            let sessions = daemon.engine.admission.sessions.values.sorted { $0.id < $1.id }
            guard counters.rounds == 40, let session = sessions.first(where: \.isReady) else {
                return
            }
            daemon.engine.end(session, Ending(TandemError(.historyExpired, "made up")))
        case .forgetsSession:
            _ = daemon.engine.queues.popFollowing()
            _ = daemon.engine.queues.popReading()
        case .overfillsSession:
            guard let session = daemon.engine.admission.sessions.values.first(where: \.isReady)
            else {
                return
            }
            for id in UInt32(1_000)..<1_100 {
                session.answer(.synced(position: 1), to: id, heldUntil: .max)
            }
        default: break
        }
    }

    private func savedStore() {
        _ = try? daemon?.committer.checkpoint()
        directory.saveStore()
    }

    /// Removes the newest batch from the disk, as if it had never been flushed.
    func loseLastBatch() {
        let names = (try? machine.disk.list(machine.journal)) ?? []
        guard let name = names.last(where: { $0.hasSuffix(".journal") }),
            var bytes = machine.disk.bytes(of: machine.journal + "/" + name)
        else { return }
        var offset = 4_096
        var last: Range<Int>?
        while offset + 40 <= bytes.count, bytes[offset] != 0 {
            let length = (0..<4).reduce(0) { $0 | Int(bytes[offset + 8 + $1]) << (8 * $1) }
            let end = offset + (40 + length + 7) / 8 * 8
            last = offset..<end
            offset = end
        }
        guard let last else { return }
        for index in last { bytes[index] = 0 }
        machine.disk.install(bytes, at: machine.journal + "/" + name)
    }
}
