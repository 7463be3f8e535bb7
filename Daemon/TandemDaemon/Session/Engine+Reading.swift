import TandemModel
import TandemStore
import TandemWire

/// Fetches and looks back, which go on in later slices when they take long.
extension Engine {
    /// Answers a question; one that takes steps as far as this slice goes.
    func read(_ message: ClientMessage, _ id: UInt32, _ session: Session) throws {
        let answerer = Answerer(committer: committer, session: session, engine: self)
        if readsLeft > 0, let answer = try answerer.lookUp(message) {
            readsLeft -= 1
            session.answer(answer, to: id)
            return noteAnswered(message, session, since: session.askedAt)
        }
        guard let read = try answerer.begin(message, id) else {
            let answer = try committer.telling { try answerer.answer(message) }
            session.answer(answer, to: id)
            return noteAnswered(message, session, since: session.askedAt)
        }
        read.arrival = session.askedAt
        session.read = read
        try advance(session, &readsLeft)
        if let read = session.read, read.answer == nil { limitCounts.note(.sliceReads) }
    }

    /// Goes on with fetches that are under way, in turns, all of them together for one budget.
    func stepReads() throws {
        var left = limits.sliceReads
        for _ in 0..<reading.count where left > 0 {
            guard let session = reading.popFirst() else { return }
            if session.isWaitingToWrite { finish(session) }
            // It has to be told of everything up to the answer's position.
            if session.isReady { try pump(session) }
            let start = clock.monotonicNanoseconds
            if session.canReadOn { try advance(session, &left) }
            committer.note(request: start, until: clock.monotonicNanoseconds)
            finish(session)
            schedule(session)
        }
    }

    /// One step of a session's fetch, and the answer, or its next part, if that was the last.
    private func advance(_ session: Session, _ budget: inout Int) throws {
        guard let read = session.read, !session.isClosing else { return }
        do {
            guard read.answer == nil else { return sendPart(of: read, session, &budget) }
            guard try step(read, &budget) else { return }
            let answerer = Answerer(committer: committer, session: session, engine: self)
            let answer = try answerer.answer(read)
            if case .fetched(let fetched) = answer {
                try begin(fetched, read)
                sendPart(of: read, session, &budget)
            } else {
                end(session, read, answer)
            }
        } catch let error as TandemError {
            drop(session)
            session.answer(.failure(error), to: read.id)
        }
    }

    /// Queues what comes next of an answer as far as the budget goes; the rest waits for turns in which there is room for it.
    ///
    /// The first message is queued at once, whatever waits: behind it the client stands at the answer's position and follows what it asked to.
    private func sendPart(of read: ReadUnderWay, _ session: Session, _ budget: inout Int) {
        // However little there is, a turn brings it nearer to its end.
        var left = max(1, budget)
        defer {
            budget = left - DaemonLimits.partReads
            if session.read === read { recount(read) }
        }
        session.tookAt = clock.monotonicNanoseconds
        repeat {
            guard let message = read.nextMessage(&left) else { return }
            if message.isLastOfAnswer { return end(session, read, message) }
            guard session.answer(message, to: read.id) else { return drop(session) }
        } while session.outboundBytes < limits.partBytes
    }

    /// Begins to send an answer; it counts among the others that are being sent, and no more among what is under way.
    ///
    /// Throws `limitExceeded` where these have no room left for it.
    private func begin(_ answer: Fetched, _ read: ReadUnderWay) throws(TandemError) {
        fetchBytes -= read.countedBytes
        read.begin(answer, partBytes: limits.partBytes)
        noteFreed(read.countedBytes - read.bytes)
        read.countedBytes = read.bytes
        answerBytes += read.countedBytes
        // What goes out at once takes nobody's room.
        guard answerBytes > limits.readBytes, read.countedBytes > limits.partBytes else { return }
        endAnswers(largerThan: read)
        guard answerBytes > limits.readBytes, answerBytes > read.countedBytes else { return }
        throw limitCounts.refusal(
            .readBytes, limits,
            "answers that are being read hold \(answerBytes) bytes; fetch again when others are done"
        )
    }

    /// Counts what an answer holds that is put in order while it is sent.
    private func recount(_ read: ReadUnderWay) {
        let bytes = read.bytes
        answerBytes += bytes - read.countedBytes
        read.countedBytes = bytes
    }

