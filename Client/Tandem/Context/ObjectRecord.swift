import TandemModel
import TandemWire

/// The state of one object in a context: the merged row, the edits in flight and the pending edits.
///
/// A merge changes only the row. An acknowledgement completes the edits in flight; a failed save
/// moves them back to the pending edits.
final class ObjectRecord {
    let entity: CompiledEntity
    let reference: ObjectReference
    // Properties with `@exclusivity(unchecked)`, also those of the two classes at the end of this
    // file, are only assigned, or changed in place by functions that access no other part of the
    // record and release nothing that could run other code. Two accesses therefore never overlap.
    /// The row as of the context's position, or nil if it is not loaded.
    @exclusivity(unchecked) private(set) var row: Row?
    /// The position of the transaction that last changed the row; 0 if the row is not loaded.
    ///
    /// For a fault with edits, it is the position on which the edits are based, or 0 if the object
    /// was never read.
    @exclusivity(unchecked) private(set) var version: UInt64 = 0
    /// Whether the object does not exist, or no longer exists, in the store.
    @exclusivity(unchecked) private(set) var isMissing = false
    /// Whether the read of a property failed (``FailedReads``).
    @exclusivity(unchecked) private(set) var isUnreadable = false
    /// The number of pins, which keep the record while lists need its row or its object is created.
    @exclusivity(unchecked) private(set) var pins: Int32 = 0
    /// The edits and undo entries; nil if there are none.
    @exclusivity(unchecked) private var edits: RecordEdits?
    /// The loaded members of to-many relationships; nil if none are loaded.
    @exclusivity(unchecked) private var loaded: LoadedMembers?
    /// The parent context's object, over whose values this record's edits are layered.
    ///
    /// Nil in a root context, and for objects created in the child. A record with a base has no row
    /// of its own.
    private(set) var base: ManagedObject?
    /// The object of this record, if it is in use.
    private(set) weak var object: ManagedObject?

    init(_ reference: ObjectReference, _ entity: CompiledEntity, base: ManagedObject? = nil) {
        self.reference = reference
        self.entity = entity
        self.base = base
    }

    /// Creates a record of another entity or model for the object of `old`, without its edits.
    init(_ reference: ObjectReference, _ entity: CompiledEntity, replacing old: ObjectRecord) {
        self.reference = reference
        self.entity = entity
        (isMissing, version, base) = (old.isMissing, old.version, old.base)
    }

    /// The printable id.
    var id: ObjectID { ObjectID(entity: entity.name, number: reference.number) }

    /// Whether the object is new: it exists neither in the store as of the context's position, nor
    /// in the parent.
    var isInserted: Bool {
        row == nil && (pendingKind == .insert || inFlightKind == .insert) && !isDeleted
    }

    /// Whether the object is deleted, or will be deleted by the next save.
    var isDeleted: Bool { isGone || pendingKind == .delete || inFlightKind == .delete }

    /// Whether the object is missing from the store, or deleted in the parent.
    var isGone: Bool { isMissing || (base?.record.isDeleted ?? false) }

    /// Whether the values are not loaded yet.
    var isFault: Bool {
        if let base { return base.record.isFault }
        return row == nil && !isInserted && !isMissing
    }

    /// Whether the values underlying the edits are loaded.
    var isBased: Bool { row != nil || base.map { !$0.record.isFault } ?? false }

    /// The edits to be sent by the next save.
    var pending: Edits { edits?.pending ?? .empty }

    /// The edits in the in-flight save.
    var inFlight: Edits { edits?.inFlight ?? .empty }

    /// The kind of the pending edits; faster to read than ``pending``.
    var pendingKind: Edits.Kind { edits?.pending.kind ?? .none }

    /// The kind of the edits in flight; faster to read than ``inFlight``.
    var inFlightKind: Edits.Kind { edits?.inFlight.kind ?? .none }

    /// The values that the parent had edited when this record was first edited.
    var seen: SlotValues { edits?.seen ?? SlotValues() }

    /// The loaded members of to-many relationships, as of the context's position.
    var members: [Int: Set<ObjectReference>] { loaded?.members ?? [:] }

    /// The ranks of the loaded members of ordered relationships.
    var ranks: [Int: [ObjectReference: Rank]] { loaded?.ranks ?? [:] }

