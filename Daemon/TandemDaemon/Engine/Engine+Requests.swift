import TandemModel
import TandemStore
import TandemWire

/// Answers to requests other than saves.
extension Engine {
    func answer(_ message: ClientMessage, _ id: UInt32, _ session: Session) throws {
        do {
            guard session.isReady else { return try hello(message, id, session) }
            switch message {
            case .hello: end(session, Ending("the client sent a second hello"))
            case .save, .insert, .cancel:
                preconditionFailure("Saves and rows are queued, and a cancel is answered at once.")
            case .sync(let sync):
                syncs.add(sync, id, session, now: clock.monotonicNanoseconds)
                session.answerHeld()
                syncs.answerReached(session)
            case .schema(let request): try schema(request, id, session)
            case .disconnect(let client, let request):
                let wasThere =
                    if let request {
                        try cancel(request, ofClient: client, for: session)
                    } else {
                        try disconnect(client: client, for: session)
                    }
                session.answer(.disconnected(wasThere), to: id)
            case .reload:
                session.answer(.status(try reload(for: session).text), to: id)
            case .status: session.answer(.status(status.text), to: id)
            case .lease(let count):
                try admission.authorize(
                    .writer, of: session, to: "lease numbers for new objects")
                session.answer(.lease(try committer.lease(count)), to: id)
            case .consumer(let request):
                let consumers = ConsumerRequests(
                    committer: committer, admission: admission,
                    journalMaintenance: journalMaintenance)
                session.answer(.consumer(try consumers.answer(request, session)), to: id)
            case .batch(let batch): try batches.begin(batch, id, session)
            case .pin(let request):
                session.answer(.pinned(try journalMaintenance.answer(request, session)), to: id)
            case .vacuum(let request):
                session.answer(.vacuumed(try journalMaintenance.answer(request, session)), to: id)
            case .history, .blob, .fetch, .explain, .read, .verdicts:
                return try reads.answer(message, id, session)
            }
            switch message {
            // Syncs and batches wait for other events, so their durations are not recorded.
            case .sync, .batch: break
            default:
                reporter.recordAnswered(message, session, since: session.input.lastPopped.arrival)
            }
        } catch let error as TandemError {
            session.answer(.failure(error), to: id)
        }
    }

    // MARK: Hello

    private func hello(_ message: ClientMessage, _ id: UInt32, _ session: Session) throws {
        guard case .hello(let hello) = message else {
            return end(session, Ending("the first message must be a hello"))
        }
        switch session.received(hello) {
        case .ignore: return
        case .refuse(let error): return end(session, Ending(error.message))
        case .greet: break
        }
        do {
            try WireLimits.check(name: hello.author, of: "author")
            session.introduce(author: hello.author)
            if let text = hello.model { try install(declared: text, session) }
            try Greeter(committer: committer, pushes: pushes, announcement: queues.announcement)
                .welcome(hello, id, session)
            reporter.logEvent(session, .connectionOpened)
            try pump(session)
        } catch let error as TandemError {
            end(session, Ending(error, Refusal(helloFailedWith: error.code)))
        }
    }

    // MARK: Models

    /// Records the model that an app declares in its hello, and installs its additions.
    private func install(declared text: String, _ session: Session) throws {
        guard let model = try models.declare(text, session) else { return }
        try commit()
        if let change = try models.install(declared: model, of: session) {
            announce(change, by: session)
        }
    }

    private func schema(_ request: SchemaRequest, _ id: UInt32, _ session: Session) throws {
        var report: MigrationReport?
        if let text = request.model {
            let model = try models.parsed(text)
            try models.authorize(request.purpose, of: session)
            try commit()
            let outcome = try models.carryOut(request.purpose, model, session)
            if let change = outcome.change { announce(change, by: session) }
            report = outcome.report
            try pump(session)
        }
        let answer = SchemaAnswer(
            position: committer.position, model: committer.store.modelBytes,
            report: report?.json.text)
        session.answer(.schema(answer), to: id, heldUntil: answer.position)
    }

    // MARK: Administration

    /// Ends the connection of another client; returns false if there is none with the id.
    private func disconnect(client id: UInt64, for session: Session) throws(TandemError) -> Bool {
        try admission.authorize(.admin, of: session, to: "disconnect a client")
        guard let other = admission.sessions[id], other !== session else { return false }
        let error = TandemError(.disconnected, "an administrator ended this connection")
        end(other, Ending(error, .administrator))
        return true
    }

    /// Cancels a request of another client, or all its requests if `id` is 0; returns false if
    /// there is none.
    private func cancel(
        _ id: UInt32, ofClient client: UInt64, for session: Session
    ) throws(TandemError) -> Bool {
        try admission.authorize(.admin, of: session, to: "cancel a client's request")
        guard let other = admission.sessions[client], other !== session else { return false }
        let hasEnded = intake.cancelForAdministrator(id, of: other)
        finish(other)
        schedule(other)
        return hasEnded
    }

    /// Reloads the configuration for an administrator, and returns the changed keys.
    private func reload(for session: Session) throws(TandemError) -> JSON {
        try admission.authorize(.admin, of: session, to: "reload the configuration")
        let outcome = try reload()
        return .object([
            "changed": .array(outcome.changed.map { .string($0) }),
            "restart": .array(outcome.needsRestart.map { .string($0) }),
        ])
    }
}
