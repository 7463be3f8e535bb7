import TandemModel

/// The unsaved changes to one object.
struct Edits {
    enum Kind { case none, insert, delete }

    /// Whether the object is new or to be deleted.
    var kind = Kind.none
    /// Whether the deletion is the predicted effect of a delete rule: it is shown but not sent.
    var isPredicted = false
    /// The values that were set, by slot.
    var values = SlotValues()
    /// The members added to to-many relationships, by slot.
    var added: [Int: Set<ObjectReference>] = [:]
    /// The members removed from to-many relationships, by slot.
    var removed: [Int: Set<ObjectReference>] = [:]
    /// The new ranks of members of ordered relationships, by slot; an added member without a rank
    /// comes last.
    var ranks: [Int: [ObjectReference: Rank]] = [:]
    /// The number that orders objects by their first change; 0 if there are no edits.
    var serial = 0

    /// No edits; cheaper than a new value.
    static let empty = Edits()

    /// Whether there is nothing to save.
    @inline(__always)
    var isEmpty: Bool { kind == .none && values.isEmpty && !hasLinks }

    /// Whether members of to-many relationships were added, removed or moved.
    @inline(__always)
    var hasLinks: Bool { !added.isEmpty || !removed.isEmpty || !ranks.isEmpty }

    /// The changed slots.
    var slots: Set<Int> {
        Set(values.keys).union(added.keys).union(removed.keys).union(ranks.keys)
    }

    /// The changed slots as a mask.
    @inline(__always)
    var mask: PropertyMask {
        var mask = values.mask
        guard hasLinks else { return mask }
        for slot in added.keys { mask.insert(slot) }
        for slot in removed.keys { mask.insert(slot) }
        for slot in ranks.keys { mask.insert(slot) }
        return mask
    }

    /// The effect of a change on a context's list of edited objects.
    enum Effect { case none, first, lastRemoved }

    /// Applies a change to everything but the serial; returns whether the object gained its first
    /// edits or lost its last.
    mutating func edit(_ change: (inout Edits) -> Void) -> Effect {
        let before = serial
        change(&self)
        serial = before
        if isEmpty { return before == 0 ? .none : .lastRemoved }
        return before == 0 ? .first : .none
    }

    /// Adds a member.
    ///
    /// `below` contains the members without these edits. If it is nil, `member` is assumed to be
    /// among them only if these edits removed it.
    mutating func add(
        _ member: ObjectReference, to slot: Int, below: Set<ObjectReference>? = nil
    ) {
        let wasRemoved = removed[slot]?.remove(member) != nil
        if !(below?.contains(member) ?? wasRemoved) { added[slot, default: []].insert(member) }
        assert(removed[slot]?.contains(member) != true, "No added member is removed too.")
        tidy(slot)
    }

    /// Removes a member.
    ///
    /// `below` contains the members without these edits. If it is nil, `member` is assumed to be
    /// among them unless these edits added it.
    mutating func remove(
        _ member: ObjectReference, from slot: Int, below: Set<ObjectReference>? = nil
    ) {
        // Drop the requested rank: a member that is removed and added again goes to the end.
        ranks[slot]?[member] = nil
        let wasAdded = added[slot]?.remove(member) != nil
        if below?.contains(member) ?? !wasAdded { removed[slot, default: []].insert(member) }
        assert(added[slot]?.contains(member) != true, "No removed member is added too.")
        tidy(slot)
    }

    private mutating func tidy(_ slot: Int) {
        if added[slot]?.isEmpty == true { added[slot] = nil }
        if removed[slot]?.isEmpty == true { removed[slot] = nil }
        if ranks[slot]?.isEmpty == true { ranks[slot] = nil }
    }

    /// Sets ranks of members of an ordered relationship.
    mutating func place(_ members: [ObjectReference: Rank], in slot: Int) {
        if !members.isEmpty { ranks[slot, default: [:]].merge(members) { $1 } }
    }

