import TandemModel
import TandemWire

/// Questions to which their clients, or an administrator, want no answer any more.
extension Engine {
    /// Ends a question, wherever it waits or is carried out; it is answered by `cancelled`.
    ///
    /// What is no question goes on. One that is not there was answered meanwhile, as far as anybody can tell: that is the
    /// client's answer then. Cost: a look at what the session asked, at most `limits.requestsInFlight`.
    func cancel(_ id: UInt32, _ session: Session) {
        guard end(question: id, session) else { return metrics.lateCancels += 1 }
        metrics.cancelledRequests += 1
        let error = TandemError(.cancelled, "the client gave up the request")
        session.answer(.failure(error), to: id)
    }

    /// Ends a question of another client, or all of them if `id` is 0; false if there is none.
    func cancel(
        _ id: UInt32, ofClient client: UInt64, for session: Session
    ) throws(TandemError) -> Bool {
        try demand(.admin, of: session, to: "cancel a client's request")
        guard let other = sessions[client], other !== session else { return false }
        let questions = id == 0 ? other.questions : [id]
        let ended = questions.filter { end(question: $0, other) }
        for question in ended {
            metrics.cancelledRequests += 1
            let error = TandemError(.cancelled, "an administrator ended the request")
            other.answer(.failure(error), to: question)
        }
        finish(other)
        schedule(other)
        return !ended.isEmpty
    }

    /// Forgets a question; false if there is none of that id.
    private func end(question id: UInt32, _ session: Session) -> Bool {
        if session.read?.id == id {
            drop(session)
            return true
        }
        if session.giveUp(question: id) { return true }
        guard let index = session.syncs.firstIndex(where: { $0.id == id }) else { return false }
        session.syncs.remove(at: index)
        noteSyncs(session)
        return true
    }
}
