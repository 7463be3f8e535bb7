import TandemModel
import TandemStore
import TandemWire

/// The requests other than saves.
extension Engine {
    func answer(_ message: ClientMessage, _ id: UInt32, _ session: Session) throws {
        do {
            guard session.isReady else { return try hello(message, id, session) }
            switch message {
            case .hello: fail(session, "the client sent a second hello")
            case .save, .insert, .cancel:
                preconditionFailure("Saves and rows are queued, and a cancel is answered at once.")
            case .sync(let sync):
                let wait = UInt64(sync.timeoutMilliseconds) * 1_000_000
                let deadline = clock.monotonicNanoseconds + wait
                session.syncs.append((sync.number, id, deadline))
                updateSyncs(session)
                release(session)
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
            case .lease(let count):
                try authorize(.writer, of: session, to: "lease numbers for new objects")
                session.answer(.lease(try committer.lease(count)), to: id)
            case .consumer(let request):
                session.answer(.consumer(try answer(request, session)), to: id)
            case .batch(let batch): try begin(batch, id, session)
            case .pin(let request):
                session.answer(.pinned(try answer(request, session)), to: id)
            case .vacuum(let request):
                session.answer(.vacuumed(try answer(request, session)), to: id)
            default: return try read(message, id, session)
            }
            switch message {
            // The duration of syncs and batches depends on what they wait for, so it isn't
            // recorded.
            case .sync, .batch: break
            default: recordAnswered(message, session, since: session.askedAt)
            }
        } catch let error as TandemError {
            session.answer(.failure(error), to: id)
        }
    }

    /// Adds entities to the interests of a session that is current, effective from the tail.
    ///
    /// Everything up to the answer's position was pushed under the old interests. Unknown tags are
    /// ignored.
    func follow(_ tags: [EntityTag], _ session: Session) {
        guard let model = committer.store.model else { return }
        let known = tags.filter { model.entity(tagged: $0) != nil }
        guard !known.allSatisfy(session.interests.contains) else { return }
        subscribers.move(session, to: session.interests.union(known))
    }

    // MARK: Hello

    private func hello(_ message: ClientMessage, _ id: UInt32, _ session: Session) throws {
        guard case .hello(let hello) = message else {
            return fail(session, "the first message must be a hello")
        }
        switch session.machine.received(hello) {
        case .ignore: return
        case .refuse(let error): return fail(session, error.message)
        case .greet: break
        }
        do {
            try WireLimits.check(name: hello.author, of: "author")
            session.author = hello.author
            if let text = hello.model { try handle(declared: text, session) }
            try welcome(hello, id, session)
        } catch let error as TandemError {
            end(session, error, Refusal(helloFailedWith: error.code))
        }
    }

    private func welcome(_ hello: Hello, _ id: UInt32, _ session: Session) throws {
        let last = committer.position
        let lease = try firstLease(of: session, hello.numbers)
        let resume = hello.resume.flatMap { canResume($0) ? $0.number : nil }
        let model = committer.store.model
        session.lagPosition = resume.flatMap { $0 < last ? $0 : nil }
        let tags = hello.interests.compactMap { model?.entity(named: $0)?.tag }
        subscribers.move(session, to: Set(tags))
        let welcome = Welcome(
            log: position.log, epoch: position.epoch, position: last,
            resumed: resume != nil, model: committer.modelBytes, lease: lease,
            saveIDFloor: committer.store.saveFloor, isReadOnly: told.readOnlyState.isReadOnly,
            server: "tandemd", limits: limits.session)
        session.decoder.frameBytes = limits.session.frameBytes
        session.decoder.messageBytes = limits.session.messageBytes
        session.answer(.welcome(welcome), to: id)
        _ = session.machine.welcomed(cursor: session.sent)
        session.toldAbility = told.readOnlyState.isReadOnly ? 0 : told.changes
        logEvent(session, .connectionOpened)
        try pump(session)
    }

    /// Returns the first lease of a session.
    ///
    /// It is empty for a client that may not save, or if the store has no room to record a lease.
    private func firstLease(of session: Session, _ wanted: UInt32?) throws -> Lease {
        let none = Lease(first: 0, count: 0, epoch: position.epoch)
        let most = UInt32(limits.leaseNumbers)
        let count = min(wanted ?? most, most)
        guard session.role >= .writer, count > 0 else { return none }
        do {
            return try committer.lease(count)
        } catch let error as TandemError where error.code == .readOnly {
            return none
        }
    }

    /// Whether the journal still has all transactions after a position, all under the current
    /// model.
    private func canResume(_ resume: Position) -> Bool {
        position.isComparable(with: resume) && resume.number <= position.number
            && resume.number + 1 >= committer.journal.bounds.first
            && resume.number >= committer.store.modelPosition
    }
}
