import TandemIO
import TandemModel
import TandemWire

/// The path of saves from received bytes to a durable batch.
extension Engine {
    /// Decodes received bytes and queues the requests; malformed bytes close the connection.
    func receive(_ bytes: UnsafeRawBufferPointer, from session: Session) {
        session.decoder.append(bytes)
        metrics.received += UInt64(bytes.count)
        session.recordArrival(at: arrivedAt ?? clock.monotonicNanoseconds)
        // If no message is incomplete, these bytes begin a new one.
        var isAnother = session.unfinishedSince == nil
        do {
            var buffered = session.decoder.bufferedBytes
            while let envelope = try session.decoder.next() {
                let left = session.decoder.bufferedBytes
                session.countRequest()
                guard admit(envelope, buffered - left, session) else { return }
                buffered = left
                isAnother = true
            }
            authorizeUnfinished(session)
        } catch {
            return fail(session, error)
        }
        let isUnfinished = !session.decoder.isAtBoundary
        if isAnother || !isUnfinished {
            session.unfinishedSince = isUnfinished ? clock.monotonicNanoseconds : nil
        }
        guard countUnfinished(session) else { return }
        guard session.hasRoom || session.inboundBytes <= limits.inboundBytes else {
            let text =
                "\(session.inboundBytes) bytes of requests wait while the client does not read answers"
            return end(session, limitCounters.refusal(.inboundBytes, limits, text), .queue)
        }
        schedule(session)
    }

    /// Queues a request; returns false if the request ends the connection.
    private func admit(
        _ envelope: Envelope<ClientMessage>, _ bytes: Int, _ session: Session
    ) -> Bool {
        if case .hello = envelope.message {
            guard !session.isReady else {
                fail(session, "the client sent a second hello")
                return false
            }
            session.receive(envelope, bytes: bytes)
            return true
        }
        if case .cancel = envelope.message, session.isReady {
            // A cancel message carries the id of a request that was admitted before.
            cancel(envelope.id, session)
            return true
        }
        switch session.machine.received(request: envelope.id) {
        case .run: session.receive(envelope, bytes: bytes)
        case .refuse(let error):
            limitCounters.record(.requestsInFlight)
            guard !session.isOverfull else {
                // The client keeps sending requests without reading the answers.
                end(session, error, .queue)
                return false
            }
            session.answer(.failure(error), to: envelope.id)
        case .close(let error):
            fail(session, error.message)
            return false
        case .ignore: break
        }
        return true
    }

    /// Plans saves, one per session and round, until none is left or a limit is reached.
    ///
    /// The limits are a full batch and ``DaemonLimits/savesInTurn`` rounds. The remaining saves
    /// wait for the next call, after sessions whose first save arrives meanwhile. No planned
    /// save is answered or visible to reads before ``turn()`` has flushed it.
    func planSaves() throws {
        for _ in 0..<DaemonLimits.savesInTurn {
            for _ in 0..<saving.count {
                guard !committer.isBatchFull else { return }
                guard let session = saving.popFirst() else { return }
                guard !session.isClosing, session.hasSave, let save = session.dequeueSave() else {
                    continue
                }
                try planSave(save.request, save.id, session, since: save.arrival)
                schedule(session)
            }
        }
    }

    private func planSave(
        _ request: SaveRequest, _ id: UInt32, _ session: Session, since arrival: UInt64
    ) throws {
        savers.append(session)
        do {
            guard request.saveID.count <= 64 else {
                throw TandemError(.usage, "a save id must have at most 64 bytes")
            }
            if !request.onlyAsks { try authorize(.writer, of: session, to: "save") }
            let principal = try session.principal(author: request.author, context: request.context)
            switch try committer.begin(request, by: principal) {
            case .planned(let saved), .answered(let saved):
                planned.append(
                    PlannedSave(session: session, id: id, saved: saved, arrival: arrival))
            }
        } catch let error as TandemError {
            refusals.append((session, id, error))
            session.awaitsRefusal = true
        }
    }

    /// Flushes the batch, then answers its saves before any other session is served.
    func commit() throws {
        let before = committer.position
        if let transactions = try flush() {
            if !transactions.isEmpty { announce(transactions, after: before) }
            try pumpSavers()
            refuseUnkept()
            answerPlanned()
            settleBatch(because: nil)
        } else {
            planned.removeAll(keepingCapacity: true)
        }
        answerRefused()
        for session in savers {
            finish(session)
            schedule(session)
        }
        answered(planned)
        planned.removeAll(keepingCapacity: true)
        savers.removeAll(keepingCapacity: true)
    }

    private func announce(_ transactions: [EncodedTransaction], after position: UInt64) {
        flushedAt = clock.monotonicNanoseconds
        news = transactions.reduce(0) { $0 + $1.bytes.count }
        let hasSubscribers = subscribers.markLagging(transactions, after: position) {
            following.append($0)
        }
        if hasSubscribers, !following.isEmpty {
            fanOuts.begin(
                after: position, upTo: committer.position, at: flushedAt,
                turns: following.drainTicket)
        }
        wakeSyncs()
    }

    /// Pushes a save's own transaction to the client that sent it, before the answer and in the
    /// same write.
    private func pumpSavers() throws {
        for session in savers where session.isReady { try pump(session) }
    }

    /// Rejects saves without changes if there was no room to record their answers.
    ///
    /// Such a save had no effect.
    private func refuseUnkept() {
        guard let refusal = committer.unkeptRefusal else { return }
        for save in planned where save.needsKeeping && !save.session.isClosing {
            refused(save.session, refusal)
            save.session.answer(.failure(refusal), to: save.id)
        }
        planned.removeAll(where: \.needsKeeping)
    }

    private func answerPlanned() {
        for save in planned where !save.session.isClosing {
            let (session, id, saved) = (save.session, save.id, save.saved)
            if session.sent >= saved.position {
                session.answer(.saved(saved), to: id)
            } else {
                session.held.append((saved.position, id, .saved(saved)))
            }
        }
    }

    private func answerRefused() {
        for (session, id, error) in refusals where !session.isClosing {
            session.awaitsRefusal = false
            refused(session, error)
            session.answer(.failure(error), to: id)
        }
        refusals.removeAll(keepingCapacity: true)
    }

    /// Flushes the batch; returns nil if the flush failed, so that none of its saves took effect.
    ///
    /// In that case all its saves are answered with the error. This includes the rejected ones,
    /// because their reason may have been a save that did not take effect.
    private func flush() throws -> [EncodedTransaction]? {
        do {
            return try committer.flush()
        } catch let error as TandemError {
            refusals =
                planned.map { ($0.session, $0.id, error) }
                + refusals.map { ($0.session, $0.id, error) }
            settleBatch(because: error)
            return nil
        }
    }
}
