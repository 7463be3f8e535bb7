import TandemModel
import TandemWire

/// Sends the requests of one operation, and waits for their answers by blocking or suspending.
///
/// Each operation of a context is a single async function, which receives this value. The blocking
/// form of the operation runs the same function on the calling thread
/// (``ContextPart/blocking(_:)``). With ``Waiting/blocking``, the methods of this type block the
/// thread instead of suspending the function.
struct DaemonCalls {
    enum Waiting {
        /// Blocks the calling thread.
        case blocking
        /// Suspends the function until the answer arrives.
        case suspending
        /// Suspends the function; a read-only request fails with `cancelled` if the task is
        /// cancelled first.
        case cancellable
        /// Suspends the function; the answer is replaced by the error `cancelled` if the closure
        /// then returns false.
        case suspendingWhile(() -> Bool)
    }

    let connection: Connection
    private let waiting: Waiting
    /// Called with each request after its answer has arrived; a hook for tests.
    private let willUseAnswer: ((ClientMessage) throws -> Void)?

    init(
        _ connection: Connection, _ waiting: Waiting,
        willUseAnswer: ((ClientMessage) throws -> Void)? = nil
    ) {
        self.connection = connection
        self.waiting = waiting
        self.willUseAnswer = willUseAnswer
    }

    /// Waits for a connection with a model, and returns the session.
    func session() async throws(TandemError) -> ServerState {
        switch waiting {
        case .blocking: try connection.session()
        case .suspending, .cancellable, .suspendingWhile: try await connection.sessionAsync()
        }
    }

    /// Sends a request and returns its answer.
    ///
    /// If the operation blocks and `chunks` is not nil, only the head of a chunked answer is
    /// returned, and `chunks` receives the chunks.
    func answer(
        to message: ClientMessage, into chunks: ChunkReader? = nil
    ) async throws -> Result<DaemonMessage, TandemError> {
        let answer =
            switch waiting {
            case .blocking: connection.answer(message, into: chunks)
            case .suspending: await connection.answerAsync(message)
            case .cancellable: await connection.answerUnlessCancelled(message)
            case .suspendingWhile(let isWanted):
                Self.wanted(await connection.answerAsync(message), isWanted)
            }
        try willUseAnswer?(message)
        return answer
    }

    /// Sends a request, and returns the value that `read` extracts from the answer.
    ///
    /// Throws the error of a failed request, and `storage` if `read` returns nil.
    func answer<Answer>(
        to message: ClientMessage, into chunks: ChunkReader? = nil,
        as read: (DaemonMessage) -> Answer?
    ) async throws -> Answer {
        let answer = try await answer(to: message, into: chunks).get()
        guard let value = read(answer) else { throw TandemError.unexpectedAnswer("a request") }
        return value
    }

    /// Sends a request whose answer is awaited later.
    func send(_ message: ClientMessage) -> ReplyPromise<DaemonMessage> {
        switch waiting {
        // The waiting thread reads the answer itself.
        case .blocking: connection.send(message)
        case .suspending, .cancellable, .suspendingWhile: connection.submit(message)
        }
    }

    /// Waits for the answer to a request that was sent with ``send(_:)``.
    func answer(
        of reply: ReplyPromise<DaemonMessage>
    ) async -> Result<DaemonMessage, TandemError> {
        switch waiting {
        case .blocking: connection.answer(of: reply)
        case .suspending, .cancellable: await reply.value()
        case .suspendingWhile(let isWanted): Self.wanted(await reply.value(), isWanted)
        }
    }

    /// Returns the position of the journal's end, after all transactions up to it have been pushed.
    ///
    /// Waits up to `milliseconds` for the journal to reach `position`; the result may be lower.
    func journalEnd(
        atLeast position: UInt64 = 0, milliseconds: UInt32 = 0
    ) async throws -> UInt64 {
        let sync = Sync(number: position, timeoutMilliseconds: milliseconds)
        return try await answer(to: .sync(sync)) {
            if case .synced(let position) = $0 { position } else { nil }
        }
    }

    /// Leases numbers for new objects.
    func leaseNumbers() async throws {
        _ = try await answer(to: .lease(count: connection.leaseCount)) {
            if case .lease = $0 { true } else { nil }
        }
    }

    private static func wanted(
        _ answer: Result<DaemonMessage, TandemError>, _ isWanted: () -> Bool
    ) -> Result<DaemonMessage, TandemError> {
        if isWanted() { return answer }
        return .failure(TandemError(.cancelled, "the answer is no longer wanted"))
    }
}

extension ContextPart {
    /// Runs an operation on the calling thread, which blocks while the operation waits.
    func blocking<Output>(
        willUseAnswer: ((ClientMessage) throws -> Void)? = nil,
        _ operation: (DaemonCalls) async throws -> Output
    ) throws -> Output {
        beginOperation()
        return try CallingThreadExecutor.run(isolatedTo: family.link.actor) {
            try await operation(
                DaemonCalls(connection, .blocking, willUseAnswer: willUseAnswer))
        }
    }

    /// Runs an operation that ends with `CancellationError` if the task is cancelled.
    ///
    /// The request in flight is cancelled in the daemon as well.
    func cancellable<Output>(
        _ operation: (DaemonCalls) async throws -> Output
    ) async throws -> Output {
        beginOperation()
        do {
            return try await operation(DaemonCalls(connection, .cancellable))
        } catch let error as TandemError where error.code == .cancelled {
            throw CancellationError()
        }
    }

    /// The calls of an operation that suspends its task and can't be cancelled.
    var suspendingCalls: DaemonCalls {
        beginOperation()
        return DaemonCalls(connection, .suspending)
    }

    /// Checks the caller's isolation, and runs the work that was postponed to this operation.
    func beginOperation() {
        let link = family.link
        link.checkIsolation()
        link.processWaitingWork()
    }
}
