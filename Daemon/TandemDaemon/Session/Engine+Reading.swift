import TandemModel
import TandemStore
import TandemWire

/// Fetches, which go on in later slices when they take long.
extension Engine {
    /// Answers a question; one with a fetch in it as far as this slice goes.
    func read(_ message: ClientMessage, _ id: UInt32, _ session: Session) throws {
        let answerer = Answerer(committer: committer, session: session, engine: self)
        guard let fetch = message.fetch else {
            return session.answer(try answerer.answer(message), to: id)
        }
        session.read = try answerer.begin(message, fetch, id)
        try advance(session, &readsLeft)
        if session.read != nil { limitCounts.note(.sliceReads) }
    }

    /// Goes on with fetches that are under way, in turns, all of them together for one budget.
    func stepReads() throws {
        var left = limits.sliceReads
        for _ in 0..<reading.count where left > 0 {
            guard let session = reading.popFirst() else { return }
            if session.isWaitingToWrite { finish(session) }
            // It has to be told of everything up to the answer's position.
            if session.isReady { try pump(session) }
            if session.canBeAnswered { try advance(session, &left) }
            finish(session)
            schedule(session)
        }
    }

    /// One step of a session's fetch, and the answer if that was the last.
    private func advance(_ session: Session, _ budget: inout Int) throws {
        guard let read = session.read, !session.isClosing else { return }
        do {
            guard try step(read, &budget) else { return }
            let answerer = Answerer(committer: committer, session: session, engine: self)
            let answer = try answerer.answer(read)
            drop(session)
            session.answer(answer, to: read.id)
        } catch let error as TandemError {
            drop(session)
            session.answer(.failure(error), to: read.id)
        }
    }

    private func step(_ read: ReadUnderWay, _ budget: inout Int) throws -> Bool {
        guard budget > 0 else { return false }
        let isDone = try Answerer.telling { try read.step(committer, &budget) }
        readBytes += read.cursor.bytes - read.countedBytes
        read.countedBytes = read.cursor.bytes
        guard readBytes <= limits.readBytes else {
            throw limitCounts.refusal(
                .readBytes, limits,
                "the fetches under way hold \(readBytes) bytes; fetch less at a time")
        }
        return isDone
    }

    /// Forgets a session's fetch.
    func drop(_ session: Session) {
        readBytes -= session.read?.countedBytes ?? 0
        session.read = nil
    }
}

extension ClientMessage {
    /// The fetch that it asks for, alone or beside verdicts.
    fileprivate var fetch: Fetch? {
        switch self {
        case .fetch(let fetch): return fetch
        case .verdicts(let request):
            guard case .fetch(let fetch) = request.alongside else { return nil }
            return fetch
        default: return nil
        }
    }
}
