public import Observation
public import TandemModel

/// What ties an object to its context; made by contexts only.
public struct ObjectBinding {
    let context: ManagedObjectContext?
    let record: ObjectRecord
}

/// An object of the graph as one context sees it.
///
/// An object is a fault until one of its properties is read. Three layers make up what it shows: the row as merged, what a save
/// in flight carries, and what is pending; saves of others change the first only. It belongs to its context's actor.
///
/// Views that read properties under `withObservationTracking` are told of edits and merges alike, of those properties that they read
/// and no others; ``hasChanges``, ``isDeleted`` and their like count as one. Observers need not hold the object: the context records
/// which properties of which ids are observed.
open class ManagedObject: Observable {
    /// The context; nil when that is gone, and then every property reads as null.
    public weak let managedObjectContext: ManagedObjectContext?
    let properties: PropertyCache
    // What follows is assigned, or changes in place by functions that see nothing else of the object and call nobody meanwhile, so
    // that no two accesses can overlap.
    @exclusivity(unchecked) private(set) var record: ObjectRecord
    /// What the object shares with others that pass by while values are made; nil for one that stays.
    ///
    /// Guarded by it: it lets no object pass by for longer than it lasts.
    @exclusivity(unchecked) private(set) var passing: Unmanaged<PassingRows>?
    /// The observed properties of the context's objects; nil for an object of no context.
    private let observed: ObservedProperties?
    /// The properties that were read while the object passed by.
    @exclusivity(unchecked) private var readSlots = PropertyMask()
    /// Whether the state was read while the object passed by.
    @exclusivity(unchecked) private var isStateRead = false

    /// Made by contexts: insert or fetch objects instead.
    ///
    /// Where values are made of rows (``ManagedObjectContext/fetchValues(_:where:_:sort:limit:)``) one object may stand for one row after
    /// the other, unless its class has stored properties beside those of ``Managed``.
    public required init(binding: ObjectBinding) {
        managedObjectContext = binding.context
        properties = binding.context?.propertyCache ?? PropertyCache()
        observed = binding.context?.observed
        record = binding.record
    }

    /// The id, final from the moment of insertion.
    public var id: ObjectID { record.id }

    /// The name of the object's own entity.
    public var entityName: String { record.entity.name }

    /// The object's own entity.
    public var entity: CompiledEntity { record.entity }

    /// Whether the object is new and not in the store.
    public var isInserted: Bool { state.isInserted }

    /// Whether there are unsaved edits to an object that is in the store.
    public var isUpdated: Bool {
        !state.isInserted && !record.isDeleted && !record.pending.isEmpty
    }

    /// Whether the object is gone from the store, or will be with the next save.
    public var isDeleted: Bool { state.isDeleted }

    /// Whether the values have to be loaded when they are needed.
    public var isFault: Bool { state.isFault }

    /// Whether there are unsaved edits.
    public var hasChanges: Bool { !state.pending.isEmpty }

    /// The position of the save that last changed the object's row; 0 when it isn't held.
    public var version: UInt64 { state.rootVersion }

    // MARK: Validation

    /// The rules of the app's own: called before a save for every new or changed object; throw to refuse the save.
    ///
    /// Overriding methods may read anything and change nothing. A ``TandemModel/TandemError`` of the code `validation` is
    /// reported together with all other problems of the save, any other error by itself.
    open func validate() throws {}

    /// Checks a new object before it is saved: every rule of the model that can be checked here, then ``validate()``.
    ///
    /// Throws `validation` with all `problems`. Uniqueness, and what hangs on objects that the context does not hold, is for the
    /// daemon. Overriding methods call super's.
    open func validateForInsert() throws {
        try check(record.doubtful)
    }

    /// Checks a changed object before it is saved: the rules of the model for what was changed, then ``validate()``.
    ///
    /// Throws and is overridden as ``validateForInsert()``.
    open func validateForUpdate() throws {
        try check(record.doubtful.intersection(record.pending.mask))
    }

    /// Checks an object before it is deleted: throws `deleteDenied` when a relationship of the rule `deny` leads to anything the context holds.
    ///
    /// A save leaves that code to the daemon, which knows all members as they are by then; throw `validation` to refuse the
    /// save.
    open func validateForDelete() throws { try checkDenials() }

    // MARK: Values

