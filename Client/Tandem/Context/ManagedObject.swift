public import Observation
public import TandemModel

/// The connection of an object to its context and record; created only by contexts.
public struct ObjectBinding {
    let context: ManagedObjectContext?
    let record: ObjectRecord
}

/// An object of the graph as seen by one context.
///
/// An object is a fault until one of its properties is read. Its values combine three layers: the
/// merged row, the edits of a save in flight, and the pending edits. Saves by others change only
/// the row. An object belongs to its context's actor.
///
/// Views that read properties under `withObservationTracking` are notified of edits and merges that
/// change these properties. ``hasChanges``, ``isDeleted`` and the other state properties count as
/// one property. Observers need not retain the object: the context records which properties of
/// which ids are observed.
open class ManagedObject: Observable {
    /// The context, or nil after the context was released; every property then reads as null.
    public weak let managedObjectContext: ManagedObjectContext?
    let properties: PropertyCache
    private(set) var record: ObjectRecord
    /// The observed properties of the context's objects; nil for an object without a context.
    private let observed: ObservedProperties?

    /// Creates an object; called only by contexts.
    ///
    /// Insert or fetch objects instead.
    public required init(binding: ObjectBinding) {
        managedObjectContext = binding.context
        properties = binding.context?.graph.propertyCache ?? PropertyCache()
        observed = binding.context?.reporter.observed
        record = binding.record
    }

    /// The id, which is final from the moment of insertion.
    public var id: ObjectID { record.id }

    /// The name of the object's own entity.
    public var entityName: String { record.entity.name }

    /// The object's own entity.
    package var entity: CompiledEntity { record.entity }

    /// Whether the object is new and not in the store.
    public var isInserted: Bool { state.isInserted }

    /// Whether the object is in the store and has unsaved edits.
    public var isUpdated: Bool {
        !state.isInserted && !record.isDeleted && !record.pending.isEmpty
    }

    /// Whether the object was deleted from the store, or will be deleted by the next save.
    public var isDeleted: Bool { state.isDeleted }

    /// Whether the values have to be loaded when they are first read.
    public var isFault: Bool { state.isFault }

    /// Whether there are unsaved edits.
    public var hasChanges: Bool { !state.pending.isEmpty }

    /// The position of the save that last changed the object's row; 0 if the row isn't loaded.
    public var version: UInt64 { state.rootVersion }

    // MARK: Validation

    /// Validates the app's own rules before a save; called for every new or changed object.
    ///
    /// Throw an error to refuse the save. Overriding methods may read anything but must not change
    /// anything. A ``TandemModel/TandemError`` with the code `validation` is reported together with
    /// all other problems of the save; any other error is reported alone.
    open func validate() throws {}

    /// Validates a new object before it is saved.
    ///
    /// Checks every rule of the model that the client can check, and calls ``validate()``. Throws
    /// `validation` with all `problems`. The daemon checks uniqueness, and rules that depend on
    /// objects that the context has not loaded. Overriding methods have to call `super`.
    open func validateForInsert() throws {
        try check(record.doubtful)
    }

    /// Validates a changed object before it is saved.
    ///
    /// Checks the rules of the model for the changed properties, and calls ``validate()``. The
    /// errors and the rules for overriding are the same as for ``validateForInsert()``.
    open func validateForUpdate() throws {
        try check(record.doubtful.intersection(record.pending.mask))
    }

    /// Validates an object before it is deleted.
    ///
    /// Throws `deleteDenied` if a relationship with the rule `deny` has a target that the context
    /// has loaded. A save ignores this error and leaves the check to the daemon, which knows all
    /// current members. To refuse the save, throw `validation`.
    open func validateForDelete() throws { try checkDenials() }

    // MARK: Values

    /// The value of an attribute, or of a to-one relationship as a reference; null for a to-many
    /// relationship.
    ///
    /// Reading may block to load a fault, or a string or data value that is too long for a row. If
    /// that fails, the value is null, and the context's ``ManagedObjectContext/faultFailure``
    /// contains the error. Setting traps for an unknown property or a value of the wrong type. It
    /// also traps if the edit would be lost: if the object was deleted, in this context or by
    /// others, or if its context was released.
    public subscript(property: String) -> PropertyValue {
        get { self[record.entity.declared(property)] }
        set { self[record.entity.declared(property)] = newValue }
    }

    /// The value of a property of the object's own entity, without a lookup by name.
    ///
    /// Otherwise like the subscript by name. Traps for a property of a different entity.
    package subscript(property: CompiledProperty) -> PropertyValue {
        get {
            let value = storedValue(slot(property))
            guard let blob = value.outside, let context = managedObjectContext else { return value }
            return context.loader.content(of: blob, property, of: record).map(value.whole) ?? .null
        }
        set {
            require(
                property.accepts(newValue),
                "\(entityName).\(property.name) cannot hold \(newValue).")
            if let target = newValue.reference { check(target, property) }
            guard let context = editableContext else { return }
            context.editor.set(newValue, slot(property), of: record)
        }
    }

    /// Returns the property that the source code names; traps if the entity lacks it.
    func property(_ name: _ManagedName) -> CompiledProperty {
        properties.property(name, of: record.entity)
    }