    /// Whether the object has pending or in-flight edits.
    var hasEdits: Bool {
        guard let edits else { return false }
        return !edits.pending.isEmpty || !edits.inFlight.isEmpty
    }

    /// Whether an undo or redo entry changes the object.
    var hasUndoEntries: Bool { edits.map { $0.undoEntries > 0 } ?? false }

    /// Whether the record is unused, so that the context may remove it.
    var isIdle: Bool { object == nil && pins == 0 && !hasUndoEntries && !hasEdits }

    /// Asserts the relations between the parts, which hold between operations.
    func checkInvariants() {
        assert(base == nil || row == nil, "A record with a base has no row of its own.")
        assert(row == nil || !isMissing, "A missing object has no row.")
        assert(row == nil || version > 0, "A loaded row has a version.")
        assert(
            pins >= 0 && (edits?.undoEntries ?? 0) >= 0, "Pins and undo entries are released once.")
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
    private var hasEditedValues: Bool {
        guard let edits else { return false }
        return !edits.pending.values.isEmpty || !edits.inFlight.values.isEmpty
    }

    /// Returns the value with all edits, or nil if the row has to be loaded first.
    func value(_ slot: Int) -> PropertyValue? {
        if hasEditedValues, let edits,
            let value = edits.pending.values[slot] ?? edits.inFlight.values[slot]
        {
            return value
        }
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
        guard let edits else { return membersBelow(slot) }
        return membersBelow(slot).map {
            edits.pending.applied(to: edits.inFlight.applied(to: $0, slot), slot)
        }
    }

    /// Returns the members without pending edits, or nil if they have to be loaded first.
    func membersInFlight(_ slot: Int) -> Set<ObjectReference>? {
        guard let edits else { return membersBelow(slot) }
        return membersBelow(slot).map { edits.inFlight.applied(to: $0, slot) }
    }

    /// Returns the members without edits, or nil if they have to be loaded first.
    func membersBelow(_ slot: Int) -> Set<ObjectReference>? {
        if let base {
            guard let context = base.managedObjectContext else { return nil }
            return context.graph.members(of: base.record, slot)
        }
        return loaded?.members[slot] ?? (isInserted || isMissing ? [] : nil)
    }

    /// Returns the row with all edits, or nil if there is none or it has to be loaded first.
    func currentRow(modelVersion: UInt16) -> Row? {
        let row = row ?? base?.record.currentRow(modelVersion: modelVersion)
        if row == nil, !isInserted { return nil }
        let edits = editedValues
        var values = row?.values(in: entity) ?? entity.properties.map { _ in .null }
        if let row, edits.isEmpty { return row }
        for (slot, value) in edits { values[slot] = value }
        return Row(values, of: entity, version: modelVersion)
    }

    // MARK: Uses

    /// Adds pins, or removes them if `count` is negative.
    func pin(_ count: Int = 1) {
        pins += Int32(count)
        assert(pins >= 0, "A pin is released once.")
    }

    /// Counts an undo or redo entry for the record, or its end if `count` is negative.
    func countUndoEntry(_ count: Int) {
        ownEdits().undoEntries += count
        releaseEdits()
    }

    /// Sets the object of the record.
    func bind(_ object: ManagedObject) { self.object = object }
}

// MARK: Loaded data

extension ObjectRecord {
    /// Stores a row that is valid at the context's position.
    func store(_ row: Row, version: UInt64) {
        self.row = row
        self.version = version
        isMissing = false
        checkInvariants()
    }

    /// Records whether the object is known not to exist; a missing object has no row.
    func markMissing(_ isMissing: Bool = true) {
        assert(row == nil || !isMissing, "A missing object has no row.")
        self.isMissing = isMissing
    }

    /// Records whether the read of a property failed.
    func markUnreadable(_ isUnreadable: Bool = true) { self.isUnreadable = isUnreadable }

    /// Records the version of the stored row that caused a save conflict.
    ///
    /// Does nothing for an object without edits.
    func recordConflict(with version: UInt64) { edits?.refusedFor = version }

    /// Records that the row, or the state on which edits are based, was confirmed at a version.
    func advance(to version: UInt64) {
        if row != nil || self.version != 0 { self.version = version }
    }