    /// An attribute, or a to-one relationship as a reference; null for a to-many one.
    ///
    /// Reading may block to load a fault, or a text or data that is too long for a row; when that fails the value is null and the context's ``ManagedObjectContext/faultFailure`` says why.
    /// Setting traps on an unknown property or a value of another type: check what comes from outside with ``CompiledProperty/accepts(_:)``.
    /// It also traps if the edit would be lost: if the object was deleted, here or by others, or if its context is gone.
    public subscript(property: String) -> Value {
        get { self[record.entity.declared(property)] }
        set { self[record.entity.declared(property)] = newValue }
    }

    /// The same by a property of the object's own entity, which saves looking for its name.
    ///
    /// A property of another entity traps.
    public subscript(property: CompiledProperty) -> Value {
        get {
            let value = storedValue(slot(property))
            guard let blob = value.outside, let context = managedObjectContext else { return value }
            return context.content(of: blob, property, of: record).map(value.whole) ?? .null
        }
        set {
            precondition(
                property.accepts(newValue),
                "\(entityName).\(property.name) can't hold \(newValue).")
            if let target = newValue.reference { check(target, property) }
            editableContext?.set(newValue, slot(property), of: record)
        }
    }

    /// The property of a name that a ``Managed`` spells; a name of none traps.
    @usableFromInline
    func property(_ name: String) -> CompiledProperty { property(ManagedName(name)) }

    /// The property of a name that a ``Managed`` spells; a name of none traps.
    @usableFromInline
    func property(_ name: ManagedName) -> CompiledProperty {
        properties.property(name, of: record.entity)
    }

    /// Has somebody told of the properties that are read; for objects of no context.
    func follow(_ follower: Follower) { properties.follower = follower }

    /// Who is told of the properties that are read.
    var follower: Follower? { properties.follower }

    /// The object at the end of a to-one relationship.
    public func object(_ relationship: String) -> ManagedObject? {
        object(record.entity.declared(relationship))
    }

    /// The object at the end of a to-one relationship.
    func object(_ relationship: CompiledProperty) -> ManagedObject? {
        guard let context = managedObjectContext, let target = self[relationship].reference,
            context.session?.model.entity(tagged: target.tag) != nil
        else { return nil }
        let other = context.record(target)
        guard !other.isDeleted else { return nil }
        guard let passing else { return context.object(of: other) }
        return passing._withUnsafeGuaranteedRef { $0.object(of: other) }
    }

    /// Sets the object at the end of a to-one relationship; its other end follows.
    public func setObject(_ object: ManagedObject?, for relationship: String) {
        if let object, !canLead(to: object) { return }
        self[relationship] = object.map { .reference($0.record.reference) } ?? .null
    }

    /// The objects at the end of a to-many relationship; loading them may block.
    public func objects(_ relationship: String) -> Set<ManagedObject> {
        guard let context = managedObjectContext, let slot = loadedMembers(relationship) else {
            return []
        }
        return Set((context.members(of: record, slot) ?? []).map { context.object($0) })
    }

    /// The objects at the end of a to-many relationship in their order, or by number where there is none; loading them may block.
    public func orderedObjects(_ relationship: String) -> [ManagedObject] {
        guard let context = managedObjectContext, let slot = loadedMembers(relationship) else {
            return []
        }
        return (context.membersInOrder(of: record, slot) ?? []).map { context.object($0) }
    }

    /// Loads the members of a relationship and returns its slot.
    private func loadedMembers(_ relationship: String) -> Int? {
        guard let context = managedObjectContext else { return nil }
        let wanted = toMany(relationship).slot
        access(wanted)
        if record.isUnreadable { context.loadAgain(record) }
        if record.members(wanted) == nil {
            context.fire { try $0.loadStep([], members: [(record.reference, wanted)]) }
        }
        // Loading may have brought another model.
        guard let slot = record.entity.slot(of: relationship) else { return nil }
        if record.members(slot) == nil { context.recordFailedRead(slot, of: record) }
        return slot
    }

    /// Adds an object to a to-many relationship, in an ordered one as the last; the other end follows.
    ///
    /// Adding a member does nothing. Of an ordered relationship the members are loaded, which may block.
    public func add(_ member: ManagedObject, to relationship: String) {
        let property = toMany(relationship)
        guard canLead(to: member), let context = editableContext else { return }
        check(member.record.reference, property)
        guard property.relationship?.isOrdered == true else {
            return context.add(member.record, to: property.slot, of: record)
        }
        let members = orderedObjects(relationship)
        if !members.contains(member) { setOrderedObjects(members + [member], for: relationship) }
    }

