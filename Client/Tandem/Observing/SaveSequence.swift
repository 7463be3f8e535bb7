import TandemModel
public import TandemQuery

/// A filtered sequence of the saves that a container receives or a context merges, in journal
/// order.
///
/// A container's sequence begins with the next save after the iteration starts. A context's
/// sequence begins with the next save that the context merges.
///
/// An iteration ends by throwing `limitExceeded` if it lags too far, and `historyExpired` if saves
/// were missed, because the log has a different epoch or does not reach back far enough. It throws
/// `unknownEntity`, `unknownProperty` or `invalidPredicate` at the first save whose model does not
/// fit the filter. Saves are never skipped silently.
public struct SaveSequence: AsyncSequence, Sendable {
    let listen: @Sendable () -> PayloadHub.Saves
    let filter: SaveFilter

    /// Iterates over the payloads.
    struct Iterator: AsyncIteratorProtocol, Sendable {
        let feed: PayloadHub.Saves
        var filter: SaveFilter

        /// Returns the next save that matches the filter.
        mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(any Error) -> SavePayload? {
            while let payload = try await feed.next(isolation: actor) {
                if try filter.passes(payload) { return payload }
            }
            return nil
        }
    }

    /// Creates an iterator.
    public func makeAsyncIterator() -> some AsyncIteratorProtocol<SavePayload, any Error> & Sendable
    {
        Iterator(feed: listen(), filter: filter)
    }
}

extension PersistentContainer {
    /// The saves of all processes, including this process, that change entities to which this
    /// process subscribes.
    ///
    /// A process subscribes to the entities that it has read. To receive saves of other entities,
    /// call ``follow(_:)`` first.
    public var didSave: SaveSequence { saves() }

    /// Returns the saves of an author that change objects of an entity or its subentities.
    ///
    /// Pass nil to include any entity or author.
    public func saves(of entity: String? = nil, by author: String? = nil) -> SaveSequence {
        saves(SaveFilter(entity: entity, predicate: nil, author: author))
    }

    /// Returns the saves that change an object of an entity, if the object matches a predicate
    /// before or after the save.
    ///
    ///     let wins = container.saves(of: "Team", where: try ObjectPredicate(format: "wins > 3"))
    ///
    /// The predicate may use an object's own attributes and to-one relationships; otherwise
    /// iterating throws `usage`. A payload contains the whole save. To learn which objects matched,
    /// use an observer of a context (``ManagedObjectContext/observe(_:where:_:)``).
    ///
    /// A save is also included if its content does not suffice to evaluate the predicate. This
    /// concerns strings that are too long for a row, and objects that changed only in to-many
    /// relationships, through the inverse.
    public func saves(
        of entity: String, where predicate: ObjectPredicate, by author: String? = nil
    ) -> SaveSequence {
        saves(SaveFilter(entity: entity, predicate: predicate, author: author))
    }

    private func saves(_ filter: SaveFilter) -> SaveSequence {
        SaveSequence(listen: { [connection] in connection.payloads.saves() }, filter: filter)
    }
}

/// Selects saves by entity, predicate and author.
struct SaveFilter: Sendable {
    let entity: String?
    let predicate: ObjectPredicate?
    let author: String?
    /// The matcher for the model of the last save.
    private var matcher: SaveMatcher?

    init(entity: String?, predicate: ObjectPredicate?, author: String?) {
        (self.entity, self.predicate, self.author) = (entity, predicate, author)
    }

    mutating func passes(_ payload: SavePayload) throws(TandemError) -> Bool {
        if let author, payload.author != author { return false }
        guard let entity else { return true }
        if matcher?.request.model !== payload.model {
            matcher = try SaveMatcher(
                FetchDescriptor(entity: entity, predicate: predicate), in: payload.model)
        }
        return matcher.map { !$0.match(payload).isEmpty } ?? false
    }
}
