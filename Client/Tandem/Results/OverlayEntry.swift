import TandemModel
import TandemQuery
import TandemResults

/// The effect that the edits of a context and its ancestors have on one object in the list.
///
/// The edits change the object itself, or objects to which it refers. Comparing the entries before
/// and after a step shows whether the displayed object differs: saving edits that are displayed
/// changes nothing.
struct OverlayEntry {
    let record: ObjectRecord
    /// The edits of the context and its ancestors, combined.
    let edits: Edits
    /// The row of the object without edits; nil if it is not in the list.
    var stored: ResultRow?
    /// The objects on which the placement depends.
    var reached: [ObjectNumber] = []
    /// Whether all objects on which the placement depends were known.
    var isPlaced = true
    /// The values of other objects that the row shows; nil if they are unknown.
    var shows: [UInt8]?

    init(_ record: ObjectRecord, layers: [ObjectRecord]) {
        self.record = record
        edits = layers.reduce(Edits()) { $0.under($1.inFlight).under($1.pending) }
    }
}

/// One step of an object: its edits before and after, and the merged change to its row in between.
struct OverlayStep {
    let before: OverlayEntry?
    let after: OverlayEntry?
    let change: Change?

    /// Whether the shown values or members differ.
    var isChange: Bool {
        guard let record = (after ?? before)?.record else { return false }
        if (before?.edits.kind ?? .none) != (after?.edits.kind ?? .none), change == nil {
            return true
        }
        return valuesDiffer(record) || linksDiffer(record)
    }

    /// Returns whether the row shows different values of related objects than before, or nil if
    /// that is unknown; `now` reads the graph after the step.
    func relatedValuesDiffer(_ plan: ResultsPlan, _ now: GroupReader) -> Bool? {
        guard let object = (after ?? before)?.record.reference else { return nil }
        func stored(_ reader: some GraphReader) -> [UInt8]? {
            guard case .row(let row) = reader.row(of: object) else { return nil }
            return plan.compiled.refreshValues(object, row, reader)
        }
        let earlier = EarlierReader(now: now, model: plan.compiled.model)
        guard let shown = before.map(\.shows) ?? stored(earlier),
            let shows = after.map(\.shows) ?? stored(now)
        else { return nil }
        return shown != shows
    }

    private func valuesDiffer(_ record: ObjectRecord) -> Bool {
        let old = before?.edits.values ?? SlotValues()
        let new = after?.edits.values ?? SlotValues()
        let edited = old.mask.union(new.mask)
        if let change {
            // Other values that the merge changed; members are compared below.
            for property in record.entity.properties where !property.isToMany {
                let slot = property.slot
                guard change.changed.contains(slot), !edited.contains(slot) else { continue }
                // Values that a new object leaves unset are not a difference.
                if change.kind != .insert || record.committedValue(slot)?.isNull != true {
                    return true
                }
            }
        }
        for property in record.entity.properties where edited.contains(property.slot) {
            let slot = property.slot
            guard let shown = old[slot] ?? stored(record, slot),
                let shows = new[slot] ?? record.committedValue(slot)
            else { return true }
            if !shown.isSame(as: shows) { return true }
        }
        return false
    }

    /// Returns the stored value from before the merge, or nil if it is not known.
    private func stored(_ record: ObjectRecord, _ slot: Int) -> PropertyValue? {
        if let change, change.changed.contains(slot) {
            return change.before.first { $0.slot == slot }?.value
        }
        return record.committedValue(slot)
    }

    private func linksDiffer(_ record: ObjectRecord) -> Bool {
        for property in record.entity.properties where property.isToMany {
            let slot = property.slot
            let shown = Links(before?.edits, slot)
            let shows = Links(change, slot).then(Links(after?.edits, slot))
            if shown.differs(from: shows) { return true }
        }
        return false
    }
}

/// The members added to and removed from a relationship, and the ranks assigned to members.
private struct Links {
    var added: Set<ObjectReference> = []
    var removed: Set<ObjectReference> = []
    var ranks: [ObjectReference: Rank] = [:]

    init() {}

    init(_ edits: Edits?, _ slot: Int) {
        added = edits?.added[slot] ?? []
        removed = edits?.removed[slot] ?? []
        ranks = edits?.ranks[slot] ?? [:]
    }

    init(_ change: Change?, _ slot: Int) {
        for link in change?.links ?? [] where link.slot == slot {
            if !link.isAdded {
                removed.insert(link.target)
            } else if removed.remove(link.target) == nil {
                added.insert(link.target)
            }
            ranks[link.target] = link.isAdded ? link.rank : nil
        }
    }

    /// Returns whether the shown members or their order differ.
    ///
    /// An added member without a rank may have received a rank from the save.
    func differs(from other: Links) -> Bool {
        if added != other.added || removed != other.removed { return true }
        return Set(ranks.keys).union(other.ranks.keys).contains { member in
            guard let mine = ranks[member], let theirs = other.ranks[member] else {
                return !added.contains(member)
            }
            return mine != theirs
        }
    }

    /// Returns these links followed by later links.
    func then(_ later: Links) -> Links {
        var result = Links()
        result.added = added.subtracting(later.removed).union(later.added.subtracting(removed))
        result.removed = removed.subtracting(later.added).union(later.removed.subtracting(added))
        result.ranks = ranks.merging(later.ranks) { $1 }
        for member in later.removed { result.ranks[member] = nil }
        return result
    }
}

extension PropertyValue {
    /// Returns whether two values stand for the same content: a long value is complete in an edit,
    /// but stored as a hash.
    fileprivate func isSame(as other: PropertyValue) -> Bool {
        switch (self, other) {
        case (.string(let text), .longText(let stored)):
            text.utf8.count == stored.length && stored.blob.isReference(to: Array(text.utf8))
        case (.data(let data), .blob(let stored)): stored.isReference(to: data)
        default: self == other
        }
    }
}
