import TandemModel
import TandemResults

/// What a context's edits, those that it shares with its parents included, make of one object: its own, or those of what it reaches.
///
/// Two of them tell what of an object that is shown differs: a save that brings to the store what was shown before changes nothing.
struct OverlaidEdits {
    let record: ObjectRecord
    /// All layers as one.
    let edits: Edits
    /// Where the list has the object without them; nil when it isn't in it.
    var stored: ResultRow?
    /// The objects that lead to its place.
    var reached: [ObjectNumber] = []
    /// Whether all is held that leads to its place.
    var isPlaced = true
    /// The values of others that it shows; nil where that isn't known.
    var shows: [UInt8]?

    init(_ record: ObjectRecord, layers: [ObjectRecord]) {
        self.record = record
        edits = layers.reduce(Edits()) { $0.under($1.inFlight).under($1.pending) }
    }

}

/// What became of an object: its edits before and after, and what a merge did to its row in between.
struct OverlayStep {
    let record: ObjectRecord
    let before: OverlaidEdits?
    let after: OverlaidEdits?
    let change: Change?

    /// Whether the values or members shown differ.
    var isChange: Bool {
        if (before?.edits.kind ?? .none) != (after?.edits.kind ?? .none), change == nil {
            return true
        }
        return valuesDiffer || linksDiffer
    }

    private var valuesDiffer: Bool {
        let old = before?.edits.values ?? SlotValues()
        let new = after?.edits.values ?? SlotValues()
        let edited = old.mask.union(new.mask)
        if let change {
            // What others changed beside it; lists of members are compared below.
            for property in record.entity.properties where !property.isToMany {
                let slot = property.slot
                guard change.changed.contains(slot), !edited.contains(slot) else { continue }
                // A new object has nothing in what nobody set.
                if change.kind != .insert || record.committedValue(slot)?.isNull != true {
                    return true
                }
            }
        }
        for property in record.entity.properties where edited.contains(property.slot) {
            let slot = property.slot
            guard let shown = old[slot] ?? stored(before: slot),
                let shows = new[slot] ?? record.committedValue(slot)
            else { return true }
            if !shown.isSame(as: shows) { return true }
        }
        return false
    }

    /// The stored value before the merge; nil when nobody knows.
    private func stored(before slot: Int) -> Value? {
        if let change, change.changed.contains(slot) {
            return change.before.first { $0.slot == slot }?.value
        }
        return record.committedValue(slot)
    }

    private var linksDiffer: Bool {
        for property in record.entity.properties where property.isToMany {
            let slot = property.slot
            let shown = Links(before?.edits, slot)
            let shows = Links(change, slot).then(Links(after?.edits, slot))
            if shown.differs(from: shows) { return true }
        }
        return false
    }
}

/// The members that a relationship gained and lost, and the places that it gave to members.
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

    /// Whether they show other members, or another order; one that came without a place may have got its own at the save.
    func differs(from other: Links) -> Bool {
        if added != other.added || removed != other.removed { return true }
        return Set(ranks.keys).union(other.ranks.keys).contains { member in
            guard let mine = ranks[member], let theirs = other.ranks[member] else {
                return !added.contains(member)
            }
            return mine != theirs
        }
    }

    /// These and others after them.
    func then(_ later: Links) -> Links {
        var result = Links()
        result.added = added.subtracting(later.removed).union(later.added.subtracting(removed))
        result.removed = removed.subtracting(later.added).union(later.removed.subtracting(added))
        result.ranks = ranks.merging(later.ranks) { $1 }
        for member in later.removed { result.ranks[member] = nil }
        return result
    }
}

extension Value {
    /// Whether two values show the same: what is long was edited as a whole and is stored by its hash.
    fileprivate func isSame(as other: Value) -> Bool {
        switch (self, other) {
        case (.string(let text), .longText(let stored)):
            text.utf8.count == stored.length && stored.blob.stands(for: Array(text.utf8))
        case (.data(let data), .blob(let stored)): stored.stands(for: data)
        default: self == other
        }
    }
}