    /// Returns these edits overlaid with later edits; the result is pending after a failed save.
    ///
    /// The result has the serial of the first of them, or none if the later edits take back the
    /// others.
    func under(_ later: Edits) -> Edits {
        var result = self
        result.values.merge(later.values)
        for (slot, members) in later.added {
            for member in members { result.add(member, to: slot) }
        }
        for (slot, members) in later.removed {
            for member in members { result.remove(member, from: slot) }
        }
        for (slot, places) in later.ranks { result.place(places, in: slot) }
        if later.kind != .none {
            result.kind = later.kind
            result.isPredicted = later.isPredicted
        }
        if result.isEmpty {
            result.serial = 0
        } else if result.serial == 0 {
            result.serial = later.serial
        }
        return result
    }

    /// Replaces a reference in all relationships.
    mutating func replace(_ old: ObjectReference, by new: ObjectReference) {
        for (slot, value) in values where value.reference == old { values[slot] = .reference(new) }
        for (slot, members) in added where members.contains(old) {
            added[slot] = members.subtracting([old]).union([new])
        }
        for (slot, members) in removed where members.contains(old) {
            removed[slot] = members.subtracting([old]).union([new])
        }
        for slot in ranks.keys {
            guard let rank = ranks[slot]?.removeValue(forKey: old) else { continue }
            ranks[slot]?[new] = rank
        }
    }

    /// Returns the members of a slot after these edits are applied.
    func applied(to members: Set<ObjectReference>, _ slot: Int) -> Set<ObjectReference> {
        guard added[slot] != nil || removed[slot] != nil else { return members }
        return members.subtracting(removed[slot] ?? []).union(added[slot] ?? [])
    }
}

/// Values by slot: a dictionary for few entries, stored as a sorted array.
struct SlotValues: Sequence {
    private var items: [(key: Int, value: PropertyValue)] = []

    var isEmpty: Bool { items.isEmpty }

    var underestimatedCount: Int { items.count }

    /// The slots, in ascending order.
    var keys: some Sequence<Int> { items.lazy.map(\.key) }

    /// The slots as a mask.
    @inline(__always)
    var mask: PropertyMask {
        var mask = PropertyMask()
        for item in items { mask.insert(item.key) }
        return mask
    }

    /// The slots whose values are not null, as a mask.
    @inline(__always)
    var filled: PropertyMask {
        var mask = PropertyMask()
        for item in items where !item.value.isNull { mask.insert(item.key) }
        return mask
    }

    /// The value of a slot; setting it to nil removes the entry.
    subscript(slot: Int) -> PropertyValue? {
        get { items.first { $0.key == slot }?.value }
        set {
            let index = index(forSlot: slot)
            let isPresent = index < items.count && items[index].key == slot
            switch (newValue, isPresent) {
            case (let value?, true): items[index].value = value
            case (let value?, false):
                if items.isEmpty { items.reserveCapacity(4) }
                // `append` is faster than `insert`, which opens a gap even at the end.
                if index == items.count {
                    items.append((slot, value))
                } else {
                    items.insert((slot, value), at: index)
                }
                assert(
                    (index == 0 || items[index - 1].key < slot)
                        && (index + 1 == items.count || slot < items[index + 1].key),
                    "The entries are in the order of their slots.")
            case (nil, true): items.remove(at: index)
            case (nil, false): break
            }
        }
    }

    /// Returns the index of a slot's entry, or the index at which to insert it.
    private func index(forSlot slot: Int) -> Int {
        if items.last.map({ $0.key < slot }) ?? true { return items.count }
        return items.firstIndex { $0.key >= slot } ?? items.count
    }

    /// The number of entries.
    var count: Int { items.count }

    /// Adds other values, which replace existing ones.
    mutating func merge(_ others: SlotValues) {
        for (slot, value) in others { self[slot] = value }
    }

    func makeIterator() -> some IteratorProtocol<(key: Int, value: PropertyValue)> {
        items.makeIterator()
    }
}
