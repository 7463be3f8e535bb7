import Algorithms
import TandemIO

/// The objects with pending edits, in the order in which they were first changed; all are retained.
///
/// Objects are ordered by the serial of their records' pending edits. An object is added after its
/// record gets a serial, and removed before the record loses it. Neither adding the latest object
/// nor removing any object needs a linear search.
final class EditedObjects {
    private struct Entry {
        let serial: Int
        var object: ManagedObject?
    }

    // No method releases the last reference to an object while it changes the entries: the object's
    // deinitialiser could call this class again.
    /// The entries by ascending serial; a removed object leaves an empty entry.
    private var entries: [Entry] = []
    private(set) var count = 0
    private var lastSerial = 0
    /// An upper bound on the serials of all entries.
    private var lastAdded = 0

    var isEmpty: Bool { count == 0 }

    /// All objects, in order.
    var objects: [ManagedObject] { entries.compactMap(\.object) }

    /// Calls `body` for each object, in order; objects that `body` adds are not visited.
    func forEach(_ body: (ManagedObject) throws -> Void) rethrows {
        let entries = entries
        for entry in entries {
            if let object = entry.object { try body(object) }
        }
    }

    /// Returns a new serial for an object that is changed for the first time.
    func nextSerial() -> Int {
        lastSerial += 1
        return lastSerial
    }

    /// Adds an object at the index determined by its record's serial.
    func add(_ object: ManagedObject) {
        defer { checkInvariants() }
        let entry = Entry(serial: object.record.pending.serial, object: object)
        if entry.serial > lastAdded {
            lastAdded = entry.serial
            count += 1
            return entries.append(entry)
        }
        let index = index(of: entry.serial)
        if index == entries.count || entries[index].serial != entry.serial {
            entries.insert(entry, at: index)
            count += 1
        } else {
            if entries[index].object == nil { count += 1 }
            entries[index] = entry
        }
    }

    /// Removes the object of a record, if present.
    func remove(_ record: ObjectRecord) {
        defer { checkInvariants() }
        let index = index(of: record.pending.serial)
        guard index < entries.count, entries[index].serial == record.pending.serial,
            let object = entries[index].object, object.record === record
        else { return }
        withExtendedLifetime(object) {
            entries[index].object = nil
            count -= 1
            while let last = entries.last, last.object == nil { entries.removeLast() }
            if entries.count > 2 * count + 16 { entries.removeAll { $0.object == nil } }
        }
    }

    /// Removes all objects.
    func removeAll() {
        let old = entries
        entries = []
        count = 0
        withExtendedLifetime(old) {}
    }

    /// Asserts that the entries are in order, and that each has the serial of its object.
    private func checkInvariants() {
        assert(count <= entries.count, "Each object has an entry.")
        assert(
            entries.last.map { $0.serial <= lastAdded } ?? true,
            "No entry is newer than the newest one ever added.")
        // Called for each object that is edited, so that a walk must be short.
        guard Invariants.walk(8 * entries.count) else { return }
        assert(
            entries.count { $0.object != nil } == count, "The count is that of the objects.")
        assert(
            !zip(entries, entries.dropFirst()).contains { $0.serial >= $1.serial },
            "The entries are in the order of their serials.")
        assert(
            entries.allSatisfy {
                $0.object.map { $0.record.pending.serial } ?? $0.serial == $0.serial
            },
            "An entry has the serial of its object's pending edits.")
    }

    /// Returns the index of the first entry with at least this serial.
    private func index(of serial: Int) -> Int {
        guard let last = entries.last, last.serial >= serial else { return entries.count }
        return entries.partitioningIndex { $0.serial >= serial }
    }
}
