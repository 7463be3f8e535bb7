import TandemModel
import TandemWire

/// What a context knows of one object: the merged row, what is in flight, what is pending.
///
/// Merging changes the row layer only; an acknowledgement settles what is in flight, a failed save returns it.
final class ObjectRecord {
    let entity: CompiledEntity
    // What follows is assigned, or changes in place by functions that see nothing else of the record and let go of nothing that runs
    // others' code, so no two accesses can overlap.
    @exclusivity(unchecked) private(set) var reference: ObjectReference
    /// The row as of the context's position; nil when it isn't held.
    var row: Row? {
        get {
            if lentRow != nil { settle() }
            return ownRow
        }
        set {
            if lentRow != nil { settle() }
            ownRow = newValue
        }
    }
    @exclusivity(unchecked) private var ownRow: Row?
    /// Where the row lies, while the record passes by.
    ///
    /// Guarded by ``PassingObject``, which has the row and takes it away again (``passOn()``, ``settle()``) before that ends.
    @exclusivity(unchecked) private var lentRow: UnsafeMutablePointer<RowView>?
    /// The position of the transaction that last changed the row; 0 when it isn't held.
    ///
    /// Of a fault with edits it is the position that these are based on; 0 when the object was never read.
    @exclusivity(unchecked) var version: UInt64 = 0
    /// The position of the row for whose sake a save was refused; 0 when none was.
    var refusedFor: UInt64 = 0
    /// Whether the store has no such object (any more).
    @exclusivity(unchecked) var isMissing = false
    /// Whether something of it was read and could not be loaded (``FailedReads``).
    @exclusivity(unchecked) var isUnreadable = false
    /// The members of to-many relationships as of the context's position, where they are held.
    @exclusivity(unchecked) var members: [Int: Set<ObjectReference>] = [:]
    /// Where members of ordered relationships stand, of those that are held.
    @exclusivity(unchecked) var ranks: [Int: [ObjectReference: Rank]] = [:]
    /// What an unanswered save carries.
    @exclusivity(unchecked) var inFlight = Edits()
    /// What the next save will carry.
    @exclusivity(unchecked) var pending = Edits()
    /// The object of the parent context whose values lie below this record's edits; nil in a context that has no parent, and for
    /// what is new in a child.
    ///
    /// Such a record holds no row itself.
    var base: ManagedObject?
    /// What the parent had edited when this record was first edited.
    var seen = SlotValues()
    /// How many lists need the row to be kept.
    @exclusivity(unchecked) var pins = 0
    /// How many steps of undo or redo lead back to edits of it.
    var steps = 0
    /// The object that shows this record, if somebody holds it.
    var object: ManagedObject? {
        get { lentObject?.takeUnretainedValue() ?? heldObject }
        set {
            if lentRow != nil { settle() }
            lentObject = nil
            heldObject = newValue
        }
    }
    private weak var heldObject: ManagedObject?
    /// The object while others hold it for values that are being made: one that somebody knows weakly is slow to retain for good.
    ///
    /// Guarded by those who lend it, ``PassingObject`` and ``PassingRows``: they hold it until they have taken it away again.
    @exclusivity(unchecked) private var lentObject: Unmanaged<ManagedObject>?

    init(_ reference: ObjectReference, _ entity: CompiledEntity) {
        self.reference = reference
        self.entity = entity
    }

    /// The printable id.
    var id: ObjectID { ObjectID(entity: entity.name, number: reference.number) }

    /// Whether the object is new: not in the store as of the context's position, or not in the parent.
    var isInserted: Bool {
        !hasRow && (pending.kind == .insert || inFlight.kind == .insert) && !isDeleted
    }

    /// Whether the object is gone or will be with the next save.
    var isDeleted: Bool { isGone || pending.kind == .delete || inFlight.kind == .delete }

    /// Whether there is no such object below the edits (any more).
    var isGone: Bool { isMissing || (base?.record.isDeleted ?? false) }

    /// Whether nothing is known of the values yet.
    var isFault: Bool {
        if let base { return base.record.isFault }
        return !hasRow && !isInserted && !isMissing
    }

    /// Whether there are known values below the edits.
    var isBased: Bool { hasRow || base.map { !$0.record.isFault } ?? false }

    /// Whether there is anything that the store does not have.
    var hasEdits: Bool { !pending.isEmpty || !inFlight.isEmpty }

    /// Whether the context may forget the record.
    var isIdle: Bool { object == nil && pins == 0 && steps == 0 && !hasEdits }

    /// Whether nothing is known but the row, and nobody counts on it: such a record may stand for another row.
    var isRowAlone: Bool {
        pins == 0 && steps == 0 && !hasEdits && members.isEmpty && !isMissing && !isUnreadable
            && refusedFor == 0 && base == nil
    }

