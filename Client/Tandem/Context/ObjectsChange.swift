public import TandemModel

/// What became of the objects of a context since it was told last: by its own edits, and by what it merged.
///
/// An object is in one of the five sets. ``ManagedObjectContext/registeredObject(for:)`` and
/// ``ManagedObjectContext/object(with:)`` lead from ids to objects.
public struct ObjectsChange: Hashable, Sendable {
    /// What saves of others did to objects, whether or not the context knows these.
    public struct Merged: Hashable, Sendable {
        /// The new objects.
        public var inserted: Set<ObjectID> = []
        /// The objects whose values or relationships changed.
        public var updated: Set<ObjectID> = []
        /// The objects that are gone.
        public var deleted: Set<ObjectID> = []

        /// Whether nothing was merged.
        public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
    }

    /// The position up to which the context has merged; nil before it was first used.
    public var position: Position?
    /// Objects that were not there before: made here, saved by others, or whose deletion was taken back.
    public var inserted: Set<ObjectID> = []
    /// Objects that were edited here.
    public var updated: Set<ObjectID> = []
    /// Objects that the context knew and that are gone, or will be with the next save.
    public var deleted: Set<ObjectID> = []
    /// Objects that the context knew whose values others changed, or that were made faults, or whose edits were dropped.
    public var refreshed: Set<ObjectID> = []
    /// All objects that the context knew, when it forgot or replaced what it held: after `reset`, or starting anew.
    public var invalidated: Set<ObjectID> = []
    /// What was merged from others.
    public var merged = Merged()

    /// Whether nothing happened.
    public var isEmpty: Bool {
        inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty
            && invalidated.isEmpty && merged.isEmpty
    }
}

/// Somebody who is told what becomes of a context's objects; it ends when it is no longer held, or with ``cancel()``.
public final class ObjectsObservation {
    private(set) var handler: ((ObjectsChange) -> Void)?

    init(_ handler: @escaping (ObjectsChange) -> Void) { self.handler = handler }

    /// Ends the observation.
    public func cancel() { handler = nil }
}