    /// Puts an object into an ordered relationship, or a member elsewhere: afterwards it stands at `index`; the other end follows.
    ///
    /// It is one change of a link, whatever stands around it; loading the members may block. An index beyond the end traps.
    ///
    ///     team.insert(player, into: "players", at: 0)
    public func insert(_ member: ManagedObject, into relationship: String, at index: Int) {
        var members = orderedObjects(relationship).filter { $0 !== member }
        precondition(
            members.indices.contains(index) || index == members.count,
            "\(entityName).\(relationship) has no place \(index).")
        members.insert(member, at: index)
        setOrderedObjects(members, for: relationship)
    }

    /// Replaces the objects at the end of an ordered relationship; the other ends follow.
    ///
    /// Those that are in order with each other keep their places, so that saves of others that insert or move meet as few changes as
    /// can be. What is named twice stands where it is named first. Loading the members may block; a relationship without order traps.
    public func setOrderedObjects(_ members: [ManagedObject], for relationship: String) {
        let property = toMany(relationship)
        precondition(
            property.relationship?.isOrdered == true,
            "\(entityName).\(relationship) has no order; add and remove its members.")
        let members = members.filter { canLead(to: $0) }
        for member in members { check(member.record.reference, property) }
        guard let context = editableContext, let slot = loadedMembers(relationship) else { return }
        context.setMembers(members.map(\.record), slot, of: record)
    }

    /// Removes an object from a to-many relationship; the other end follows.
    public func remove(_ member: ManagedObject, from relationship: String) {
        let property = toMany(relationship)
        checkContext(of: member)
        check(member.record.reference, property)
        editableContext?.remove(member.record, from: property.slot, of: record)
    }

    /// The value of a slot; what is too long for a row as its reference.
    func storedValue(_ slot: Int) -> Value {
        access(slot)
        if !record.isUnreadable, let value = record.value(slot) { return shown(value) }
        let name = record.entity.properties[slot].name
        guard let context = managedObjectContext else { return record.value(slot) ?? .null }
        if record.isUnreadable {
            context.loadAgain(record)
        } else {
            context.fire { try $0.loadStep($0.faultBatch(record), members: []) }
        }
        // Loading may have brought another model.
        guard let slot = record.entity.slot(of: name) else { return .null }
        if let value = record.value(slot) { return shown(value) }
        context.recordFailedRead(slot, of: record)
        return .null
    }

    /// The attribute's default, shown in place of a stored value that the type of the property can't show.
    ///
    /// Records that the property was read without success. Nil if there is no value, and in objects of no context.
    @usableFromInline
    func substitute(for name: ManagedName, _ type: any AttributeConvertible.Type) -> Value? {
        managedObjectContext == nil ? nil : substitute(for: property(name).name, type)
    }

    /// The default, shown in place of a stored value that the type of the property can't show.
    @usableFromInline
    func substitute(for name: String, _ type: any AttributeConvertible.Type) -> Value? {
        // Reading it may have brought another model.
        guard let context = managedObjectContext, let slot = record.entity.slot(of: name),
            let value = record.committedValue(slot), !value.isNull, record.value(slot) == value,
            value.outside.map({ context.root.blobs[$0] != nil }) ?? true
        else { return nil }
        context.recordUnknownValue(value, slot, of: record, type)
        return record.entity.defaults[slot]
    }

    /// A value as it will be once all deletions are saved: nothing leads to what is gone.
    private func shown(_ value: Value) -> Value {
        guard let target = value.reference, let context = managedObjectContext,
            context.known(target)?.isDeleted == true
        else { return value }
        return .null
    }

    private func slot(_ property: CompiledProperty) -> Int {
        let slot = property.slot
        precondition(
            slot < record.entity.properties.count && record.entity.properties[slot] === property,
            "\(property.name) is a property of another entity than \(entityName).")
        return slot
    }

    private func toMany(_ relationship: String) -> CompiledProperty {
        let property = record.entity.declared(relationship)
        precondition(
            property.isToMany, "\(entityName).\(relationship) is no to-many relationship.")
        return property
    }

    /// The context, for an edit of this object; traps if the edit would be lost.
    ///
    /// Nil if the edit is dropped and reported by the next save, see ``UnseenDeletions``.
    private var editableContext: ManagedObjectContext? {
        guard let context = managedObjectContext else {
            preconditionFailure(
                "The context of \(id) is gone, so an edit would be lost; keep the context as long as its objects are edited."
            )
        }
        guard record.isDeleted else { return context }
        precondition(
            context.discardsEdit(of: record),
            "\(id) was deleted, so an edit would be lost; check isDeleted first.")
        return nil
    }

