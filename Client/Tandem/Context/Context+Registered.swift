public import TandemModel

extension ManagedObjectContext {
    /// The objects that the context knows: those in use and those with unsaved edits.
    ///
    /// Objects deleted from the store are not included. Cost: linear in the number of records.
    public var registeredObjects: Set<ManagedObject> {
        Set(records.lazy.filter { !$0.isMissing }.compactMap(\.object))
    }

    /// Returns the object with an id if the context knows it; sends no request and creates no
    /// object.
    ///
    /// Also returns nil if the object was deleted from the store. ``object(with:)`` creates the
    /// object if needed.
    public func registeredObject(for id: ObjectID) -> ManagedObject? {
        guard let record = records[id.number], !record.isMissing,
            let tag = session?.model.entity(named: id.entity)?.tag,
            record.entity.ancestors.contains(tag)
        else { return nil }
        return record.object
    }

    /// Turns all objects into faults and keeps their edits, like ``refresh(_:mergeChanges:)`` with
    /// true.
    ///
    /// The next read first merges up to the daemon's position, and loads at that position. New
    /// objects and lists stay as they are.
    public func refreshAllObjects() {
        for record in records where !record.isInserted && !record.isMissing {
            if record.object != nil { touch(record, .refresh) }
            record.fault(at: merged)
            notifyObservers(of: record.reference.number)
        }
    }
}
