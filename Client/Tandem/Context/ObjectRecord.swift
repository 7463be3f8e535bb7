import TandemModel
import TandemWire

/// The state of one object in a context: the merged row, the edits in flight and the pending edits.
///
/// A merge changes only the row. An acknowledgement completes the edits in flight; a failed save
/// moves them back to the pending edits.
final class ObjectRecord {
    let entity: CompiledEntity
    let reference: ObjectReference
    // Properties with `@exclusivity(unchecked)` are only assigned, or changed in place by functions
    // that access no other part of the record and release nothing that could run other code. Two
    // accesses therefore never overlap.
    /// The row as of the context's position, or nil if it is not loaded.
    @exclusivity(unchecked) var row: Row?
    /// The position of the transaction that last changed the row; 0 if the row is not loaded.
    ///
    /// For a fault with edits, it is the position on which the edits are based, or 0 if the object
    /// was never read.
    @exclusivity(unchecked) var version: UInt64 = 0
    /// The version of the stored row that caused the last save conflict; 0 if there was none.
    var refusedFor: UInt64 = 0
    /// Whether the object does not exist, or no longer exists, in the store.
    @exclusivity(unchecked) var isMissing = false
    /// Whether the read of a property failed (``FailedReads``).
    @exclusivity(unchecked) var isUnreadable = false
    /// The loaded members of to-many relationships, as of the context's position.
    @exclusivity(unchecked) var members: [Int: Set<ObjectReference>] = [:]
    /// The ranks of the loaded members of ordered relationships.
    @exclusivity(unchecked) var ranks: [Int: [ObjectReference: Rank]] = [:]
    /// The edits in the in-flight save.
    @exclusivity(unchecked) var inFlight = Edits()
    /// The edits to be sent by the next save.
    @exclusivity(unchecked) var pending = Edits()
    /// The parent context's object, over whose values this record's edits are layered.
    ///
    /// Nil in a root context, and for objects created in the child. A record with a base has no row
    /// of its own.
    var base: ManagedObject?
    /// The values that the parent had edited when this record was first edited.
    var seen = SlotValues()
    /// The uses that keep the record besides its object and its edits.
    @exclusivity(unchecked) var uses = Uses()
    /// The object of this record, if it is in use.
    weak var object: ManagedObject?

    /// The numbers of uses of a record.
    struct Uses {
        /// The number of pins, which keep the record while lists need its row or its object is
        /// created.
        var pins = 0
        /// The number of undo and redo entries for the record.
        var steps = 0
    }

    init(_ reference: ObjectReference, _ entity: CompiledEntity) {
        self.reference = reference
        self.entity = entity
    }

    /// The printable id.
    var id: ObjectID { ObjectID(entity: entity.name, number: reference.number) }

    /// Whether the object is new: it exists neither in the store as of the context's position, nor
    /// in the parent.
    var isInserted: Bool {
        row == nil && (pending.kind == .insert || inFlight.kind == .insert) && !isDeleted
    }

    /// Whether the object is deleted, or will be deleted by the next save.
    var isDeleted: Bool { isGone || pending.kind == .delete || inFlight.kind == .delete }

    /// Whether the object is missing from the store, or deleted in the parent.
    var isGone: Bool { isMissing || (base?.record.isDeleted ?? false) }

    /// Whether the values are not loaded yet.
    var isFault: Bool {
        if let base { return base.record.isFault }
        return row == nil && !isInserted && !isMissing
    }

    /// Whether the values underlying the edits are loaded.
    var isBased: Bool { row != nil || base.map { !$0.record.isFault } ?? false }

    /// Whether the object has pending or in-flight edits.
    var hasEdits: Bool { !pending.isEmpty || !inFlight.isEmpty }

    /// Whether the record is unused, so that the context may remove it.
    var isIdle: Bool { object == nil && uses.pins == 0 && uses.steps == 0 && !hasEdits }

    /// Asserts the relations between the parts, which hold between operations.
    func checkInvariants() {
        assert(base == nil || row == nil, "A record with a base has no row of its own.")
        assert(row == nil || !isMissing, "A missing object has no row.")
        assert(row == nil || version > 0, "A loaded row has a version.")
        assert(uses.pins >= 0 && uses.steps >= 0, "Pins and undo entries are released once.")
        assert(
            pending.isEmpty == (pending.serial == 0), "Only an object with edits has a serial.")
        assert(pending.kind != .insert || inFlight.kind != .insert, "An object is inserted once.")
    }

    // MARK: Values

