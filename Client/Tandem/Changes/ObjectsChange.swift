public import TandemModel

/// The changes to a context's objects since the last report, made by its own edits or by merges.
///
/// Each object is in one of the five sets. ``ManagedObjectContext/registeredObject(for:)`` and
/// ``ManagedObjectContext/object(with:)`` return the object with an id.
public struct ObjectsChange: Hashable, Sendable {
    /// The effect of saves by others, including objects that the context does not know.
    public struct Merged: Hashable, Sendable {
        /// The new objects.
        public var inserted: Set<ObjectID> = []
        /// The objects whose values or relationships changed.
        public var updated: Set<ObjectID> = []
        /// The deleted objects.
        public var deleted: Set<ObjectID> = []

        /// Whether nothing was merged.
        package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
    }

    /// The position up to which the context has merged, or nil before the context's first use.
    public var position: Position?
    /// Objects that appeared: created in this context, inserted by others, or restored by undo.
    public var inserted: Set<ObjectID> = []
    /// Objects that were edited in this context.
    public var updated: Set<ObjectID> = []
    /// Known objects that were deleted, or will be deleted by the next save.
    public var deleted: Set<ObjectID> = []
    /// Known objects that others changed, that became faults, or whose edits were dropped.
    public var refreshed: Set<ObjectID> = []
    /// All objects that the context knew when `reset` or a restart discarded its data.
    public var invalidated: Set<ObjectID> = []
    /// The merged changes by others.
    public var merged = Merged()

    /// Whether there are no changes.
    package var isEmpty: Bool {
        inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty
            && invalidated.isEmpty && merged.isEmpty
    }
}

/// An observer of a context's object changes; the observation ends when this object is released, or
/// with ``cancel()``.
public final class ObjectsObservation {
    private(set) var handler: ((ObjectsChange) -> Void)?

    init(_ handler: @escaping (ObjectsChange) -> Void) { self.handler = handler }

    /// Ends the observation.
    public func cancel() { handler = nil }
}