    /// Removes all loaded data and keeps the edits.
    ///
    /// From then on, edits to loaded values, including those that can be undone or redone, are
    /// based on `position`. If a save was refused because of a later version, the edits are based
    /// on that version. A save still conflicts with changes that others make after that position.
    /// If `position` is nil, the version is reset.
    func fault(at position: UInt64? = nil) {
        row = nil
        let isBased = version != 0 && (hasEdits || hasUndoEntries)
        version = position.map { isBased ? max($0, edits?.refusedFor ?? 0) : 0 } ?? 0
        loaded = nil
        checkInvariants()
    }

    /// Removes the row and all members; from then on the object does not exist.
    func delete() {
        fault()
        isMissing = true
    }

    /// Removes the members of all relationships.
    func forgetMembers() { loaded = nil }

    /// Adopts the members of a relationship as of the context's position.
    func adopt(_ list: MemberList) {
        assert(base == nil, "A record with a base has no members of its own.")
        assert(
            list.ranks.map { $0.count == list.members.count } ?? true,
            "Each member of an ordered relationship has a rank.")
        let loaded = loaded ?? LoadedMembers()
        self.loaded = loaded
        loaded.members[list.slot] = Set(list.members)
        loaded.ranks[list.slot] = list.ranks.map {
            Dictionary(zip(list.members, $0), uniquingKeysWith: { $1 })
        }
    }

    /// Applies the change at index `at` of a merged group, which inserts or updates the object.
    ///
    /// `version` is the position of the change; if it is nil, an inserted row has `position`. The
    /// first parameter is the whole array, because a copy of the change would retain its contents.
    func apply(_ changes: [Change], _ at: Int, version: UInt64?, position: UInt64) {
        switch changes[at].kind {
        case .insert:
            row = changes[at].row
            self.version = version ?? position
            isMissing = false
            loaded = LoadedMembers(empty: entity.toManySlots)
        case .update:
            // The connection subscribes to every pushed entity, so the row stays current, like a
            // row that was read.
            row = changes[at].row
            if let version { self.version = version }
        case .touch: break
        case .delete: preconditionFailure("A deletion also ends the edits of the object.")
        }
        loaded?.apply(changes[at])
    }
}

// MARK: Edits

extension ObjectRecord {
    /// Changes the pending edits; the first edit gets the serial that `nextSerial` returns.
    func edit(_ nextSerial: () -> Int, _ change: (inout Edits) -> Void) -> Edits.Effect {
        let edits = ownEdits()
        let effect = edits.pending.edit(change)
        if effect == .first {
            edits.pending.serial = nextSerial()
            edits.seen = base?.record.editedValues ?? SlotValues()
        }
        if effect == .none { releaseEdits() }
        return effect
    }

    /// Removes the serial after the last pending edit was taken back.
    func endEdits() {
        assert(pending.isEmpty, "Only an object without edits has no serial.")
        edits?.pending.serial = 0
        releaseEdits()
    }

    /// Replaces the pending edits, as an undo does.
    func replacePending(by new: Edits) {
        ownEdits().pending = new
        releaseEdits()
    }

    /// Drops the pending edits.
    func dropPending() {
        edits?.pending = Edits()
        releaseEdits()
    }

    /// Drops the pending edits, so that the parent's values become visible.
    ///
    /// An object that was new in the child gets the parent's object as its `base`.
    func dropPending(base: @autoclosure () -> ManagedObject?) {
        if pendingKind == .insert { self.base = base() }
        edits?.seen = SlotValues()
        dropPending()
    }

    /// Separates a new object from the parent's objects.
    func removeBase() { base = nil }

    /// Sets the kind of the pending edits.
    func setPendingKind(_ kind: Edits.Kind) { ownEdits().pending.kind = kind }

    /// Puts the pending edits in flight.
    func send() {
        guard let edits else { return }
        assert(edits.inFlight.isEmpty, "No other save is in flight.")
        edits.inFlight = edits.pending
        edits.pending = Edits()
    }

    /// Removes the edits in flight, because their save has an outcome.
    func endSave() {
        edits?.inFlight = Edits()
        releaseEdits()
    }

