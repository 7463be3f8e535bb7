import TandemModel
import TandemStore

/// One object while a save is planned: what the store has, and what the save makes of it.
struct WorkingObject {
    let object: ObjectReference
    let entity: CompiledEntity
    /// What the store has; nil for an object that the save inserts.
    let stored: Store.Stored?
    /// The values by slot, after what was planned so far.
    private(set) var values: [Value]
    /// The slots that were written.
    private(set) var written = PropertyMask()
    /// Members that came and went, by slot, against the store.
    private(set) var links: [Int: LinkDelta] = [:]
    var isDeleted = false

    /// Members that a to-many relationship gains and loses.
    struct LinkDelta {
        var added: Set<ObjectReference> = []
        var removed: Set<ObjectReference> = []
        var isEmpty: Bool { added.isEmpty && removed.isEmpty }
    }

    init(stored: Store.Stored, entity: CompiledEntity) {
        object = stored.object
        self.entity = entity
        self.stored = stored
        values = stored.row.values(in: entity)
    }

    init(inserting object: ObjectReference, entity: CompiledEntity) {
        self.object = object
        self.entity = entity
        stored = nil
        values = entity.defaults
    }

    var isInserted: Bool { stored == nil }

    mutating func set(_ slot: Int, _ value: Value) {
        values[slot] = value
        written.insert(slot)
    }

    /// Notes that a member came; one that had gone is just back.
    mutating func add(_ member: ObjectReference, to slot: Int) {
        if links[slot, default: LinkDelta()].removed.remove(member) == nil {
            links[slot]?.added.insert(member)
        }
    }

    /// Notes that a member went; one that had just come never was.
    mutating func remove(_ member: ObjectReference, from slot: Int) {
        if links[slot, default: LinkDelta()].added.remove(member) == nil {
            links[slot]?.removed.insert(member)
        }
    }

    /// The net change against the store, or nil when there is none.
    func change(version: UInt16) -> Change? {
        let linkChanges = self.linkChanges
        let linkMask = PropertyMask(linkChanges.map(\.slot))
        guard let stored else {
            if isDeleted { return nil }
            let mask = PropertyMask(values.indices.filter { !values[$0].isNull })
            return Change(
                .insert, object, changed: mask.union(linkMask),
                row: Row(values, of: entity, version: version), links: linkChanges)
        }
        if isDeleted {
            let mask = PropertyMask(values.indices.filter { !stored.row.isNull($0, in: entity) })
            return Change(
                .delete, object, changed: mask.union(linkMask), deleted: stored.row,
                links: linkChanges)
        }
        return update(of: stored, version, linkChanges, linkMask)
    }

    private func update(
        of stored: Store.Stored, _ version: UInt16, _ linkChanges: [LinkChange],
        _ linkMask: PropertyMask
    ) -> Change? {
        let row = written.isEmpty ? stored.row : Row(values, of: entity, version: version)
        let mask = PropertyMask(
            written.slots.filter { !row.hasSameValue(as: stored.row, $0, in: entity) })
        if mask.isEmpty, linkChanges.isEmpty { return nil }
        if mask.isEmpty { return Change(.touch, object, changed: linkMask, links: linkChanges) }
        let before = mask.slots.map { SlotValue(slot: $0, value: stored.row.value($0, in: entity)) }
        return Change(
            .update, object, changed: mask.union(linkMask), row: row, before: before,
            links: linkChanges)
    }

    private var linkChanges: [LinkChange] {
        var changes: [LinkChange] = []
        for (slot, delta) in links.sorted(by: { $0.key < $1.key }) {
            changes += delta.added.map { LinkChange(slot: slot, target: $0, isAdded: true) }
            changes += delta.removed.map { LinkChange(slot: slot, target: $0, isAdded: false) }
        }
        return changes.sorted { ($0.slot, $0.target.number) < ($1.slot, $1.target.number) }
    }
}
