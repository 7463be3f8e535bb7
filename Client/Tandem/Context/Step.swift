import TandemModel
import TandemWire

/// A resumable operation of a context, represented by what it needs next.
///
/// Each operation is written once, and runs blocking or async. A step performs no I/O: it names a
/// request, receives the answer, and returns the next step.
enum Step<Output> {
    /// The operation has ended with this result.
    case done(Output)
    /// Needs a connection with a model; without `orElse`, the error of a missing connection is
    /// thrown.
    case connect(
        (ServerState) throws -> Step, orElse: ((TandemError) throws -> Step)? = nil)
    /// Needs the daemon's answer to a message.
    ///
    /// In a blocking run, only the head of a chunked answer is passed on, and `into` receives the
    /// chunks.
    case ask(
        ClientMessage, into: ChunkReader? = nil,
        (Result<DaemonMessage, TandemError>) throws -> Step)
    /// Sends a message whose answer is awaited later.
    case send(ClientMessage, (ReplyPromise<DaemonMessage>) throws -> Step)
    /// Needs the answer to a message that was sent before.
    case await(ReplyPromise<DaemonMessage>, (Result<DaemonMessage, TandemError>) throws -> Step)

    /// Continues with the output of this operation.
    func then<Next>(_ next: @escaping (Output) throws -> Step<Next>) throws -> Step<Next> {
        switch self {
        case .done(let output): return try next(output)
        case .connect(let more, let other):
            return .connect(
                { try more($0).then(next) },
                orElse: other.map { other in
                    { try other($0).then(next) }
                })
        case .ask(let message, let parts, let more):
            return .ask(message, into: parts) { try more($0).then(next) }
        case .send(let message, let more): return .send(message) { try more($0).then(next) }
        case .await(let reply, let more): return .await(reply) { try more($0).then(next) }
        }
    }

    /// Continues with another operation if this one throws an error; `other` may rethrow it.
    func recover(_ other: @escaping (TandemError) throws -> Step) -> Step {
        func guarded(_ body: () throws -> Step) throws -> Step {
            let next: Step
            do {
                next = try body()
            } catch {
                return try other(error as? TandemError ?? TandemError(.storage, "\(error)"))
            }
            return next.recover(other)
        }
        switch self {
        case .done: return self
        case .connect(let more, let orElse):
            return .connect(
                { session in try guarded { try more(session) } },
                orElse: { error in
                    try guarded {
                        guard let orElse else { throw error }
                        return try orElse(error)
                    }
                })
        case .ask(let message, let parts, let more):
            return .ask(message, into: parts) { answer in try guarded { try more(answer) } }
        case .send(let message, let more):
            return .send(message) { reply in try guarded { try more(reply) } }
        case .await(let reply, let more):
            return .await(reply) { answer in try guarded { try more(answer) } }
        }
    }

    /// Sends a request, and continues with the value that `read` extracts from the answer.
    ///
    /// Throws the error of a failed request.
    static func ask<Answer>(
        _ message: ClientMessage, into parts: ChunkReader? = nil,
        _ read: @escaping (DaemonMessage) -> Answer?,
        then next: @escaping (Answer) throws -> Step
    ) -> Step {
        .ask(message, into: parts) { result in
            let answer = try result.get()
            guard let value = read(answer) else { throw Step.unexpected(answer) }
            return try next(value)
        }
    }

    /// Runs to the end on the calling thread, which blocks while it waits for answers.
    func run(on connection: Connection) throws -> Output {
        var step = self
        while true {
            switch step {
            case .done(let output): return output
            case .connect(let more, let orElse):
                let session: ServerState
                do throws(TandemError) {
                    session = try connection.session()
                } catch {
                    step = try Step.unconnected(error, orElse)
                    continue
                }
                step = try more(session)
            case .ask(let message, let parts, let more):
                step = try more(connection.answer(message, into: parts))
            case .send(let message, let more): step = try more(connection.send(message))
            case .await(let reply, let more): step = try more(connection.answer(of: reply))
            }
        }
    }

    private static func unconnected(
        _ error: TandemError, _ orElse: ((TandemError) throws -> Step)?
    ) throws -> Step {
        guard let orElse else { throw error }
        return try orElse(error)
    }

    /// Returns the next step after waiting for a connection.
    private nonisolated(nonsending) static func connected(
        _ connection: Connection, _ more: (ServerState) throws -> Step,
        _ orElse: ((TandemError) throws -> Step)?
    ) async throws -> Step {
        let session: ServerState
        do throws(TandemError) {
            session = try await connection.sessionAsync()
        } catch {
            return try unconnected(error, orElse)
        }
        return try more(session)
    }

    /// Runs while the outcome is wanted; does not block the caller's actor.
    nonisolated(nonsending) func runAsync(
        on connection: Connection, while isWanted: () -> Bool
    ) async throws {
        var step = self
        while isWanted() {
            switch step {
            case .done: return
            case .connect(let more, let orElse):
                step = try await Step.connected(connection, more, orElse)
            case .ask(let message, _, let more):
                let answer = await connection.answerAsync(message)
                guard isWanted() else { return }
                step = try more(answer)
            case .send(let message, let more): step = try more(connection.submit(message))
            case .await(let reply, let more):
                let answer = await reply.value()
                guard isWanted() else { return }
                step = try more(answer)
            }
        }
    }

    /// Runs to the end unless the task is cancelled; does not block the caller's actor.
    ///
    /// Throws `CancellationError` if the task is cancelled; the daemon then ends the request in
    /// flight as well.
    nonisolated(nonsending) func runUnlessCancelled(
        on connection: Connection
    ) async throws -> Output {
        var step = self
        do {
            while true {
                switch step {
                case .done(let output): return output
                case .connect(let more, let orElse):
                    step = try await Step.connected(connection, more, orElse)
                case .ask(let message, _, let more):
                    step = try more(await connection.answerUnlessCancelled(message))
                case .send(let message, let more): step = try more(connection.submit(message))
                case .await(let reply, let more): step = try more(await reply.value())
                }
            }
        } catch let error as TandemError where error.code == .cancelled {
            throw CancellationError()
        }
    }

    /// Runs to the end; does not block the caller's actor.
    nonisolated(nonsending) func runAsync(on connection: Connection) async throws -> Output {
        var step = self
        while true {
            switch step {
            case .done(let output): return output
            case .connect(let more, let orElse):
                step = try await Step.connected(connection, more, orElse)
            case .ask(let message, _, let more):
                step = try more(await connection.answerAsync(message))
            case .send(let message, let more): step = try more(connection.submit(message))
            case .await(let reply, let more): step = try more(await reply.value())
            }
        }
    }

    static func unexpected(_ answer: DaemonMessage) -> TandemError {
        TandemError.unexpectedAnswer("a request")
    }
}
