import TandemModel

/// What is known of related objects, found by their numbers.
///
/// A table with open addressing: it is asked once for each row of a list, and a dictionary that hashes against hostile keys takes five times as
/// long. Numbers are given by the daemon, one after the other, and spread by a multiplication.
struct RelatedMemo {
    struct Known {
        /// The place of what comes first in the key.
        var group: UInt32
        /// The place of the section's name.
        var section: UInt32 = 0
    }

    /// About what one takes.
    static let bytesForOne = MemoryLayout<Known>.stride + 2 * MemoryLayout<Slot>.stride

    private struct Slot {
        var number: ObjectNumber = 0
        /// From 1 on; 0 for a free one.
        var place: UInt32 = 0
    }

    private var slots: [Slot] = []
    private var all: [Known] = []

    /// How many there are.
    var count: Int { all.count }

    subscript(place: Int) -> Known { all[place] }

    /// The place of an object; nil if it is not known.
    @inline(__always)
    func place(of number: ObjectNumber) -> Int? {
        guard !slots.isEmpty else { return nil }
        var at = index(of: number)
        while slots[at].place != 0 {
            if slots[at].number == number { return Int(slots[at].place) - 1 }
            at = (at + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Adds an object that is not known yet; its place.
    mutating func add(_ known: Known, of number: ObjectNumber) -> Int {
        all.append(known)
        if all.count * 2 > slots.count { grow() }
        enter(number, UInt32(all.count))
        return all.count - 1
    }

    mutating func removeAll() {
        guard !all.isEmpty else { return }
        all.removeAll(keepingCapacity: true)
        for at in slots.indices { slots[at].place = 0 }
    }

    private mutating func grow() {
        let old = slots
        slots = [Slot](repeating: Slot(), count: max(256, old.count * 2))
        for slot in old where slot.place != 0 { enter(slot.number, slot.place) }
    }

    private mutating func enter(_ number: ObjectNumber, _ place: UInt32) {
        var at = index(of: number)
        while slots[at].place != 0 { at = (at + 1) & (slots.count - 1) }
        slots[at] = Slot(number: number, place: place)
    }

    /// Where a search begins: the upper bits of a product, of a table whose size is a power of two.
    @inline(__always)
    private func index(of number: ObjectNumber) -> Int {
        let mixed = number &* 0x9e37_79b9_7f4a_7c15
        return Int(truncatingIfNeeded: mixed >> 32) & (slots.count - 1)
    }
}