    /// Whether the row is held.
    @inline(__always)
    private var hasRow: Bool { ownRow != nil || lentRow != nil }

    // MARK: Passing by

    /// Whether the record stands for a row that is lent.
    var isPassing: Bool { lentRow != nil }

    /// Stands for a row that is lent, in place of another one.
    @inline(__always)
    func pass(as reference: ObjectReference, _ row: UnsafeMutablePointer<RowView>, version: UInt64)
    {
        self.reference = reference
        self.version = version
        if ownRow != nil { ownRow = nil }
        lentRow = row
    }

    /// Forgets the row that was lent; the object is that of the next one too.
    @inline(__always)
    func passOn() { lentRow = nil }

    /// Makes a record that passes by like all others: with a row of its own, and an object that it does not keep.
    @inline(never)
    func settle() {
        guard let lentRow else { return }
        self.lentRow = nil
        ownRow = Row(bytes: Array(lentRow.pointee.bytes))
        settleObject()
    }

    /// Takes an object that others hold, until they take it away again.
    func lend(_ object: ManagedObject) { lentObject = .passUnretained(object) }

    /// Forgets an object that was lent and goes.
    func drop(_ object: ManagedObject) { if isLent(object) { lentObject = nil } }

    /// Knows an object that was lent by itself, since it stays.
    func settle(_ object: ManagedObject) { if isLent(object) { settleObject() } }

    private func isLent(_ object: ManagedObject) -> Bool {
        lentObject?.toOpaque() == Unmanaged.passUnretained(object).toOpaque()
    }

    private func settleObject() {
        guard let lentObject else { return }
        self.lentObject = nil
        heldObject = lentObject.takeUnretainedValue()
    }

    // MARK: Values

    /// The row that the record passes by for, if no values were edited; nil else.
    @inline(__always)
    var cleanLentRow: RowView? { hasEditedValues ? nil : lentRow?.pointee }

    /// Lends the record's own row if no values were edited and it is held; nil else.
    @inline(__always)
    func withCleanRow<Result>(_ body: (RowView) -> Result?) -> Result? {
        hasEditedValues ? nil : ownRow?.withView(body) ?? nil
    }

    @inline(__always)
    private var hasEditedValues: Bool { !pending.values.isEmpty || !inFlight.values.isEmpty }

    /// The value with all edits; nil when the row has to be loaded first.
    func value(_ slot: Int) -> Value? {
        if !hasEditedValues { return committedValue(slot) }
        if let value = pending.values[slot] ?? inFlight.values[slot] { return value }
        return committedValue(slot)
    }

    /// The value without edits; nil when the row has to be loaded first.
    func committedValue(_ slot: Int) -> Value? {
        if let lentRow { return lentRow.pointee.value(slot, in: entity) }
        if let ownRow { return ownRow.uncheckedValue(slot, in: entity) }
        if let base { return base.record.value(slot) }
        return isFault ? nil : .null
    }

    /// The members with all edits; nil when they have to be loaded first.
    func members(_ slot: Int) -> Set<ObjectReference>? {
        membersBelow(slot).map { pending.applied(to: inFlight.applied(to: $0, slot), slot) }
    }

    /// The members without pending edits; nil when they have to be loaded first.
    func membersInFlight(_ slot: Int) -> Set<ObjectReference>? {
        membersBelow(slot).map { inFlight.applied(to: $0, slot) }
    }

    /// The members without edits; nil when they have to be loaded first.
    func membersBelow(_ slot: Int) -> Set<ObjectReference>? {
        if let base { return base.managedObjectContext?.members(of: base.record, slot) }
        return members[slot] ?? (isInserted || isMissing ? [] : nil)
    }

    /// The row with all edits on top; nil when there is none or it has to be loaded first.
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

    /// Forgets what was loaded, not what was edited.
    ///
    /// Edits of what was read, also those that may be redone, are based on `position` then, if there is one, or on what a refused
    /// save met: a save still meets what others change after that.
    func fault(at position: UInt64? = nil) {
        row = nil
        let isBased = version != 0 && (hasEdits || steps > 0)
        version = position.map { isBased ? max($0, refusedFor) : 0 } ?? 0
        if !members.isEmpty { forgetMembers() }
    }

    /// Forgets the members of all relationships.
    func forgetMembers() {
        members.removeAll()
        ranks.removeAll()
    }

    /// Takes over the members of a relationship as of the context's position.
    func hold(_ list: MemberList) {
        members[list.slot] = Set(list.members)
        ranks[list.slot] = list.ranks.map {
            Dictionary(zip(list.members, $0), uniquingKeysWith: { $1 })
        }
    }
}
