import TandemModel
public import TandemQuery
import TandemWire

extension ManagedObjectContext {
    /// Calls `handler` on the context's actor with the changes to the context's objects, as long as
    /// the result is retained.
    ///
    /// Changes are reported when pending changes are processed:
    ///
    /// - at the end of every merge,
    /// - before a save collects the edits,
    /// - by ``processPendingChanges()``,
    /// - otherwise in a separate job on the context's actor, as soon as the code that made the
    ///   edits returns or suspends. A context without an actor reports the changes in its next
    ///   operation.
    ///
    /// Objects with merged changes are *refreshed*, objects edited in this context are *updated*. A
    /// save reports nothing new, apart from values that the daemon added to it.
    public func onObjectsDidChange(
        _ handler: @escaping (ObjectsChange) -> Void
    ) -> ObjectsObservation {
        let observation = ObjectsObservation(handler)
        checked.reporter.add(observation)
        return observation
    }

    /// A sequence of the changes to the context's objects from now on; ``onObjectsDidChange(_:)``
    /// describes when they are reported.
    ///
    /// The sequence ends with the context. It throws `limitExceeded` if its iterator lags by more
    /// than ``ClientLimits/bufferedPayloads`` changes.
    public var objectsDidChange: some AsyncSequence<ObjectsChange, any Error> {
        checked.reporter.sequence()
    }

    /// Reports pending changes to the observers of the context's objects; does nothing if there are
    /// none.
    ///
    /// Changes that the observers themselves make are reported in a later job, even if an observer
    /// calls this method or saves.
    public func processPendingChanges() {
        beginOperation()
        reporter.processPendingChanges()
    }

    // MARK: Saves

    /// The payloads of the saves that this context merges, its own included.
    ///
    /// Saves merged before the sequence was created are not included. A sequence can be iterated
    /// once. It throws `limitExceeded` if the iteration lags by more than
    /// ``ClientLimits/bufferedPayloads`` saves, and `historyExpired` if the context had to restart
    /// and skipped some saves.
    public var didSave: SaveSequence { saves() }

    /// Returns the merged saves by an author that change objects of an entity or its subentities.
    ///
    /// Pass nil to include any entity or author.
    public func saves(of entity: String? = nil, by author: String? = nil) -> SaveSequence {
        saves(SaveFilter(entity: entity, predicate: nil, author: author))
    }

    /// Returns the merged saves that change objects matching a predicate before or after the save.
    ///
    /// The predicate is evaluated as in ``PersistentContainer/saves(of:where:by:)``.
    public func saves(
        of entity: String, where predicate: ObjectPredicate, by author: String? = nil
    ) -> SaveSequence {
        saves(SaveFilter(entity: entity, predicate: predicate, author: author))
    }

    /// Returns the merged saves that change objects of a class, or only those that change objects
    /// matching a condition on key paths before or after the save.
    ///
    ///     let saves = try context.saves(of: Team.self, where: \.zone == "Africa")
    ///     for try await save in saves { … }
    ///
    /// Throws the errors of ``PredicateSource/objectPredicate``.
    public func saves<Object: ManagedEntity>(
        of type: Object.Type, where condition: TypedPredicate<Object>? = nil,
        by author: String? = nil
    ) throws -> SaveSequence {
        let predicate = try condition?.objectPredicate
        return saves(SaveFilter(entity: type.entity.name, predicate: predicate, author: author))
    }

    /// Returns the merged saves that change objects of a class matching a condition in any form
    /// (``PredicateSource``) before or after the save.
    ///
    /// Throws the errors of ``PredicateSource/objectPredicate``.
    public func saves<Object: ManagedEntity, Condition: PredicateSource>(
        of type: Object.Type, where condition: Condition, by author: String? = nil
    ) throws -> SaveSequence where Condition.Evaluation == (Object) throws -> Bool {
        saves(of: type.entity.name, where: try condition.objectPredicate, by: author)
    }

    private func saves(_ filter: SaveFilter) -> SaveSequence {
        // Saves that are merged before the loop begins are buffered for it.
        let feed = family.payloads.saves()
        return SaveSequence(listen: { feed }, filter: filter)
    }

    /// Calls `handler` for every merged save that changes matching objects; blocks until the
    /// observation begins.
    ///
    /// The predicate may read only an object's own attributes and to-one relationships; otherwise
    /// `usage` is thrown. The observation begins after the context's position on return.
    ///
    /// The handler is called in journal order, before the merging call returns. Saves that are
    /// merged together are reported individually. The handler is also called if saves were missed,
    /// because history expired or a new epoch began, or if the model no longer has an entity or
    /// property that the observer needs.
    ///
    /// If the context can't decide whether an object matches, the object is reported. This applies
    /// to strings that are too long for their rows. It also applies to objects that changed only in
    /// their to-many relationships, through the inverse, if the row is neither loaded nor part of
    /// the merged saves. For such an object `before` and `after` are true, as for any matching
    /// object whose row is unchanged.
    public func observe(
        _ entity: String, where predicate: ObjectPredicate? = nil,
        _ handler: @escaping (ObserverEvent) -> Void
    ) throws -> ContextObserver {
        try blocking { try await root.observe(entity, predicate, handler, $0) }
    }

    /// Calls `handler` for every merged save that changes objects of a class, or only those that
    /// match a condition on key paths; blocks until the observation begins.
    ///
    ///     let observer = try context.observe(Team.self, where: \.wins > 3) { print($0) }
    ///
    /// Also throws the errors of ``PredicateSource/objectPredicate``.
    public func observe<Object: ManagedEntity>(
        _ type: Object.Type, where condition: TypedPredicate<Object>? = nil,
        _ handler: @escaping (ObserverEvent) -> Void
    ) throws -> ContextObserver {
        core.registerIfNeeded(type)
        return try observe(type.entity.name, where: condition?.objectPredicate, handler)
    }

    /// Calls `handler` for every merged save that changes objects of a class matching a condition
    /// in any form (``PredicateSource``); blocks until the observation begins.
    ///
    /// Also throws the errors of ``PredicateSource/objectPredicate``.
    public func observe<Object: ManagedEntity, Condition: PredicateSource>(
        _ type: Object.Type, where condition: Condition,
        _ handler: @escaping (ObserverEvent) -> Void
    ) throws -> ContextObserver where Condition.Evaluation == (Object) throws -> Bool {
        core.registerIfNeeded(type)
        return try observe(type.entity.name, where: condition.objectPredicate, handler)
    }

    private func observe(
        _ entity: String, _ predicate: ObjectPredicate?,
        _ handler: @escaping (ObserverEvent) -> Void, _ calls: DaemonCalls
    ) async throws -> ContextObserver {
        let session = try await connectedSession(calls)
        let declaration = FetchDescriptor(entity: entity, predicate: predicate)
        let request = try SaveMatcher(declaration, in: session.model).request
        let following = try StoreCalls.following([entity], session)
        let _: ReadAnswer = try await reads.read(.read(following), calls) {
            if case .objects(let answer) = $0 { answer } else { nil }
        }
        let observer = ContextObserver(self, request, handler)
        participants.add(observer)
        return observer
    }
}
