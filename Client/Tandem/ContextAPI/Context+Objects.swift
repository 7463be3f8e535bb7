public import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Returns the object with an id, as a fault if it is not loaded; sends no read request.
    ///
    /// Throws `unknownEntity` if the model lacks the id's entity. The object need not exist; see
    /// ``existingObject(with:)``.
    public func object(with id: ObjectID) throws -> ManagedObject {
        let session = try blocking { try await connectedSession($0) }
        return graph.object(try graph.reference(id, session))
    }

    /// Returns the loaded object with an id; blocks if it has to be loaded first.
    ///
    /// Throws `unknownObject` if there is none.
    public func existingObject(with id: ObjectID) throws -> ManagedObject {
        try blocking { try await loader.existing(id, $0) }
    }

    /// Returns the object with an id after loading it.
    ///
    /// Throws `unknownObject` if there is none.
    public func existingObject(
        with id: ObjectID
    ) async throws -> ManagedObject {
        try await cancellable { try await loader.existing(id, $0) }
    }

    /// Returns the object with a typed id, as a fault if it is not loaded; sends no read request.
    ///
    /// Throws `unknownEntity` if the model lacks the id's entity, and `usage` if the id is of a
    /// different class.
    public func object<Object>(with id: TypedID<Object>) throws -> Object {
        core.registerIfNeeded(Object.self)
        return try typed(try object(with: id.id))
    }

    /// Returns the loaded object with a typed id; blocks if it has to be loaded first.
    ///
    /// Throws `unknownObject` if there is none, and `usage` if the id is of a different class.
    public func existingObject<Object>(with id: TypedID<Object>) throws -> Object {
        core.registerIfNeeded(Object.self)
        return try typed(try existingObject(with: id.id))
    }

    /// Returns the loaded object with a typed id.
    ///
    /// Throws `unknownObject` if there is none, and `usage` if the id is of a different class.
    public func existingObject<Object>(
        with id: TypedID<Object>
    ) async throws -> Object {
        core.registerIfNeeded(Object.self)
        return try typed(try await existingObject(with: id.id))
    }

    private func typed<Object: ManagedEntity>(_ object: ManagedObject) throws -> Object {
        guard let typed = object as? Object else {
            throw TandemError(.usage, "\(object.id) is not of the entity \(Object.entity.name)")
        }
        return typed
    }

    // MARK: Loading

    /// Loads faults with one request, and the objects that key paths reach from them; blocks.
    ///
    ///     try context.load(teams, prefetching: ["league", "players.club"])
    ///
    /// Sends one more request for each step of the longest path, regardless of the number of
    /// objects and paths. Each request loads the rows of related objects, or members together with
    /// their rows. Data that is already loaded is not requested. Without prefetching, following a
    /// relationship from an object for the first time sends a request. Loaded data that is not in
    /// use may be removed again (`limits.cachedRows`). Throws `unknownProperty` for a key path that
    /// contains anything but relationships, and the errors of reads.
    public func load(
        _ objects: some Sequence<ManagedObject>, prefetching keyPaths: [String] = []
    ) throws {
        try blocking {
            try await prefetcher.load(objects.map(\.record.reference), prefetching: keyPaths, $0)
        }
    }

    /// Loads faults with one request, and the objects that key paths reach from them.
    public func load(
        _ objects: [ManagedObject], prefetching keyPaths: [String] = []
    ) async throws {
        try await cancellable {
            try await prefetcher.load(objects.map(\.record.reference), prefetching: keyPaths, $0)
        }
    }

    /// The operations for Tandem's own programs.
    package var tools: ContextTools { ContextTools(context: self) }

    // MARK: Registered objects

    /// The objects that the context knows: those in use and those with unsaved edits.
    ///
    /// Objects deleted from the store are not included. Cost: linear in the number of records.
    public var registeredObjects: Set<ManagedObject> {
        Set(checked.graph.lazy.filter { !$0.isMissing }.compactMap(\.object))
    }

    /// Returns the id of the object to which a value refers.
    ///
    /// Returns nil before the context's first use, or if the model no longer has the object's
    /// entity.
    ///
    ///     if case .reference(let captain) = team.snapshot["captain"] {
    ///         print(context.objectID(for: captain) ?? "none")
    ///     }
    public func objectID(for reference: ObjectReference) -> ObjectID? {
        guard let model = session?.model, model.entity(tagged: reference.tag) != nil else {
            return nil
        }
        return model.id(of: reference)
    }

    /// Returns the object with an id if the context knows it; sends no request and creates no
    /// object.
    ///
    /// Also returns nil if the object was deleted from the store. ``object(with:)`` creates the
    /// object if needed.
    public func registeredObject(for id: ObjectID) -> ManagedObject? {
        guard let record = checked.graph[id.number], !record.isMissing,
            let tag = session?.model.entity(named: id.entity)?.tag,
            record.entity.ancestors.contains(tag)
        else { return nil }
        return record.object
    }

    /// Turns all objects into faults and keeps their edits, like ``refresh(_:mergeChanges:)`` with
    /// `mergeChanges: true`.
    ///
    /// The next read first merges up to the daemon's position, and loads the objects at that
    /// position. New objects and lists stay as they are.
    public func refreshAllObjects() {
        checked.graph.refreshAll()
    }

    /// Turns an object into a fault; pending edits are kept if `mergeChanges` is true, and dropped
    /// otherwise.
    ///
    /// If an earlier read of the object failed, the object is loaded at once, which may block; see
    /// ``faultFailure``.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) {
        require(
            object.managedObjectContext === self,
            "\(object.id) belongs to another context; refresh it there.")
        checked.graph.refresh(object.record, keepsEdits: mergeChanges)
    }

    /// Discards all objects and edits.
    ///
    /// Objects that are still in use become faults without edits.
    public func reset() {
        checked.graph.reset()
    }
}