    /// Ends other answers until there is room for one: those of which their clients have not taken a part for a while, and then those that
    /// are larger than it, the largest first; so one that is read slowly does not keep out what others ask.
    private func endAnswers(largerThan read: ReadUnderWay) {
        limitCounts.note(.readBytes)
        let now = clock.monotonicNanoseconds
        func isStalled(_ session: Session) -> Bool {
            session.isWaitingToWrite
                && now - min(now, session.tookAt) >= DaemonLimits.stalledAnswerNanoseconds
        }
        let others = sessions.values.filter { $0.read?.answer != nil && $0.read !== read }
            .sorted { $0.holdsMore(than: $1) }
        let larger = others.filter { ($0.read?.countedBytes ?? 0) > read.countedBytes }
        for session in others.filter(isStalled) + larger.filter({ !isStalled($0) })
        where answerBytes > limits.readBytes {
            refuse(
                session,
                "answers that are being read hold \(answerBytes) bytes; read faster, or fetch less at a time"
            )
        }
    }

    /// Queues an answer, or its last part.
    private func end(_ session: Session, _ read: ReadUnderWay, _ answer: DaemonMessage) {
        drop(session)
        session.answer(answer, to: read.id)
        noteAnswered(read.message, session, since: read.arrival)
    }

    private func step(_ read: ReadUnderWay, _ budget: inout Int) throws -> Bool {
        guard budget > 0 else { return false }
        let isDone = try committer.telling { try read.step(committer, &budget) }
        count(read)
        guard read.countedBytes <= limits.readBytes else {
            throw limitCounts.refusal(
                .readBytes, limits,
                "the fetch holds \(read.countedBytes) bytes; fetch less at a time",
                code: read.verdicts == nil ? .limitExceeded : .historyExpired)
        }
        if !isDone, heldBytes > limits.readBytes { makeRoom() }
        return isDone
    }

    private func count(_ read: ReadUnderWay) {
        let bytes = read.bytes
        noteFreed(read.countedBytes - bytes)
        fetchBytes += bytes - read.countedBytes
        read.countedBytes = bytes
    }

    /// Records bytes that a read holds no more.
    private func noteFreed(_ bytes: Int) {
        if bytes > 0 { freed.noteRead(bytes: bytes, now: clock.monotonicNanoseconds) }
    }

    /// Whether memory that reads freed is to be released now; see ``FreedMemory``.
    func takeFreedDue() -> Bool {
        freed.takeDue(clock.monotonicNanoseconds, room: limits.readBytes - heldBytes)
    }

    /// Lets the fetch that holds most go on alone, of those whose clients read: as many others as have to begin anew, and those
    /// first whose clients don't read.
    ///
    /// So every one that fits alone ends, one after the other, whatever else there is; but a batch that looks for its objects ends.
    /// Answers that are being sent count as well, so that fetches hold no more than these leave and what one of them holds.
    func makeRoom() {
        limitCounts.note(.readBytes)
        // A batch and small fetches must fit even while answers wait for clients that do not read.
        let isFull = readBytes > limits.readBytes
        if isFull { refuseSearch() }
        let holders = sessions.values.filter { $0.isFetching }.sorted { $0.holdsMore(than: $1) }
        let kept = holders.first { !$0.isWaitingToWrite }
        let stopped = holders.filter(\.isWaitingToWrite)
        let others = stopped + holders.filter { !$0.isWaitingToWrite && $0 !== kept }
        for session in others where heldBytes > limits.readBytes {
            guard let read = session.read else { continue }
            guard isFull || read.countedBytes > limits.partBytes else { continue }
            if read.forget(committer) { count(read) } else { refuse(session, held) }
        }
        // What is left are questions.
        for session in others where fetchBytes > limits.readBytes { refuse(session, held) }
    }

    /// Ends a batch that has no room to look for its objects; repeated it goes on where it was.
    private func refuseSearch() {
        guard let run = batches.current, run.isSearching else { return }
        run.fail(
            limitCounts.refusal(
                .readBytes, limits,
                "the batch's search and the fetches under way hold \(readBytes) bytes; go on "
                    + "with the batch when others are done"))
    }

    private var held: String {
        "the fetches under way hold \(fetchBytes) bytes; fetch again when others are done"
    }

    /// Ends a fetch that has no room beside the others.
    private func refuse(_ session: Session, _ reason: String) {
        guard let read = session.read else { return }
        let error = limitCounts.refusal(.readBytes, limits, reason)
        drop(session)
        session.answer(.failure(error), to: read.id)
        finish(session)
        schedule(session)
    }

    /// Forgets a session's fetch.
    func drop(_ session: Session) {
        let bytes = session.read?.countedBytes ?? 0
        if session.isFetching { fetchBytes -= bytes } else { answerBytes -= bytes }
        session.read = nil
        noteFreed(bytes)
    }
}

extension Session {
    /// Whether a fetch of it is under way whose answer has not begun.
    fileprivate var isFetching: Bool { read.map { $0.answer == nil } ?? false }

    /// Whether its fetch holds more than another's; of two that hold the same the older one counts as more.
    fileprivate func holdsMore(than other: Session) -> Bool {
        let (mine, its) = (read?.countedBytes ?? 0, other.read?.countedBytes ?? 0)
        return mine == its ? id < other.id : mine > its
    }
}