    /// Calls `body` with the row; returns nil if values were edited or the row is not loaded.
    @inline(__always)
    func withCleanRow<Result>(_ body: (RowView) -> Result?) -> Result? {
        hasEditedValues ? nil : row?.withView(body) ?? nil
    }

    @inline(__always)
    private var hasEditedValues: Bool { !pending.values.isEmpty || !inFlight.values.isEmpty }

    /// Returns the value with all edits, or nil if the row has to be loaded first.
    func value(_ slot: Int) -> PropertyValue? {
        if !hasEditedValues { return committedValue(slot) }
        if let value = pending.values[slot] ?? inFlight.values[slot] { return value }
        return committedValue(slot)
    }

    /// Returns the value without edits, or nil if the row has to be loaded first.
    func committedValue(_ slot: Int) -> PropertyValue? {
        if let row { return row.uncheckedValue(slot, in: entity) }
        if let base { return base.record.value(slot) }
        return isFault ? nil : .null
    }

    /// Returns the members with all edits, or nil if they have to be loaded first.
    func members(_ slot: Int) -> Set<ObjectReference>? {
        membersBelow(slot).map { pending.applied(to: inFlight.applied(to: $0, slot), slot) }
    }

    /// Returns the members without pending edits, or nil if they have to be loaded first.
    func membersInFlight(_ slot: Int) -> Set<ObjectReference>? {
        membersBelow(slot).map { inFlight.applied(to: $0, slot) }
    }

    /// Returns the members without edits, or nil if they have to be loaded first.
    func membersBelow(_ slot: Int) -> Set<ObjectReference>? {
        if let base {
            guard let context = base.managedObjectContext else { return nil }
            return context.graph.members(of: base.record, slot)
        }
        return members[slot] ?? (isInserted || isMissing ? [] : nil)
    }

    /// Returns the row with all edits, or nil if there is none or it has to be loaded first.
    func currentRow(modelVersion: UInt16) -> Row? {
        let row = row ?? base?.record.currentRow(modelVersion: modelVersion)
        if row == nil, !isInserted { return nil }
        var edits = inFlight.values
        edits.merge(pending.values)
        var values = row?.values(in: entity) ?? entity.properties.map { _ in .null }
        if let row, edits.isEmpty { return row }
        for (slot, value) in edits { values[slot] = value }
        return Row(values, of: entity, version: modelVersion)
    }

    /// Removes all loaded data and keeps the edits.
    ///
    /// From then on, edits to loaded values, including those that can be undone or redone, are
    /// based on `position`. If a save was refused because of a later version, the edits are based
    /// on that version. A save still conflicts with changes that others make after that position.
    /// If `position` is nil, the version is reset.
    func fault(at position: UInt64? = nil) {
        row = nil
        let isBased = version != 0 && (hasEdits || uses.steps > 0)
        version = position.map { isBased ? max($0, refusedFor) : 0 } ?? 0
        if !members.isEmpty { forgetMembers() }
        checkInvariants()
    }

    /// Removes the members of all relationships.
    func forgetMembers() {
        members.removeAll()
        ranks.removeAll()
    }

    /// Adopts the members of a relationship as of the context's position.
    func adopt(_ list: MemberList) {
        assert(base == nil, "A record with a base has no members of its own.")
        assert(
            list.ranks.map { $0.count == list.members.count } ?? true,
            "Each member of an ordered relationship has a rank.")
        members[list.slot] = Set(list.members)
        ranks[list.slot] = list.ranks.map {
            Dictionary(zip(list.members, $0), uniquingKeysWith: { $1 })
        }
    }
}

// MARK: Child contexts

extension ObjectRecord {
    /// Records the values that the parent had edited before this record was first edited.
    func recordSeen() { seen = base?.record.editedValues ?? SlotValues() }

    /// The values edited in this context, pending or in flight.
    var editedValues: SlotValues {
        var values = inFlight.values
        values.merge(pending.values)
        return values
    }

    /// Returns whether the parent has edited a value since this record was first edited.
    func isOutdated(_ slot: Int) -> Bool {
        guard let theirs = base?.record.editedValues[slot] else { return false }
        return theirs != seen[slot]
    }

    /// Returns the value that the edits are based on, or nil if it is not loaded.
    func baseValue(_ slot: Int) -> PropertyValue? {
        guard let base else { return committedValue(slot) }
        return seen[slot] ?? base.record.committedValue(slot)
    }

    /// The position of the save that last changed the row, or 0 if the row is not loaded.
    var rootVersion: UInt64 { base?.record.rootVersion ?? (row == nil ? 0 : version) }
}
