import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire

/// The data of `tandem status` and `tandem clients`.
struct StatusReport {
    let committer: Committer
    let environment: EngineEnvironment
    let metrics: EngineMetrics
    let admission: Admission
    let reads: ReadDispatcher
    let journalMaintenance: JournalMaintenance
    /// The settings in effect, each with its source.
    let configuration: JSON
    /// The time when the last flush returned, in nanoseconds of the monotonic clock.
    let flushedAt: UInt64

    var json: JSON {
        let now = environment.clock.monotonicNanoseconds
        let position = committer.logPosition
        let (readers, lag) = (committer.store.readers, committer.readerLag)
        let bounds = committer.journal.bounds
        let counters = committer.counters
        let refusals = metrics.refusalsJSON
        let consumers = consumerStatus()
        return .object([
            "position": .int(Int64(committer.position)),
            "cursor": .string(position.description),
            "epoch": .int(Int64(position.epoch)),
            "log": .string(position.log.description),
            "store": .string(environment.storePath),
            "pid": .int(Int64(ThisProcess.processID)),
            "uptimeSeconds": .double(Double((now - environment.startedAt) / 1_000_000) / 1_000),
            "checkpoint": .int(Int64(committer.store.checkpointPosition)),
            "journalFirst": .int(Int64(bounds.first)),
            "spareFailure": committer.journal.spareFailure.map { .string("\($0)") } ?? .null,
            "journalIndexes": committer.journal.indexing.json,
            "retention": journalMaintenance.retention.status(of: committer.journal),
            "consumers": .array(consumers.list),
            "consumersFailure": consumers.failure.map { .string($0) } ?? .null,
            "mapBytes": .int(Int64(committer.store.quotaBytes)),
            "usedBytes": .int(Int64(committer.store.quotaUsedBytes)),
            "usedPercent": .int(Int64(Maintenance.percent(committer.store))),
            "storeReaders": .int(Int64(readers.count)),
            "reads": reads.status(now),
            "oldestReaderSeconds": .int(Int64(clamping: lag.seconds)),
            "oldestReaderBytes": .int(Int64(clamping: lag.bytes)),
            "deadReaders": .int(Int64(journalMaintenance.deadReaders)),
            "readOnly": .bool(committer.isReadOnly),
            "readOnlyReason": committer.isReadOnly
                ? .string(committer.readOnlyState.reason) : .null,
            "readOnlySince": committer.readOnlyState.since.map { .double(Double($0) / 1_000_000) }
                ?? .null,
            "model": committer.store.model.map { .string($0.hash.description) } ?? .null,
            "clients": .array(admission.ordered.map(client)),
            "connectionsOpened": .int(Int64(metrics.opened)),
            "refused": .int(Int64(metrics.refused)),
            "refusedByReason": refusals.connections,
            "refusedSaves": refusals.saves,
            "receivedBytes": .int(Int64(metrics.received)),
            "sentBytes": .int(Int64(sentBytes)),
            "ring": .object([
                "transactions": .int(Int64(committer.ring.count)),
                "bytes": .int(Int64(committer.ring.bytes)),
            ]),
            "histograms": .object([
                "save": metrics.saves.json, "flush": counters.flushes.json,
                "checkpoint": counters.checkpoints.json, "fanOut": metrics.fanOut.json,
            ]),
            "deniedRequests": .int(Int64(metrics.deniedRequests)),
            "cancelledRequests": .int(Int64(metrics.cancelledRequests)),
            "lateCancels": .int(Int64(metrics.lateCancels)),
            "limits": committer.limitCounters.status(committer.limits),
            "configuration": configuration,
            "batches": .int(Int64(counters.batches)),
            "transactions": .int(Int64(counters.transactions)),
            "repeatedSaves": .int(Int64(counters.repeats)),
            "checkpoints": .int(Int64(counters.checkpoints.count)),
            "meanFlushMicroseconds": .int(Int64(counters.flushes.mean / 1_000)),
            "longestFlushMicroseconds": .int(Int64(counters.flushes.longest / 1_000)),
            "longestCheckpointMicroseconds": .int(Int64(counters.checkpoints.longest / 1_000)),
            "lastFlushNanoseconds": .int(Int64(clamping: flushedAt)),
            "stalls": counters.stalls.json,
            "slowRequests": metrics.slow.json(at: now),
            "replayedChanges": .int(Int64(counters.replayedChanges)),
            "replayMicroseconds": .int(Int64(counters.replayNanoseconds / 1_000)),
        ])
    }

    private var sentBytes: UInt64 {
        admission.sessions.values.reduce(metrics.sentBefore) { $0 + $1.output.written }
    }

    /// Returns the consumers, or the reason why they can't be read.
    private func consumerStatus() -> (list: [JSON], failure: String?) {
        do {
            return (consumerList(try committer.consumers.all()), nil)
        } catch {
            return ([], "\(error)")
        }
    }

    private func consumerList(_ consumers: [Consumer]) -> [JSON] {
        let bounds = committer.journal.bounds
        return consumers.map { consumer in
            .object([
                "name": .string(consumer.name), "uid": .int(Int64(consumer.owner)),
                "acknowledged": .int(Int64(clamping: consumer.acknowledged)),
                "lag": .int(Int64(bounds.last - min(bounds.last, consumer.acknowledged))),
                "expired": .bool(consumer.acknowledged < bounds.first - 1),
            ])
        }
    }

    private func client(_ session: Session) -> JSON {
        .object([
            "id": .int(Int64(session.id)), "author": .string(session.client.author),
            "uid": .int(Int64(session.peer.uid)), "pid": .int(Int64(session.peer.pid)),
            "unit": .string(session.client.unit), "role": .string(session.client.role.rawValue),
            "position": .int(Int64(session.sent)),
            "lag": .int(Int64(committer.position - min(committer.position, session.sent))),
            "queuedBytes": .int(Int64(session.outboundBytes)),
            "requests": .int(Int64(session.input.messages)),
            "pushes": .int(Int64(session.output.pushes)),
            "request": session.read.map { .string("\($0.id) \($0.message.subject)") } ?? .null,
            "entities": .array(entities(session).map { .string($0) }),
            "pins": .int(Int64(session.pins.count)),
            "oldestPin": session.pins.positions.min()
                .map { .int(Int64(clamping: $0)) } ?? .null,
        ])
    }

    /// Returns the names of the entities that a session subscribes to.
    private func entities(_ session: Session) -> [String] {
        guard let model = committer.store.model else { return [] }
        return session.interests.compactMap { model.entity(tagged: $0)?.name }.sorted()
    }
}

extension IndexingState {
    /// The progress of indexing the journal's segments.
    fileprivate var json: JSON {
        .object([
            "waiting": .int(Int64(waiting)), "made": .int(Int64(made)),
            "failure": failure.map { .string($0) } ?? .null,
        ])
    }
}
