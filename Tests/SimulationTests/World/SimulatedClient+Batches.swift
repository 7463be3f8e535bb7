import TandemModel
import TandemQuery
import TandemWire

/// Batches of a client, which it repeats until they end.
extension SimulatedClient {
    /// Sends a batch that deletes or changes objects.
    func run(_ request: FetchDescriptor, _ work: Batch.Work) {
        guard let model, let identity, isReady else { return }
        var id = ByteWriter()
        id.uint32(UInt32(number))
        id.uint32(UInt32(batches.count))
        id.uint8(0)
        var batch = Batch(
            batchID: id.bytes, contentHash: StableHash([]), modelVersion: model.version,
            request: request, work: work)
        var content = ByteWriter()
        batch.encode(into: &content)
        batch.contentHash = StableHash(content.bytes)
        let record = BatchRecord(batch, sentAt: machine.cursor, epoch: identity.epoch)
        batches.append(record)
        send(record)
    }

    func send(_ record: BatchRecord) {
        guard isReady, !record.isSent, machine.inFlightCount < WireLimits.requestsInFlight else {
            return
        }
        var batch = record.batch
        if record.wasSent { batch.firstSentAt = record.sentAt }
        record.isSent = true
        record.wasSent = true
        send(.batch(batch), .batch(record))
    }

    /// Returns the batches that may be repeated: open ones if `isOpen`, otherwise those that ended.
    func repeatableBatches(isOpen: Bool) -> [BatchRecord] {
        batches.filter { batch in
            !batch.isSent && batch.epoch == identity?.epoch
                && batch.state == (isOpen ? .open : .acknowledged)
        }
    }

    /// Handles a batch that failed without any effect.
    func failed(_ record: BatchRecord, _ error: TandemError) {
        record.isSent = false
        // Too many batches are queued, which says nothing about this one.
        if error.code == .limitExceeded { return }
        let isForgotten =
            error.code == .unknownOutcome
            && record.answer.map { !oracle.truth.remembers($0.position) } ?? true
        oracle.expect(
            record.state != .acknowledged || isForgotten, 3,
            "the repeat of a batch is refused: \(error)")
        record.state = error.code == .unknownOutcome ? .unknown : .refused
    }

    /// Handles a batch that ended or stopped.
    func ended(_ record: BatchRecord, _ answer: BatchAnswer) {
        record.isSent = false
        oracle.ends(record, answer, uid: uid)
        guard answer.failure == nil else { return record.state = .refused }
        record.state = .acknowledged
        if record.answer == nil { record.answer = answer }
    }
}