    /// Sets the probe that records reads of properties, for an object without a context.
    func follow(_ probe: some PropertyProbe) { properties.probe = probe }

    /// The probe that records reads of properties.
    var probe: (any PropertyProbe)? { properties.probe }

    /// Returns the target of a to-one relationship.
    public func object(_ relationship: String) -> ManagedObject? {
        object(record.entity.declared(relationship))
    }

    /// Returns the target of a to-one relationship.
    func object(_ relationship: CompiledProperty) -> ManagedObject? {
        self[relationship].reference.flatMap { target($0) }
    }

    /// Sets the target of a to-one relationship, and updates the inverse.
    public func setObject(_ object: ManagedObject?, for relationship: String) {
        if let object, !canRefer(to: object) { return }
        self[relationship] = object.map { .reference($0.record.reference) } ?? .null
    }

    /// Returns the targets of a to-many relationship; may block to load them.
    public func objects(_ relationship: String) -> Set<ManagedObject> {
        guard let context = managedObjectContext, let slot = loadedMembers(relationship) else {
            return []
        }
        return Set((context.graph.members(of: record, slot) ?? []).map { context.graph.object($0) })
    }

    /// Returns the targets of a to-many relationship in order; may block to load them.
    ///
    /// The targets of an unordered relationship are sorted by number.
    public func orderedObjects(_ relationship: String) -> [ManagedObject] {
        guard let context = managedObjectContext, let slot = loadedMembers(relationship) else {
            return []
        }
        return (context.graph.membersInOrder(of: record, slot) ?? []).map {
            context.graph.object($0)
        }
    }

    /// Loads the members of a relationship and returns its slot.
    private func loadedMembers(_ relationship: String) -> Int? {
        guard let context = managedObjectContext else { return nil }
        let wanted = toMany(relationship).slot
        access(wanted)
        if record.isUnreadable { context.loader.loadAgain(record) }
        if record.members(wanted) == nil {
            context.loader.fire {
                try await $0.loader.load([], members: [(record.reference, wanted)], $1)
            }
        }
        // Loading may have replaced the model.
        guard let slot = record.entity.slot(of: relationship) else { return nil }
        if record.members(slot) == nil { context.failures.recordFailedRead(slot, of: record) }
        return slot
    }

    /// Adds an object to a to-many relationship, and updates the inverse.
    ///
    /// In an ordered relationship the object becomes the last member; the members are loaded first,
    /// which may block. Adding an existing member does nothing.
    public func add(_ member: ManagedObject, to relationship: String) {
        let property = toMany(relationship)
        guard canRefer(to: member), let context = editableContext else { return }
        check(member.record.reference, property)
        guard property.relationship?.isOrdered == true else {
            return context.editor.add(member.record, to: property.slot, of: record)
        }
        let members = orderedObjects(relationship)
        if !members.contains(member) { setOrderedObjects(members + [member], for: relationship) }
    }

    /// Inserts an object into an ordered relationship, or moves a member, so that it has this
    /// index.
    ///
    /// The inverse is updated. The edit changes only the link of this member, not the links of its
    /// neighbours. May block to load the members. An index beyond the end traps.
    ///
    ///     team.insert(player, into: "players", at: 0)
    public func insert(_ member: ManagedObject, into relationship: String, at index: Int) {
        var members = orderedObjects(relationship).filter { $0 !== member }
        require(
            members.indices.contains(index) || index == members.count,
            "\(entityName).\(relationship) has no index \(index).")
        members.insert(member, at: index)
        setOrderedObjects(members, for: relationship)
    }

    /// Replaces the targets of an ordered relationship, and updates the inverses.
    ///
    /// Members whose relative order stays the same keep their ranks. This minimises conflicts with
    /// saves by others that insert or move members. A member named twice gets the position of its
    /// first occurrence. May block to load the members. Traps if the relationship is not ordered.
    public func setOrderedObjects(_ members: [ManagedObject], for relationship: String) {
        let property = toMany(relationship)
        require(
            property.relationship?.isOrdered == true,
            "\(entityName).\(relationship) is not ordered; add and remove its members.")
        let members = members.filter { canRefer(to: $0) }
        for member in members { check(member.record.reference, property) }
        guard let context = editableContext, let slot = loadedMembers(relationship) else { return }
        context.editor.setMembers(members.map(\.record), slot, of: record)
    }

    /// Removes an object from a to-many relationship, and updates the inverse.
    public func remove(_ member: ManagedObject, from relationship: String) {
        let property = toMany(relationship)
        checkContext(of: member)
        check(member.record.reference, property)
        guard let context = editableContext else { return }
        context.editor.remove(member.record, from: property.slot, of: record)
    }

    /// Returns the value of a slot; a value too long for a row is returned as a reference.
    func storedValue(_ slot: Int) -> PropertyValue {
        access(slot)
        if !record.isUnreadable, let value = record.value(slot) { return shown(value) }
        let name = record.entity.properties[slot].name
        guard let context = managedObjectContext else { return record.value(slot) ?? .null }
        if record.isUnreadable {
            context.loader.loadAgain(record)
        } else {
            context.loader.fire { try await $0.loader.load($0.loader.faultBatch(record), $1) }
        }
        // Loading may have replaced the model.
        guard let slot = record.entity.slot(of: name) else { return .null }
        if let value = record.value(slot) { return shown(value) }
        context.failures.recordFailedRead(slot, of: record)
        return .null
    }

