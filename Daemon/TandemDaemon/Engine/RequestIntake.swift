import TandemIO
import TandemModel
import TandemWire

/// Decodes received bytes and queues the requests in their sessions.
///
/// A request that violates the protocol or a limit is refused, or results in the ``Ending`` of the
/// connection.
final class RequestIntake {
    private let committer: Committer
    private let clock: any Clock
    private let admission: Admission
    private let reads: ReadDispatcher
    private let syncs: SyncQueue
    private let reporter: ClientReporter

    init(
        _ committer: Committer, clock: any Clock, admission: Admission, reads: ReadDispatcher,
        syncs: SyncQueue, reporter: ClientReporter
    ) {
        (self.committer, self.clock, self.admission) = (committer, clock, admission)
        (self.reads, self.syncs, self.reporter) = (reads, syncs, reporter)
    }

    private var limits: DaemonLimits { committer.limits }

    // MARK: Receiving

    /// Decodes bytes and queues the requests; returns the error that ends the connection if the
    /// bytes are malformed or exceed a limit.
    ///
    /// `arrival` is the earliest possible arrival time of the bytes, or nil for the current time.
    func receive(
        _ bytes: UnsafeRawBufferPointer, from session: Session, at arrival: UInt64?
    ) -> Ending? {
        session.input.append(bytes, at: arrival ?? clock.monotonicNanoseconds)
        reporter.countReceived(bytes.count)
        // If no message is incomplete, these bytes begin a new one.
        var isAnother = session.input.unfinishedSince == nil
        do {
            while let (envelope, size) = try session.input.next() {
                if let ending = admit(envelope, size, session) { return ending }
                isAnother = true
            }
            refuseUnfinished(session)
        } catch {
            return Ending(error, isReady: session.isReady, limits, committer.limitCounters)
        }
        if session.input.isAtBoundary {
            session.input.endUnfinished()
        } else if isAnother {
            session.input.beginUnfinished(at: clock.monotonicNanoseconds)
        }
        if let ending = admission.countUnfinished(session) { return ending }
        guard session.hasRoom || session.inboundBytes <= limits.inboundBytes else {
            let text =
                "\(session.inboundBytes) bytes of requests wait while the client does not read answers"
            return Ending(committer.limitCounters.refusal(.inboundBytes, limits, text), .queue)
        }
        return nil
    }

    /// Queues a request; returns the error that ends the connection if the protocol requires that.
    private func admit(
        _ envelope: Envelope<ClientMessage>, _ bytes: Int, _ session: Session
    ) -> Ending? {
        if case .hello = envelope.message {
            guard !session.isReady else { return Ending("the client sent a second hello") }
            session.input.enqueue(envelope, bytes: bytes)
            return nil
        }
        if case .cancel = envelope.message, session.isReady {
            // A cancel message carries the id of a request that was admitted before.
            cancel(envelope.id, session)
            return nil
        }
        switch session.received(request: envelope.id) {
        case .run: session.input.enqueue(envelope, bytes: bytes)
        case .refuse(let error):
            committer.limitCounters.record(.requestsInFlight)
            // The client keeps sending requests without reading the answers.
            guard !session.isOverfull else { return Ending(error, .queue) }
            session.answer(.failure(error), to: envelope.id)
        case .close(let error): return Ending(error.message)
        case .ignore: break
        }
        return nil
    }

    /// Rejects a message of several frames at its first frame if the session's role does not allow
    /// it.
    private func refuseUnfinished(_ session: Session) {
        guard session.isReady, let (type, id) = session.input.unfinished,
            let action = ClientMessage.Kind(rawValue: type)?.writersAction
        else { return }
        do throws(TandemError) {
            try admission.authorize(.writer, of: session, to: action)
        } catch {
            session.input.skipMessage()
            guard case .run = session.received(request: id) else { return }
            session.answer(.failure(error), to: id)
        }
    }

    // MARK: Cancelling

    /// Cancels a request, whether it waits or runs, and answers it with `cancelled`.
    ///
    /// Requests that cannot be cancelled continue. A request that is not found is assumed to have
    /// already been answered, and the client gets that answer. Cost: a scan of the session's
    /// requests, at most `limits.requestsInFlight`.
    private func cancel(_ id: UInt32, _ session: Session) {
        guard end(request: id, session) else { return reporter.countLateCancel() }
        reporter.countCancelled()
        let error = TandemError(.cancelled, "the client cancelled the request")
        session.answer(.failure(error), to: id)
    }

    /// Cancels a request of a client for an administrator, or all its requests if `id` is 0;
    /// returns false if there is none.
    func cancelForAdministrator(_ id: UInt32, of session: Session) -> Bool {
        let ids = id == 0 ? session.cancellableIDs : [id]
        let ended = ids.filter { end(request: $0, session) }
        for id in ended {
            reporter.countCancelled()
            let error = TandemError(.cancelled, "an administrator cancelled the request")
            session.answer(.failure(error), to: id)
        }
        return !ended.isEmpty
    }

    /// Removes a cancellable request; returns false if there is none with this id.
    private func end(request id: UInt32, _ session: Session) -> Bool {
        if session.read?.id == id {
            reads.drop(session)
            assert(session.read == nil, "A cancelled read is no longer the running one.")
            return true
        }
        return session.input.cancel(request: id) || syncs.remove(id, of: session)
    }
}

extension ClientMessage.Kind {
    /// The action of a message that requires the role writer, for the error `denied`.
    ///
    /// Nil for other messages, and for those that always fit into one frame.
    fileprivate var writersAction: String? {
        switch self {
        case .save: "save"
        case .batch: "change objects in a batch"
        case .insert: "insert objects in a batch"
        default: nil
        }
    }
}
