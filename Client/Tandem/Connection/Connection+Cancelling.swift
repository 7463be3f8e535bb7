import TandemModel
import TandemWire

/// Questions whose task may be cancelled before they are answered.
extension Connection {
    /// Sends a request and awaits its answer; when the task is cancelled before, a question is given up and fails with `cancelled` at once.
    ///
    /// The daemon is told, and stops working on it. What is no question (``ClientMessage/isQuestion``) is awaited whatever becomes
    /// of the task.
    nonisolated(nonsending) func answerUnlessCancelled(
        _ message: ClientMessage
    ) async -> Result<DaemonMessage, TandemError> {
        guard message.isQuestion else { return await answerAsync(message) }
        // A handler would hear of it as well, but only when the question is sent.
        guard !Task.isCancelled else { return .failure(.givenUp) }
        let reply = submit(message)
        return await withTaskCancellationHandler {
            await reply.value()
        } onCancel: {
            reply.settle(.failure(.givenUp))
            state.withLock { $0.cancel(reply) }
        }
    }
}

extension TandemError {
    /// What a question ends with whose task is cancelled; who awaits it is thrown `CancellationError`.
    fileprivate static var givenUp: TandemError {
        TandemError(.cancelled, "the task was cancelled before the daemon answered")
    }
}
