import TandemModel
import TandemStore

/// An object while a save is planned: its state in the store and the edits of the save.
///
/// The object belongs to one ``PlanningGraph``. Fixed-width values are written to a copy of the
/// stored row. Other values are kept separately until the new row is created.
final class PlanningObject {
    let object: ObjectReference
    let entity: CompiledEntity
    /// The stored object; nil for an object that the save inserts.
    let stored: Store.Stored?
    /// The model version of the new row.
    private let version: UInt16
    /// The stored row with fixed-width edits; nil before the first one.
    private var patch: RowPatch?
    /// The other edits, in the order of the first write of each slot.
    private var edits: [SlotValue] = []
    /// All values of an inserted object, by slot; empty for any other.
    private var values: [PropertyValue]
    /// The slots that were written.
    private(set) var written = PropertyMask()
    /// The slots whose last written value is not null.
    private(set) var filled = PropertyMask()
    /// The link deltas of the relationships accessed so far; there are few, so a list is faster
    /// than a table.
    private(set) var links: [LinkDelta] = []
    var isDeleted = false

    init(stored: Store.Stored, entity: CompiledEntity, _ model: CompiledModel) {
        object = stored.object
        version = model.version
        self.entity = entity
        self.stored = stored
        values = []
    }

    init(inserting object: ObjectReference, entity: CompiledEntity, _ model: CompiledModel) {
        self.object = object
        version = model.version
        self.entity = entity
        stored = nil
        values = entity.defaults
    }

    var isInserted: Bool { stored == nil }

    /// Returns the value of a slot after the operations planned so far.
    func value(_ slot: Int) -> PropertyValue {
        if stored == nil { return values[slot] }
        if !edits.isEmpty, let edit = edits.first(where: { $0.slot == slot }) { return edit.value }
        return (patch?.row ?? stored?.row)?.uncheckedValue(slot, in: entity) ?? .null
    }

    /// The slots that must be validated.
    var touched: PropertyMask {
        isInserted
            ? entity.allSlots
            : links.isEmpty ? written : written.union(PropertyMask(links.lazy.map(\.slot)))
    }

    func set(_ slot: Int, _ value: PropertyValue) {
        assert(
            stored != nil || values.count == entity.properties.count,
            "An inserted object has a value for each property.")
        if value.isNull { filled.remove(slot) } else { filled.insert(slot) }
        let isKnown = written.contains(slot)
        written.insert(slot)
        if stored == nil {
            values[slot] = value
            return
        }
        if patches(slot, value) { return }
        if isKnown, let index = edits.firstIndex(where: { $0.slot == slot }) {
            edits[index].value = value
            return
        }
        assert(!isKnown, "A slot has one edit, whose value is replaced by later writes.")
        edits.append(SlotValue(slot: slot, value: value))
    }

    /// Writes a fixed-width value into the copied row; returns false for any other value.
    private func patches(_ slot: Int, _ value: PropertyValue) -> Bool {
        guard let stored, entity.isFixed(slot) else { return false }
        if patch == nil { patch = RowPatch(stored.row, version: version) }
        patch?.set(value, slot, in: entity)
        return true
    }

    /// Returns the link delta of a relationship, or nil if it was not accessed.
    func delta(_ slot: Int) -> LinkDelta? {
        links.firstIndex { $0.slot == slot }.map { links[$0] }
    }

    private func index(ofLinks slot: Int) -> Int {
        if let index = links.firstIndex(where: { $0.slot == slot }) { return index }
        links.append(LinkDelta(slot))
        return links.count - 1
    }

    /// Records an added member; this cancels an earlier removal of the member.
    func add(_ member: ObjectReference, to slot: Int) { links[index(ofLinks: slot)].add(member) }

    /// Records a removed member; this cancels an earlier addition of the member.
    func remove(_ member: ObjectReference, from slot: Int) {
        links[index(ofLinks: slot)].remove(member)
    }

    /// Records the requested rank of a member; it has no effect unless the object is a member after
    /// the save.
    func setRank(_ member: ObjectReference, in slot: Int, at rank: Rank) {
        links[index(ofLinks: slot)].setRank(member, at: rank)
    }

    /// Sets the final ranks of a relationship.
    func setRanks(_ slot: Int, _ ranks: LinkDelta.RankDelta) {
        links[index(ofLinks: slot)].ranks = ranks
    }

    /// The row after the save.
    var row: Row {
        if let stored {
            let row = patch?.row ?? stored.row
            return edits.isEmpty ? row : row.replacing(edits, in: entity, version: version)
        }
        return Row(values, of: entity, version: version)
    }

    /// The net change relative to the store, or nil if there is none.
    var change: Change? {
        let linkChanges = self.linkChanges
        let linkMask = PropertyMask(linkChanges.lazy.map(\.slot))
        guard let stored else {
            if isDeleted { return nil }
            var mask = linkMask
            for slot in values.indices where !values[slot].isNull { mask.insert(slot) }
            return Change(.insert, object, changed: mask, row: row, links: linkChanges)
        }
        if isDeleted {
            return Change(
                .delete, object, changed: present(stored.row).union(linkMask),
                deleted: stored.row, links: linkChanges)
        }
        return update(of: stored, linkChanges, linkMask)
    }

    /// Returns the slots with a value.
    private func present(_ row: Row) -> PropertyMask {
        PropertyMask(entity.properties.indices.lazy.filter { !row.isNull($0, in: self.entity) })
    }

    private func update(
        of stored: Store.Stored, _ linkChanges: [LinkChange], _ linkMask: PropertyMask
    ) -> Change? {
        let row = row
        var mask = PropertyMask()
        for slot in written where !row.hasSameValue(as: stored.row, slot, in: entity) {
            mask.insert(slot)
        }
        if mask.isEmpty, linkChanges.isEmpty { return nil }
        if mask.isEmpty { return Change(.touch, object, changed: linkMask, links: linkChanges) }
        let before = mask.map {
            SlotValue(slot: $0, value: stored.row.uncheckedValue($0, in: entity))
        }
        return Change(
            .update, object, changed: mask.union(linkMask), row: row, before: before,
            links: linkChanges)
    }

    private var linkChanges: [LinkChange] {
        if links.count < 2 { return links.first?.changes ?? [] }
        return links.sorted { $0.slot < $1.slot }.flatMap(\.changes)
    }
}
