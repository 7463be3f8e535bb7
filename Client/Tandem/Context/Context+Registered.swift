public import TandemModel

extension ManagedObjectContext {
    /// The objects that the context knows: those that somebody holds, and those with unsaved edits.
    ///
    /// Objects that are gone from the store are not among them. Costs a look at every row the context holds.
    public var registeredObjects: Set<ManagedObject> {
        Set(records.lazy.filter { !$0.isMissing }.compactMap(\.object))
    }

    /// The object of an id if the context knows it; nothing is asked of the daemon and nothing is made.
    ///
    /// Nil as well when the object is gone from the store. See ``object(with:)`` for one that is made if need be.
    public func registeredObject(for id: ObjectID) -> ManagedObject? {
        guard let record = records[id.number], !record.isMissing,
            let tag = session?.model.entity(named: id.entity)?.tag,
            record.entity.ancestors.contains(tag)
        else { return nil }
        return record.object
    }

    /// Makes all objects faults and keeps their unsaved edits, as ``refresh(_:mergeChanges:)`` with true does for one.
    ///
    /// What is read next is loaded at the daemon's position then, up to which everything is merged first. New objects, and lists,
    /// stay as they are.
    public func refreshAllObjects() {
        for record in records where !record.isInserted && !record.isMissing {
            if record.object != nil { touch(record, .refresh) }
            record.fault(at: merged)
            notifyObservers(of: record.reference.number)
        }
    }
}
