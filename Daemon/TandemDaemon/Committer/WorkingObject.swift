import TandemModel
import TandemStore

/// One object while a save is planned: what the store has, and what the save makes of it.
///
/// Belongs to one ``WorkingGraph``. What the store has stays in its row: what is written of fixed width goes into a copy of
/// that, and only the rest is kept apart until the row is made.
final class WorkingObject {
    let object: ObjectReference
    let entity: CompiledEntity
    /// What the store has; nil for an object that the save inserts.
    let stored: Store.Stored?
    /// The version of the model under which it is written.
    private let version: UInt16
    /// The row of the store with what was written of fixed width; nil before that.
    private var patch: RowPatch?
    /// The other values that were written, by slot in order of the first writing; each slot once.
    private var edits: [SlotValue] = []
    /// All values of an object that the save inserts, by slot; empty for any other.
    private var values: [Value]
    /// The slots that were written.
    private(set) var written = PropertyMask()
    /// The slots that a value was written to.
    private(set) var filled = PropertyMask()
    /// Members that came and went, one entry for each relationship that was looked at; few, so that a list beats a table.
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

    /// The value of a slot after what was planned so far.
    func value(_ slot: Int) -> Value {
        if stored == nil { return values[slot] }
        if !edits.isEmpty, let edit = edits.first(where: { $0.slot == slot }) { return edit.value }
        return (patch?.row ?? stored?.row)?.uncheckedValue(slot, in: entity) ?? .null
    }

    /// The slots that the rules of the model have to be applied to.
    var touched: PropertyMask {
        isInserted
            ? entity.allSlots
            : links.isEmpty ? written : written.union(PropertyMask(links.lazy.map(\.slot)))
    }

    func set(_ slot: Int, _ value: Value) {
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
        edits.append(SlotValue(slot: slot, value: value))
    }

    /// Writes a value of fixed width over that of the store; false for any other.
    private func patches(_ slot: Int, _ value: Value) -> Bool {
        guard let stored, entity.isFixed(slot) else { return false }
        if patch == nil { patch = RowPatch(stored.row, version: version) }
        patch?.set(value, slot, in: entity)
        return true
    }

    /// The members that came and went in a relationship; nil where it was not looked at.
    func delta(_ slot: Int) -> LinkDelta? {
        links.firstIndex { $0.slot == slot }.map { links[$0] }
    }

    private func index(ofLinks slot: Int) -> Int {
        if let index = links.firstIndex(where: { $0.slot == slot }) { return index }
        links.append(LinkDelta(slot))
        return links.count - 1
    }

    /// Notes that a member came; one that had gone is just back.
    func add(_ member: ObjectReference, to slot: Int) { links[index(ofLinks: slot)].add(member) }

    /// Notes that a member went; one that had just come never was.
    func remove(_ member: ObjectReference, from slot: Int) {
        links[index(ofLinks: slot)].remove(member)
    }

    /// Notes the place of a member, which counts if it is one when the save is planned.
    func place(_ member: ObjectReference, in slot: Int, at rank: Rank) {
        links[index(ofLinks: slot)].place(member, at: rank)
    }

    /// Takes over what the order of a relationship comes to.
    func settle(_ slot: Int, _ ranks: LinkDelta.RankDelta) {
        links[index(ofLinks: slot)].ranks = ranks
    }

    /// The row as the save leaves it.
    var row: Row {
        if let stored {
            let row = patch?.row ?? stored.row
            return edits.isEmpty ? row : row.replacing(edits, in: entity, version: version)
        }
        return Row(values, of: entity, version: version)
    }

    /// The net change against the store, or nil when there is none.
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

    /// The slots that hold a value.
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
