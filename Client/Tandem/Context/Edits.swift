import TandemModel

/// What was changed in memory about one object and is not in the store yet.
struct Edits {
    enum Kind { case none, insert, delete }

    /// Whether the object is new or to be deleted.
    var kind = Kind.none
    /// Whether the deletion is what a delete rule is expected to do: it is shown, and left to the daemon.
    var isPreview = false
    /// The values that were set, by slot.
    var values = SlotValues()
    /// The members that to-many relationships gained, by slot.
    var added: [Int: Set<ObjectReference>] = [:]
    /// The members that to-many relationships lost, by slot.
    var removed: [Int: Set<ObjectReference>] = [:]
    /// The places that members of ordered relationships got, by slot; one that came without is the last.
    var ranks: [Int: [ObjectReference: Rank]] = [:]
    /// The order in which objects were first changed.
    var serial = 0

    /// True when there is nothing to save.
    @inline(__always)
    var isEmpty: Bool { kind == .none && values.isEmpty && !hasLinks }

    /// Whether to-many relationships gained, lost or moved members.
    @inline(__always)
    var hasLinks: Bool { !added.isEmpty || !removed.isEmpty || !ranks.isEmpty }

    /// The slots that were changed.
    var slots: Set<Int> {
        Set(values.keys).union(added.keys).union(removed.keys).union(ranks.keys)
    }

    /// The slots that were changed, as a mask.
    @inline(__always)
    var mask: PropertyMask {
        var mask = values.mask
        guard hasLinks else { return mask }
        for slot in added.keys { mask.insert(slot) }
        for slot in removed.keys { mask.insert(slot) }
        for slot in ranks.keys { mask.insert(slot) }
        return mask
    }

    /// What an edit means for the books of a context.
    enum Effect { case none, first, gone }

    /// Changes anything but the serial; says whether there were no edits before, or are none any more.
    mutating func edit(_ change: (inout Edits) -> Void) -> Effect {
        let before = serial
        change(&self)
        serial = before
        if isEmpty { return before == 0 ? .none : .gone }
        return before == 0 ? .first : .none
    }

    /// Adds a member; `below` are those without edits, nil if nobody knows: then what was removed is taken to be there.
    mutating func add(
        _ member: ObjectReference, to slot: Int, below: Set<ObjectReference>? = nil
    ) {
        let wasRemoved = removed[slot]?.remove(member) != nil
        if !(below?.contains(member) ?? wasRemoved) { added[slot, default: []].insert(member) }
        tidy(slot)
    }

    /// Removes a member; without `below` what was added is taken not to be there.
    mutating func remove(
        _ member: ObjectReference, from slot: Int, below: Set<ObjectReference>? = nil
    ) {
        // Its place goes with it: should it come again, it comes as the last.
        ranks[slot]?[member] = nil
        let wasAdded = added[slot]?.remove(member) != nil
        if below?.contains(member) ?? !wasAdded { removed[slot, default: []].insert(member) }
        tidy(slot)
    }

    private mutating func tidy(_ slot: Int) {
        if added[slot]?.isEmpty == true { added[slot] = nil }
        if removed[slot]?.isEmpty == true { removed[slot] = nil }
        if ranks[slot]?.isEmpty == true { ranks[slot] = nil }
    }

    /// Gives members of an ordered relationship other places.
    mutating func place(_ members: [ObjectReference: Rank], in slot: Int) {
        if !members.isEmpty { ranks[slot, default: [:]].merge(members) { $1 } }
    }

    /// These edits with later ones on top: what a failed save leaves.
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
            result.isPreview = later.isPreview
        }
        return result
    }

    /// Lets relationships lead to another object.
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

    /// The members of a slot once these edits are applied to what was there.
    func applied(to members: Set<ObjectReference>, _ slot: Int) -> Set<ObjectReference> {
        guard added[slot] != nil || removed[slot] != nil else { return members }
        return members.subtracting(removed[slot] ?? []).union(added[slot] ?? [])
    }
}

/// The values of some slots, by slot: a dictionary for the handful of properties that an edit touches.
struct SlotValues: Sequence {
    private var items: [(key: Int, value: Value)] = []

    var isEmpty: Bool { items.isEmpty }

    var underestimatedCount: Int { items.count }

    /// The slots, ascending.
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

    /// The value of a slot; set to nil it is forgotten.
    subscript(slot: Int) -> Value? {
        get { items.first { $0.key == slot }?.value }
        set {
            let index = place(of: slot)
            let isThere = index < items.count && items[index].key == slot
            switch (newValue, isThere) {
            case (let value?, true): items[index].value = value
            case (let value?, false):
                if items.isEmpty { items.reserveCapacity(4) }
                // Inserting makes room first, also where there is nothing behind.
                if index == items.count {
                    items.append((slot, value))
                } else {
                    items.insert((slot, value), at: index)
                }
            case (nil, true): items.remove(at: index)
            case (nil, false): break
            }
        }
    }

    /// Where the value of a slot is, or would be.
    private func place(of slot: Int) -> Int {
        if items.last.map({ $0.key < slot }) ?? true { return items.count }
        return items.firstIndex { $0.key >= slot } ?? items.count
    }

    /// How many there are.
    var count: Int { items.count }

    /// Takes over the values of others, which win.
    mutating func merge(_ others: SlotValues) {
        for (slot, value) in others { self[slot] = value }
    }

    func makeIterator() -> some IteratorProtocol<(key: Int, value: Value)> { items.makeIterator() }
}
