import TandemIO
import TandemModel
import TandemWire

/// What `tandem status` and `tandem clients` show.
extension Engine {
    var status: JSON {
        let now = clock.monotonicNanoseconds
        let usage = committer.store.usage
        let bounds = committer.journal.bounds
        let counters = committer.counters
        return .object([
            "position": .int(Int64(committer.position)),
            "cursor": .string(position.description),
            "epoch": .int(Int64(position.epoch)),
            "log": .string(position.log.description),
            "store": .string(storePath),
            "pid": .int(Int64(ThisProcess.processID)),
            "uptimeSeconds": .double(Double((now - startedAt) / 1_000_000) / 1_000),
            "checkpoint": .int(Int64(committer.store.checkpointPosition)),
            "journalFirst": .int(Int64(bounds.first)),
            "mapBytes": .int(Int64(usage.mapBytes)),
            "usedBytes": .int(Int64(usage.usedBytes)),
            "readOnly": .bool(committer.isReadOnly),
            "model": committer.store.model.map { .string($0.hash.description) } ?? .null,
            "clients": .array(sessions.values.sorted { $0.id < $1.id }.map(client)),
            "refused": .int(Int64(refused)),
            "batches": .int(Int64(counters.batches)),
            "transactions": .int(Int64(counters.transactions)),
            "repeatedSaves": .int(Int64(counters.repeats)),
            "checkpoints": .int(Int64(counters.checkpoints)),
            "meanFlushMicroseconds": .double(
                Double(counters.flushNanoseconds / 1_000) / Double(max(1, counters.batches))),
            "longestFlushMicroseconds": .int(Int64(counters.longestFlush / 1_000)),
            "longestCheckpointMicroseconds": .int(Int64(counters.longestCheckpoint / 1_000)),
            "stalls": counters.stalls.json,
            "replayedChanges": .int(Int64(counters.replayedChanges)),
            "replayMicroseconds": .int(Int64(counters.replayNanoseconds / 1_000)),
        ])
    }

    private func client(_ session: Session) -> JSON {
        .object([
            "id": .int(Int64(session.id)), "author": .string(session.author),
            "uid": .int(Int64(session.peer.uid)), "pid": .int(Int64(session.peer.pid)),
            "unit": .string(session.unit), "position": .int(Int64(session.sent)),
            "lag": .int(Int64(committer.position - min(committer.position, session.sent))),
            "queuedBytes": .int(Int64(session.outboundBytes)),
            "requests": .int(Int64(session.requests)), "pushes": .int(Int64(session.pushes)),
        ])
    }
}
