import TandemModel
import TandemWire

/// Read-only requests that end early if their task is cancelled.
extension Connection {
    /// Sends a request and awaits its answer, or fails with `cancelled` if the task is cancelled
    /// first.
    ///
    /// Only read-only requests (``ClientMessage/isQuestion``) are cancelled; the daemon then stops
    /// working on them. Any other request is awaited to its end.
    func answerUnlessCancelled(
        _ message: ClientMessage
    ) async -> Result<DaemonMessage, TandemError> {
        guard message.isQuestion else { return await answerAsync(message) }
        // The handler would be called as well, but only after the request was sent.
        guard !Task.isCancelled else { return .failure(.givenUp) }
        let reply = submit(message)
        return await withTaskCancellationHandler {
            await reply.value()
        } onCancel: {
            reply.resolve(.failure(.givenUp))
            state.withLock { $0.cancel(reply) }
        }
    }
}

extension TandemError {
    /// The outcome of a cancelled request; its caller throws `CancellationError` instead.
    fileprivate static var givenUp: TandemError {
        TandemError(.cancelled, "the task was cancelled before the daemon answered")
    }
}
