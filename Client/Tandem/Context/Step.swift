import TandemModel
import TandemWire

/// What an operation of a context needs next; each is written once and runs blocking or awaiting.
///
/// A step is pure bookkeeping: it asks, is handed the answer, and says what it needs then.
enum Step<Output> {
    /// Nothing; this is the result.
    case done(Output)
    /// A connection that has a model.
    case connect((Session) throws -> Step)
    /// The daemon's answer to a message.
    case ask(ClientMessage, (Result<DaemonMessage, TandemError>) throws -> Step)

    /// Goes on with the output of this step.
    func then<Next>(_ next: @escaping (Output) throws -> Step<Next>) throws -> Step<Next> {
        switch self {
        case .done(let output): return try next(output)
        case .connect(let more): return .connect { try more($0).then(next) }
        case .ask(let message, let more): return .ask(message) { try more($0).then(next) }
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
        case .connect(let more): return .connect { session in try guarded { try more(session) } }
        case .ask(let message, let more):
            return .ask(message) { answer in try guarded { try more(answer) } }
        }
    }

    /// Asks, and goes on with what `read` takes from the answer; a failure is thrown.
    static func ask<Answer>(
        _ message: ClientMessage, _ read: @escaping (DaemonMessage) -> Answer?,
        then next: @escaping (Answer) throws -> Step
    ) -> Step {
        .ask(message) { result in
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
            case .connect(let more): step = try more(try connection.session())
            case .ask(let message, let more): step = try more(connection.answer(message))
            }
        }
    }

    /// Runs as long as its outcome is wanted; the caller's actor is free while answers are awaited.
    nonisolated(nonsending) func runAsync(
        on connection: Connection, while isWanted: () -> Bool
    ) async throws {
        var step = self
        while isWanted() {
            switch step {
            case .done: return
            case .connect(let more): step = try more(try await connection.sessionAsync())
            case .ask(let message, let more):
                let answer = await connection.answerAsync(message)
                guard isWanted() else { return }
                step = try more(answer)
            }
        }
    }

    /// Runs to the end; the caller's actor is free while answers are awaited.
    nonisolated(nonsending) func runAsync(on connection: Connection) async throws -> Output {
        var step = self
        while true {
            switch step {
            case .done(let output): return output
            case .connect(let more): step = try more(try await connection.sessionAsync())
            case .ask(let message, let more):
                step = try more(await connection.answerAsync(message))
            }
        }
    }

    static func unexpected(_ answer: DaemonMessage) -> TandemError {
        TandemError(
            .storage, "the daemon gave an answer of another kind; its version does not fit")
    }
}
