import TandemModel
import TandemWire

/// The path of saves from received bytes to a durable batch.
extension Engine {
    /// Decodes bytes and queues the requests; malformed bytes close the connection.
    ///
    /// `arrival` is the earliest possible arrival time of the bytes, or nil for the current time.
    func receive(
        _ bytes: UnsafeRawBufferPointer, from session: Session, at arrival: UInt64? = nil
    ) {
        if let ending = intake.receive(bytes, from: session, at: arrival) {
            end(session, ending)
        } else {
            schedule(session)
        }
    }

    /// Plans saves, one per session and round, until none is left or a limit is reached.
    ///
    /// The limits are a full batch and ``DaemonLimits/savesInTurn`` rounds. The remaining saves
    /// wait for the next call, after sessions whose first save arrives in the meantime. No planned
    /// save is answered or visible to reads before ``turn()`` has flushed it.
    func planSaves() throws {
        for _ in 0..<DaemonLimits.savesInTurn {
            for _ in 0..<queues.savingCount {
                guard !committer.isBatchFull else { return }
                guard let session = queues.popSaving() else { return }
                guard !session.isClosing, session.hasSave, let save = session.input.popSave() else {
                    continue
                }
                try saves.plan(save.request, save.id, session, since: save.arrival)
                schedule(session)
            }
        }
    }

    /// Flushes the batch, then answers its saves before any other session is served, apart from a
    /// few subscribers.
    ///
    /// Writing an answer wakes the thread that saves, often on this thread's processor. A push that
    /// is written afterwards then waits until that thread has run.
    ///
    /// If the flush fails, none of its saves takes effect, and all of them are answered with the
    /// error.
    func commit() throws {
        let before = committer.position
        if let done = try flush() {
            let first = announce(done.transactions, after: before)
            // A save's own transaction is pushed to its client before the answer and in the same
            // write.
            for session in saves.savers where session.isReady { try pump(session) }
            saves.answerPlanned(checkpointError: done.checkpointError)
            settleBatch(because: nil, checkpointError: done.checkpointError)
            for session in first { try push(to: session) }
        }
        saves.answerRefused()
        for session in saves.savers {
            finish(session)
            schedule(session)
        }
        saves.end()
    }

    /// Flushes the batch; returns nil if the flush failed.
    private func flush() throws -> Committer.Flush? {
        do {
            return try committer.flush()
        } catch let error as TandemError {
            saves.rejectAll(because: error)
            settleBatch(because: error, checkpointError: nil)
            return nil
        }
    }

    /// Queues the subscribers of a flush; returns those to serve before the saves are answered.
    ///
    /// Returns none for a large batch, and no subscriber that was lagging before.
    private func announce(
        _ transactions: [EncodedTransaction], after position: UInt64
    ) -> [Session] {
        guard !transactions.isEmpty else { return [] }
        var first: [Session] = []
        let most =
            transactions.count <= DaemonLimits.transactionsBeforeAnswers
            ? DaemonLimits.subscribersBeforeAnswers : 0
        let now = clock.monotonicNanoseconds
        let hasSubscribers = pushes.announce(transactions, after: position, at: now) { session in
            queues.queueOutput(of: session)
            guard first.count < most, !saves.savers.contains(where: { $0 === session }) else {
                return
            }
            first.append(session)
        }
        if hasSubscribers {
            queues.beginFanOut(after: position, upTo: committer.position, at: now)
        }
        wakeSyncs()
        return first
    }

    /// Reports the outcome of the flush to the running batch insert, update or delete.
    private func settleBatch(because failure: TandemError?, checkpointError: TandemError?) {
        guard let session = batches.didFlush(because: failure, checkpointError: checkpointError)
        else { return }
        finish(session)
        schedule(session)
    }

    // MARK: Models

    /// Announces a model change to all sessions, and ends the sessions that it makes outdated.
    func announce(_ change: ModelInstaller.Change, by installer: Session) {
        // Positions before the model change can no longer be read.
        journalMaintenance.endPins(below: committer.store.modelPosition)
        journalMaintenance.scheduleRetention()
        if !change.wasEmpty {
            for (session, ending) in models.outdated(except: installer) { end(session, ending) }
        }
        // Only new entities get new tags, so existing interests stay valid.
        pushes.announceModel(after: change.before) { queues.queueOutput(of: $0) }
        wakeSyncs()
    }

    // MARK: Syncs

    /// Queues the sessions whose awaited position is reached.
    private func wakeSyncs() {
        while let id = syncs.popReached(committer.position) {
            if let session = admission.sessions[id] { queues.queueOutput(of: session) }
        }
    }

    /// Answers syncs whose timeout has expired.
    func expireSyncs() {
        guard syncs.nextDeadline != nil else { return }
        let now = clock.monotonicNanoseconds
        while let session = syncs.expireFirst(
            admission.sessions, now: now, last: committer.position)
        {
            // If the session waited for its socket and all bytes are accepted now, the poller will
            // not report the socket again.
            finish(session)
            schedule(session)
        }
    }
}
