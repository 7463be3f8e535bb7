import TandemModel
import TandemQuery
import TandemWire

/// Fetches that block, where one question and its answer are all there is to do.
///
/// A look-up by a key is a few microseconds of work: the steps that any fetch may have to take (``Step``), each of them a closure that holds
/// the others, would be half of that. So what most look-ups come to is written a second time, straight on; wherever anything else
/// is to be done, the steps go on from there.
extension ManagedObjectContext {
    /// The objects that a request picks; nil where steps have to find that out, because the context has a parent, a pin or edits, stands nowhere yet, or is
    /// to throw or to tell something.
    func fetchAtOnce(_ request: FetchRequest) throws -> [ManagedObject]? {
        guard parent == nil, standing.pin == nil, !hasEdits, faultFailure == nil, debug == nil,
            let session, request.limit ?? 0 >= 0, request.offset >= 0
        else { return nil }
        try core.checkClasses(session.model)
        let entity = try session.entity(of: request)
        let family =
            request.includesSubentities && entity.descendants.count > 1
            ? entity.descendants.sorted() : [entity.tag]
        sweep()
        let fetch = Fetch(request: request, interests: family)
        let message = try connection.answer(.fetch(fetch)).get()
        guard case .fetched(let answer) = message else {
            throw Step<[ManagedObject]>.unexpected(message)
        }
        guard isAt(answer.position, session) else {
            return try placedStep(
                .fetched(answer), to: .fetch(fetch), from: session.generation,
                { part -> Fetched? in if case .fetched(let found) = part { found } else { nil } },
                use: { try self.objects(of: $0) }
            ).run(on: connection)
        }
        return try objects(of: answer)
    }

    /// Whether there is nothing to merge up to a position, for this context or for anyone who waits for that.
    private func isAt(_ position: UInt64, _ session: Session) -> Bool {
        merged == position && connection.knownGeneration == session.generation
            && !isAnyoneWaiting
    }

    private func objects(of answer: Fetched) throws -> [ManagedObject] {
        try check(answer.references)
        for object in answer.related { try adopt(object) }
        let found = try answer.objects.map { stored in
            try adopt(stored)
            return object(stored.object)
        }
        dropDoubtfulEdits()
        return found
    }
}
