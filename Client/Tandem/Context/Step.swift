import TandemModel
import TandemWire

/// What an operation of a context needs next; each is written once and runs blocking or awaiting.
///
/// A step is pure bookkeeping: it asks, is handed the answer, and says what it needs then.
enum Step<Output> {
    /// Nothing; this is the result.
    case done(Output)
    /// A connection that has a model; without `orElse` it is thrown that there is none.
    case connect(
        (Session) throws -> Step, orElse: ((TandemError) throws -> Step)? = nil)
    /// The daemon's answer to a message; where it comes in parts and blocks, its beginning, and the parts are taken by `into`.
    case ask(
        ClientMessage, into: AnswerParts? = nil,
        (Result<DaemonMessage, TandemError>) throws -> Step)
    /// A message to be sent, whose answer is waited for later.
    case send(ClientMessage, (Reply<DaemonMessage>) throws -> Step)
    /// The answer to a message that was sent.
    case await(Reply<DaemonMessage>, (Result<DaemonMessage, TandemError>) throws -> Step)

    /// Goes on with the output of this step.
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

    /// Goes on with another step where this one throws an error that `other` has one for; the others it throws again.
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

    /// Asks, and goes on with what `read` takes from the answer; a failure is thrown.
    static func ask<Answer>(
        _ message: ClientMessage, into parts: AnswerParts? = nil,
        _ read: @escaping (DaemonMessage) -> Answer?,
        then next: @escaping (Answer) throws -> Step
    ) -> Step {
        .ask(message, into: parts) { result in
            let answer = try result.get()
            guard let value = read(answer) else { throw Step.unexpected(answer) }
            return try next(value)
        }
    }

    /// Runs to the end on the calling thread, which waits for answers.
    func run(on connection: Connection) throws -> Output {
        var step = self
        while true {
            switch step {
            case .done(let output): return output
            case .connect(let more, let orElse):
                let session: Session
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

    /// The step after waiting for a connection.
    private nonisolated(nonsending) static func connected(
        _ connection: Connection, _ more: (Session) throws -> Step,
        _ orElse: ((TandemError) throws -> Step)?
    ) async throws -> Step {
        let session: Session
        do throws(TandemError) {
            session = try await connection.sessionAsync()
        } catch {
            return try unconnected(error, orElse)
        }
        return try more(session)
    }

    /// Runs as long as its outcome is wanted; the caller's actor is free while answers are awaited.
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

    /// Runs to the end unless the task is cancelled; the caller's actor is free while answers are awaited.
    ///
    /// Throws `CancellationError` when it is, and the question under way ends at the daemon as well.
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

    /// Runs to the end; the caller's actor is free while answers are awaited.
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
        TandemError(
            .storage, "the daemon gave an answer of another kind; its version does not fit")
    }
}
