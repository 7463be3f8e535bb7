import TandemModel
import TandemQuery
import TandemWire

/// Blocking fetches that need only one request and its answer.
///
/// A look-up by key takes a few microseconds. The general resumable operation (``Step``) consists
/// of nested closures, which would take half of that time. The common case is therefore written a
/// second time without steps; every other case continues with steps.
extension ManagedObjectContext {
    /// Returns the objects that a request selects, or nil if the general operation is needed.
    ///
    /// It is needed if the context has a parent, a pin or edits, has no position yet, or has an
    /// error to throw or a debug trace to write.
    func fetchAtOnce(_ request: FetchRequest) throws -> [ManagedObject]? {
        guard parent == nil, familyState.pin == nil, !hasEdits, faultFailure == nil, debug == nil,
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
                { part -> FetchAnswer? in if case .fetched(let found) = part { found } else { nil }
                },
                use: { try self.objects(of: $0) }
            ).run(on: connection)
        }
        return try objects(of: answer)
    }

    /// Returns whether nothing has to be merged up to a position, neither for the context nor for a
    /// waiting participant.
    private func isAt(_ position: UInt64, _ session: ServerState) -> Bool {
        merged == position && connection.knownGeneration == session.generation
            && !isAnyoneWaiting
    }

    private func objects(of answer: FetchAnswer) throws -> [ManagedObject] {
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
