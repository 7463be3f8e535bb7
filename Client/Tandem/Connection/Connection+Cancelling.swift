import TandemModel
import TandemWire

/// Read-only requests that end early if their task is cancelled.
extension Connection {
    /// Sends a request and awaits its answer, or fails with `cancelled` if the task is cancelled
    /// first.
    ///
    /// Only read-only requests (``ClientMessage/isReadOnly``) are cancelled; the daemon then stops
    /// working on them. Any other request is awaited until it is answered.
    func answerUnlessCancelled(
        _ message: ClientMessage, at position: Position? = nil
    ) async -> Result<DaemonMessage, TandemError> {
        guard message.isReadOnly else { return await submit(message, at: position).value() }
        // The cancellation handler would be called as well, but only after the request was sent.
        guard !Task.isCancelled else { return .failure(.cancelled) }
        let reply = submit(message, at: position)
        return await reply.valueUnlessCancelled { self.state.withLock { $0.cancel(reply) } }
    }
}

extension ReplyPromise {
    /// Returns the outcome, or fails with `cancelled` and calls `cancel` if the task is cancelled
    /// first.
    func valueUnlessCancelled(_ cancel: @escaping @Sendable () -> Void = {}) async -> Outcome {
        await withTaskCancellationHandler {
            await value()
        } onCancel: {
            resolve(.failure(.cancelled))
            cancel()
        }
    }
}

extension TandemError {
    /// The outcome of a cancelled request; its caller throws `CancellationError` instead.
    fileprivate static var cancelled: TandemError {
        TandemError(.cancelled, "the task was cancelled before the daemon answered")
    }
}