    /// Returns the attribute's default for a stored value that the property's type can't represent.
    ///
    /// Records that the read failed. Returns nil if there is no value, or if the object has no
    /// context.
    @usableFromInline
    func substitute(for name: _ManagedName, _ type: Any.Type) -> PropertyValue? {
        guard let context = managedObjectContext else { return nil }
        // Reading the value may have replaced the model.
        guard let slot = record.entity.slot(of: property(name).name),
            let value = record.committedValue(slot), !value.isNull, record.value(slot) == value,
            value.outside.map({ context.loader.cachedContent(of: $0) != nil }) ?? true
        else { return nil }
        context.failures.recordUnknownValue(value, slot, of: record, type)
        return record.entity.defaults[slot]
    }

    /// Returns the value, or null for a reference to a deleted object, as if all deletions were
    /// saved.
    private func shown(_ value: PropertyValue) -> PropertyValue {
        guard let target = value.reference, let context = managedObjectContext,
            context.graph.known(target)?.isDeleted == true
        else { return value }
        return .null
    }

    private func slot(_ property: CompiledProperty) -> Int {
        let slot = property.slot
        require(
            slot < record.entity.properties.count && record.entity.properties[slot] === property,
            "\(property.name) is a property of an entity other than \(entityName).")
        return slot
    }

    private func toMany(_ relationship: String) -> CompiledProperty {
        let property = record.entity.declared(relationship)
        require(
            property.isToMany, "\(entityName).\(relationship) is not a to-many relationship.")
        return property
    }

    /// The context for an edit to this object; traps if the edit would be lost.
    ///
    /// Nil if the edit is dropped and the next save has to report it (``UnseenDeletions``).
    private var editableContext: ManagedObjectContext? {
        guard let context = managedObjectContext else {
            fatalError(
                "The context of \(id) is gone, so an edit would be lost; keep the context as long as its objects are edited."
            )
        }
        context.family.link.checkIsolation()
        guard record.isDeleted else { return context }
        require(
            context.failures.discardsEdit(of: record),
            "\(id) was deleted, so an edit would be lost; check isDeleted first.")
        return nil
    }

    /// Whether a relationship of this object may refer to `object`; traps if `object` was deleted.
    ///
    /// False if the edit is dropped and the next save has to report it (``UnseenDeletions``).
    private func canRefer(to object: ManagedObject) -> Bool {
        checkContext(of: object)
        guard object.record.isDeleted else { return true }
        let context = managedObjectContext
        let isDropped = context.map { $0.failures.discardsEdit(of: object.record) } ?? false
        require(
            isDropped,
            "\(object.id) was deleted, so nothing can refer to it; check isDeleted first.")
        return false
    }

    private func checkContext(of object: ManagedObject) {
        require(
            object.managedObjectContext === managedObjectContext,
            "Objects of different contexts cannot be related; use object(with:) first.")
    }

    /// Traps unless an object is of a relationship's destination entity or one of its subentities.
    private func check(_ target: ObjectReference, _ property: CompiledProperty) {
        guard let destination = property.relationship?.destination,
            let entity = managedObjectContext?.session?.model.entity(tagged: target.tag)
        else { return }
        require(
            entity.ancestors.contains(destination),
            "\(entityName).\(property.name) cannot refer to an object of \(entity.name).")
    }

    // MARK: Observation

    /// Registers a read of a property with the current observation, if there is one.
    func access(_ slot: Int) { observed?.access(slot, of: record.reference.number) }

    /// The record, for reads of the object's state.
    private var state: ObjectRecord {
        access(ObservedProperties.state)
        return record
    }

    /// Notifies observers that all properties have changed.
    func notifyObservers() {
        guard let context = managedObjectContext else { return }
        context.reporter.notifyObservers(of: record.reference.number)
    }

    /// Binds this object to a different record.
    func rebind(to record: ObjectRecord) {
        let former = self.record.reference.number
        self.record = record
        if let context = managedObjectContext { context.reporter.notifyObservers(of: former) }
        if record.reference.number != former { notifyObservers() }
    }
}

extension ManagedObject: Hashable, Identifiable {
    /// Returns whether both references are to the same object.
    public static func == (a: ManagedObject, b: ManagedObject) -> Bool { a === b }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

// Implements `debugDescription`, because `description` is a common attribute name.
extension ManagedObject: CustomDebugStringConvertible {
    /// The object's id and the values that the context has loaded, as printed by `print`.
    ///
    ///     Team/33 (name: "Cameroon", wins: 3, zone: null)
    ///     Team/34 (not loaded)
    ///
    /// Nothing is loaded, and the read is not observed. Unsaved edits are included; to-many
    /// relationships are not.
    public var debugDescription: String {
        ObjectDescription(record: record, model: managedObjectContext?.session?.model).text
    }
}