    /// Whether a relationship of this object can lead to another one; traps if that was deleted.
    ///
    /// False if the edit is dropped and reported by the next save, see ``UnseenDeletions``.
    private func canLead(to object: ManagedObject) -> Bool {
        checkContext(of: object)
        guard object.record.isDeleted else { return true }
        precondition(
            managedObjectContext?.discardsEdit(of: object.record) == true,
            "\(object.id) was deleted, so nothing can lead to it; check isDeleted first.")
        return false
    }

    private func checkContext(of object: ManagedObject) {
        precondition(
            object.managedObjectContext === managedObjectContext,
            "Objects of different contexts can't be related; use object(with:) first.")
    }

    /// Checks that an object is of the entity that a relationship leads to, or of one below it.
    private func check(_ target: ObjectReference, _ property: CompiledProperty) {
        guard let destination = property.relationship?.destination,
            let entity = managedObjectContext?.session?.model.entity(tagged: target.tag)
        else { return }
        precondition(
            entity.ancestors.contains(destination),
            "\(entityName).\(property.name) can't lead to an object of \(entity.name).")
    }

    // MARK: Observation

    /// Registers a read of a property with the current observation, if there is one.
    @inline(__always)
    func access(_ slot: Int) {
        if passing == nil { return observe(slot) }
        if slot < 64 { readSlots.low |= 1 &<< UInt64(slot) } else { readSlots.insert(slot) }
    }

    private func observe(_ slot: Int) { observed?.access(slot, of: record.reference.number) }

    /// The record, for reads of the object's state.
    private var state: ObjectRecord {
        if passing == nil { observe(ObservedProperties.state) } else { isStateRead = true }
        return record
    }

    /// Notifies observers that all properties have changed.
    func notifyObservers() { managedObjectContext?.notifyObservers(of: record.reference.number) }

    // MARK: Passing by

    /// Lets the object pass by; nothing of it was read yet.
    func pass(among rows: PassingRows) { passing = .passUnretained(rows) }

    /// Forgets its row and what was read, so that it can stand for another one; says whether that could be done.
    ///
    /// Nobody but the object must have its record, of which the context must have let go, and nothing else may be known of that.
    @inline(__always)
    func passOn() -> Bool {
        guard isKnownUniquelyReferenced(&record) else { return false }
        let isDone = Unmanaged.passUnretained(record)._withUnsafeGuaranteedRef { record in
            guard record.isRowAlone else { return false }
            record.passOn()
            return true
        }
        guard isDone else { return false }
        readSlots = PropertyMask()
        isStateRead = false
        return true
    }

    /// Makes an object that passed by one like all others: who reads under observation is told of what was read until now.
    func stay() {
        guard passing != nil else { return }
        passing = nil
        record.settle()
        if isStateRead { observe(ObservedProperties.state) }
        for slot in readSlots { observe(slot) }
    }

    /// Whether the object shows a record.
    @inline(__always)
    func shows(_ record: Unmanaged<ObjectRecord>) -> Bool {
        Unmanaged.passUnretained(self.record).toOpaque() == record.toOpaque()
    }

    /// Lets this object show another record.
    func rebind(to record: ObjectRecord) {
        passing?._withUnsafeGuaranteedRef { $0.passage.end(self.record) }
        self.record.settle()
        let former = self.record.reference.number
        self.record = record
        managedObjectContext?.notifyObservers(of: former)
        if record.reference.number != former { notifyObservers() }
    }
}

extension ManagedObject: Hashable, Identifiable {
    /// Objects are equal when they are the same object.
    public static func == (a: ManagedObject, b: ManagedObject) -> Bool { a === b }

    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ManagedObjectContext {
    /// Loads what a property needs; a failure is kept for the next throwing call.
    ///
    /// What it merges on the way is told to those who observe objects and declared lists once whoever reads is done.
    func fire(_ step: (ManagedObjectContext) throws -> Step<Void>) {
        standing.loads += 1
        defer { standing.loads -= 1 }
        do {
            try step(self).run(on: connection)
        } catch let error as TandemError {
            if faultFailure == nil { faultFailure = error }
        } catch {
            faultFailure = TandemError(.storage, "\(error)")
        }
    }
}
