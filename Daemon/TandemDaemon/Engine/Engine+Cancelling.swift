import TandemModel
import TandemWire

/// Requests cancelled by their clients or by an administrator.
extension Engine {
    /// Cancels a request, whether it waits or runs, and answers it with `cancelled`.
    ///
    /// Requests that cannot be cancelled continue. A request that is not found is assumed to have
    /// been answered already; that answer is then the one the client gets. Cost: a scan of the
    /// session's requests, at most `limits.requestsInFlight`.
    func cancel(_ id: UInt32, _ session: Session) {
        guard end(question: id, session) else { return metrics.lateCancels += 1 }
        metrics.cancelledRequests += 1
        let error = TandemError(.cancelled, "the client cancelled the request")
        session.answer(.failure(error), to: id)
    }

    /// Cancels a request of another client, or all of them if `id` is 0; returns false if there is
    /// none.
    func cancel(
        _ id: UInt32, ofClient client: UInt64, for session: Session
    ) throws(TandemError) -> Bool {
        try authorize(.admin, of: session, to: "cancel a client's request")
        guard let other = sessions[client], other !== session else { return false }
        let questions = id == 0 ? other.questions : [id]
        let ended = questions.filter { end(question: $0, other) }
        for question in ended {
            metrics.cancelledRequests += 1
            let error = TandemError(.cancelled, "an administrator cancelled the request")
            other.answer(.failure(error), to: question)
        }
        finish(other)
        schedule(other)
        return !ended.isEmpty
    }

    /// Removes a cancellable request; returns false if there is none with this id.
    private func end(question id: UInt32, _ session: Session) -> Bool {
        if session.read?.id == id {
            drop(session)
            return true
        }
        if session.cancel(question: id) { return true }
        guard let index = session.syncs.firstIndex(where: { $0.id == id }) else { return false }
        session.syncs.remove(at: index)
        updateSyncs(session)
        return true
    }
}
