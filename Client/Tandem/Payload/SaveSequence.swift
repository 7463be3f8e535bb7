import TandemModel
public import TandemQuery

/// The saves that a container or a context hears of, in journal order, as far as they are wanted.
///
/// A container's begin with the next save after iterating begins, a context's with the next one that it merges. Ends by throwing
/// `limitExceeded` when the iterator lags too far behind, `historyExpired` when saves were missed, since the log is of another epoch
/// or does not reach back, and `unknownEntity`, `unknownProperty` or `invalidPredicate` at the first save whose model lacks what is asked:
/// nothing is left out silently.
public struct SaveSequence: AsyncSequence, Sendable {
    /// One element for each save.
    public typealias Element = SavePayload

    let listen: @Sendable () -> PayloadHub.Saves
    let filter: SaveFilter

    /// Hands out one payload at a time.
    public struct Iterator: AsyncIteratorProtocol {
        var base: PayloadHub.Saves.Iterator
        var filter: SaveFilter

        /// The next save that passes the filter.
        public mutating func next() async throws -> SavePayload? { try await next(isolation: nil) }

        /// The next save that passes the filter, for an iterator that an actor keeps.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(any Error) -> SavePayload? {
            while let payload = try await base.next(isolation: actor) {
                if try filter.passes(payload) { return payload }
            }
            return nil
        }
    }

    /// Begins to listen.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: listen().makeAsyncIterator(), filter: filter)
    }
}

extension PersistentContainer {
    /// The saves of all processes, this one's included, as far as this process follows their entities.
    ///
    /// A process follows the entities that it has read. To hear of others, call ``follow(_:)`` first.
    public var didSave: SaveSequence { saves() }

    /// The saves that touch objects of an entity, subentities included, or that an author made.
    public func saves(of entity: String? = nil, by author: String? = nil) -> SaveSequence {
        saves(SaveFilter(entity: entity, predicate: nil, author: author))
    }

    /// The saves that touch objects of an entity which match a predicate, before the save or after it.
    ///
    ///     let wins = container.saves(of: "Team", where: try ObjectPredicate(format: "wins > 3"))
    ///
    /// The predicate may look at an object's own attributes and to-one relationships; iterating throws `usage` else. A payload has the
    /// whole save; who wants to know which objects matched observes with a context (``ManagedObjectContext/observe(_:where:_:)``).
    /// Passed, match or not, is what the save itself does not tell: an object of which only to-many relationships changed, from
    /// the other end, and a text too long for its row.
    public func saves(
        of entity: String, where predicate: ObjectPredicate, by author: String? = nil
    ) -> SaveSequence {
        saves(SaveFilter(entity: entity, predicate: predicate, author: author))
    }

    private func saves(_ filter: SaveFilter) -> SaveSequence {
        SaveSequence(listen: { [connection] in connection.payloads.saves() }, filter: filter)
    }
}

extension ManagedObjectContext {
    /// The payloads of the saves that this context merges, its own included.
    ///
    /// What is merged before is not in it; one loop goes through it. Ends with `limitExceeded` for an iterator that lags too far behind, and
    /// with `historyExpired` when the context had to start anew without some of them.
    public var didSave: SaveSequence { saves() }

    /// Those of the saves that this context merges that touch objects of an entity, subentities included, or that an author made.
    public func saves(of entity: String? = nil, by author: String? = nil) -> SaveSequence {
        saves(SaveFilter(entity: entity, predicate: nil, author: author))
    }

    /// Those of the saves that this context merges that touch objects which match a predicate, before the save or after it.
    ///
    /// As with a container's, see ``PersistentContainer/saves(of:where:by:)``.
    public func saves(
        of entity: String, where predicate: ObjectPredicate, by author: String? = nil
    ) -> SaveSequence {
        saves(SaveFilter(entity: entity, predicate: predicate, author: author))
    }

    private func saves(_ filter: SaveFilter) -> SaveSequence {
        // What is merged before the loop begins is kept for it.
        let stream = payloads.saves()
        return SaveSequence(listen: { stream }, filter: filter)
    }
}

/// Which saves are wanted.
struct SaveFilter: Sendable {
    let entity: String?
    let predicate: ObjectPredicate?
    let author: String?
    /// The one of the last model.
    private var judge: SaveJudge?

    init(entity: String?, predicate: ObjectPredicate?, author: String?) {
        (self.entity, self.predicate, self.author) = (entity, predicate, author)
    }

    mutating func passes(_ payload: SavePayload) throws(TandemError) -> Bool {
        if let author, payload.author != author { return false }
        guard let entity else { return true }
        if judge?.request.model !== payload.model {
            judge = try SaveJudge(
                FetchRequest(entity: entity, predicate: predicate), in: payload.model)
        }
        return judge.map { !$0.judge(payload).isEmpty } ?? false
    }
}
