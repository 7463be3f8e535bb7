import TandemModel

/// A cache of the groups and sections of related objects, by object number.
///
/// The cache is searched once for each row of a list. It is a hash table with open addressing; a
/// dictionary, which is protected against hostile keys, would take five times as long. The daemon
/// assigns numbers sequentially, so a multiplication is enough to spread them.
struct RelatedKeyCache {
    struct Entry {
        /// The index of the key's prefix.
        var group: UInt32
        /// The index of the section's name.
        var section: UInt32 = 0
    }

    /// The approximate size of an entry in bytes.
    static let bytesForOne = MemoryLayout<Entry>.stride + 2 * MemoryLayout<Slot>.stride

    private struct Slot {
        var number: ObjectNumber = 0
        /// The entry's index plus one; 0 for a free slot.
        var ordinal: UInt32 = 0
    }

    private var slots: [Slot] = []
    private var all: [Entry] = []

    /// The number of entries.
    var count: Int { all.count }

    subscript(index: Int) -> Entry { all[index] }

    /// Returns the index of an object's entry; nil if there is none.
    @inline(__always)
    func entryIndex(of number: ObjectNumber) -> Int? {
        guard !slots.isEmpty else { return nil }
        var at = index(of: number)
        while slots[at].ordinal != 0 {
            if slots[at].number == number { return Int(slots[at].ordinal) - 1 }
            at = (at + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Adds an entry for an object that has none yet; returns the entry's index.
    mutating func add(_ entry: Entry, of number: ObjectNumber) -> Int {
        all.append(entry)
        if all.count * 2 > slots.count { grow() }
        enter(number, UInt32(all.count))
        return all.count - 1
    }

    mutating func removeAll() {
        guard !all.isEmpty else { return }
        all.removeAll(keepingCapacity: true)
        for at in slots.indices { slots[at].ordinal = 0 }
    }

    private mutating func grow() {
        let old = slots
        slots = [Slot](repeating: Slot(), count: max(256, old.count * 2))
        for slot in old where slot.ordinal != 0 { enter(slot.number, slot.ordinal) }
    }

    private mutating func enter(_ number: ObjectNumber, _ ordinal: UInt32) {
        var at = index(of: number)
        while slots[at].ordinal != 0 { at = (at + 1) & (slots.count - 1) }
        slots[at] = Slot(number: number, ordinal: ordinal)
    }

    /// Returns the first slot to probe: upper bits of a product, modulo the power-of-two table
    /// size.
    @inline(__always)
    private func index(of number: ObjectNumber) -> Int {
        let mixed = number &* 0x9e37_79b9_7f4a_7c15
        return Int(truncatingIfNeeded: mixed >> 32) & (slots.count - 1)
    }
}
