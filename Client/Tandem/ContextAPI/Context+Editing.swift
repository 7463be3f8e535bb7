import TandemModel
import TandemWire

extension ManagedObjectContext {
    /// Creates a new object of an entity; its id is final.
    ///
    /// There is no async form, because this method blocks only at the first use of the container,
    /// or if the leased numbers are used up. After `open(…)` or `connect()`, the container has
    /// leased numbers, and leases more in advance. Throws `unknownEntity`, or `disconnected` if
    /// there was no connection yet.
    public func insert(_ entity: String) throws -> ManagedObject {
        try blocking { try await editor.insert(entity, as: ManagedObject.self, $0) }
    }

    /// Creates a new object of a class.
    ///
    /// Throws `usage` if a different class is registered for the entity.
    public func insert<Object: ManagedEntity>(_ type: Object.Type) throws -> Object {
        core.registerIfNeeded(type)
        return try blocking { try await editor.insert(type.entity.name, as: type, $0) }
    }

    /// Marks an object for deletion by the next save; a new object is discarded at once.
    ///
    /// The effects of delete rules on loaded objects are visible at once. To-one relationships to
    /// the object become null, and the object is removed from to-many relationships. With the rule
    /// `cascade`, loaded objects at the other end are marked as well, recursively.
    ///
    /// The daemon applies the rules at the save: it also deletes related objects that the context
    /// has not loaded, and keeps objects that others have since moved elsewhere. With the rule
    /// `deny`, it refuses the save with `deleteDenied` (see ``ManagedObject/validateForDelete()``).
    /// Undo reverts all these effects.
    public func delete(_ object: ManagedObject) {
        require(
            object.managedObjectContext === self,
            "\(object.id) belongs to another context; delete it there.")
        checked.editor.delete(object.record)
    }

    /// Drops all pending edits: new objects disappear, and values return to the merged state.
    public func rollback() {
        checked.editor.rollback()
    }

    /// Creates a child context for editing, which saves into this context and runs on its actor.
    ///
    /// The child shows the content of this context, including unsaved edits, with its own edits on
    /// top. Merges and edits of this context appear in the child at once. Calling
    /// ``save(policy:saveID:author:)`` on the child moves its edits into this context,
    /// as one step of ``undo()``, and writes nothing to the store. Releasing the child drops its
    /// edits. Child contexts can have children.
    ///
    ///     let form = context.makeChild(name: "form")
    ///     let team = try form.existingObject(with: id)
    ///     team["name"] = .string("Cameroon")     // visible only in `form`
    ///     try form.save()                        // visible in `context`
    ///     try context.save()                     // visible in all contexts
    ///
    /// - Parameter name: A name for messages; the journal records the name of the root context.
    /// - Returns: A context without edits and with the same merge policy; it retains this context.
    public func makeChild(name: String) -> ManagedObjectContext {
        ManagedObjectContext(child: name, of: checked)
    }

    // MARK: Undo

    /// Whether edits can be undone; off by default.
    ///
    /// Setting it to false discards all steps.
    public var allowsUndo: Bool {
        get { checked.editor.allowsUndo }
        set { checked.editor.allowsUndo = newValue }
    }

    /// Whether there is a step to undo.
    public var canUndo: Bool { checked.editor.canUndo }

    /// Whether there is a step to redo.
    public var canRedo: Bool { checked.editor.canRedo }

    /// Combines all edits made by `body` into one step of ``undo()``; groups may be nested.
    ///
    /// Outside of a group, every call is a separate step.
    public func undoGroup<Result>(_ body: () throws -> Result) rethrows -> Result {
        try checked.editor.undoGroup(body)
    }

    /// Undoes the last step; does nothing if there is none.
    ///
    /// Saves, rollbacks and resets discard all steps. Merged changes by others are not undone.
    public func undo() { checked.editor.exchange(isUndo: true) }

    /// Redoes the step that was undone last; does nothing if there is none.
    public func redo() { checked.editor.exchange(isUndo: false) }
}