    /// Makes the edits in flight pending again, below those made since; drops all edits if others
    /// deleted the object meanwhile.
    func takeBack() {
        guard let edits else { return }
        edits.pending = isMissing ? Edits() : edits.inFlight.under(edits.pending)
        endSave()
    }

    /// Takes over the pending edits of a new object that this existing object replaces.
    func takeEdits(of lost: ObjectRecord) { replacePending(by: pending.under(lost.pending)) }

    /// Takes over the values that the parent had edited when `lost` was first edited, unless this
    /// object has edits of its own.
    func takeSeen(of lost: ObjectRecord) {
        if hasEdits { return }
        ownEdits().seen = lost.seen
        releaseEdits()
    }

    /// Replaces a reference in all pending edits of relationships.
    func replace(_ old: ObjectReference, by new: ObjectReference) {
        edits?.pending.replace(old, by: new)
    }

    private func ownEdits() -> RecordEdits {
        if let edits { return edits }
        let new = RecordEdits()
        edits = new
        return new
    }

    /// Releases the memory of the edits if there are none.
    private func releaseEdits() {
        if let edits, !edits.isNeeded { self.edits = nil }
    }

    /// Takes over the object and edits of a record of a different entity or model; properties are
    /// matched by name.
    ///
    /// Returns the names of the edited properties that do not exist in this record's entity.
    func adopt(
        _ old: ObjectRecord, _ translation: ModelTranslation
    ) -> (pending: Set<String>, inFlight: Set<String>) {
        let moved = [old.pending, old.inFlight, Edits(values: old.seen)].map {
            translation.edits($0, of: old.entity, in: entity)
        }
        let edits = ownEdits()
        (edits.pending, edits.inFlight) = (moved[0].edits, moved[1].edits)
        edits.seen = moved[2].edits.values
        releaseEdits()
        pins = old.pins
        object = old.object
        old.object?.rebind(to: self)
        return (moved[0].lost, moved[1].lost)
    }
}

// MARK: Child contexts

extension ObjectRecord {
    /// The values edited in this context, pending or in flight.
    var editedValues: SlotValues {
        guard let edits else { return SlotValues() }
        var values = edits.inFlight.values
        values.merge(edits.pending.values)
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

// MARK: Parts that few records have

/// The edits of an object, and the number of its undo entries.
private final class RecordEdits {
    /// The edits to be sent by the next save; the closures that change them read no record.
    @exclusivity(unchecked) var pending = Edits()
    /// The edits in the in-flight save.
    @exclusivity(unchecked) var inFlight = Edits()
    /// The values that the parent had edited when the object was first edited.
    var seen = SlotValues()
    /// The number of undo and redo entries for the object.
    var undoEntries = 0
    /// The version of the stored row that caused the last save conflict; 0 if there was none.
    var refusedFor: UInt64 = 0

    /// Whether any part but the conflict, which matters only with edits, has to be kept.
    var isNeeded: Bool {
        !pending.isEmpty || !inFlight.isEmpty || !seen.isEmpty || undoEntries > 0
    }
}

/// The loaded members of the to-many relationships of an object.
private final class LoadedMembers {
    /// The members by slot.
    @exclusivity(unchecked) var members: [Int: Set<ObjectReference>] = [:]
    /// The ranks of the members of ordered relationships.
    @exclusivity(unchecked) var ranks: [Int: [ObjectReference: Rank]] = [:]

    init() {}

    /// Creates relationships without members; returns nil if there are no relationships.
    init?(empty slots: [Int]) {
        if slots.isEmpty { return nil }
        for slot in slots { members[slot] = [] }
    }

    /// Applies added and removed members to the relationships whose members are loaded.
    ///
    /// The members of a changed relationship are dropped if the change does not list its links.
    func apply(_ change: Change) {
        let toMany = members.keys.filter { change.changed.contains($0) }
        for slot in toMany where !change.links.contains(where: { $0.slot == slot }) {
            guard change.kind != .insert else { continue }
            members[slot] = nil
            ranks[slot] = nil
        }
        for link in change.links where members[link.slot] != nil {
            if link.isAdded {
                members[link.slot]?.insert(link.target)
            } else {
                members[link.slot]?.remove(link.target)
            }
            guard let rank = link.rank else { continue }
            ranks[link.slot, default: [:]][link.target] = link.isAdded ? rank : nil
        }
    }
}
