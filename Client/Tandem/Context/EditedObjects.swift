/// The objects with pending edits, which it keeps alive, in the order in which they were first changed.
///
/// That order is the serial of a record's pending edits: an object is added once its record has one and removed before the
/// record loses it. Adding the latest and removing any takes no search through the others.
final class EditedObjects {
    private struct Entry {
        let serial: Int
        var object: ManagedObject?
    }

    // Changed by the methods here alone, none of which calls anything that leads back here, nor lets go of an
    // object's last reference meanwhile: that runs what its class does then.
    /// By ascending serial; those that were removed leave an empty one.
    @exclusivity(unchecked) private var entries: [Entry] = []
    private(set) var count = 0
    private var lastSerial = 0
    /// No entry has a higher serial.
    private var lastAdded = 0

    var isEmpty: Bool { count == 0 }

    /// All objects in order.
    var objects: [ManagedObject] { entries.compactMap(\.object) }

    /// Calls `body` for each object in order, as they are at the beginning.
    func forEach(_ body: (ManagedObject) throws -> Void) rethrows {
        let entries = entries
        for entry in entries {
            if let object = entry.object { try body(object) }
        }
    }

    /// Makes the serial of an object that is changed for the first time.
    func nextSerial() -> Int {
        lastSerial += 1
        return lastSerial
    }

    /// Adds an object at its record's serial.
    func add(_ object: ManagedObject) {
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

    /// Removes the object of a record, if it is there.
    func remove(_ record: ObjectRecord) {
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

    /// The first entry whose serial is not below.
    private func index(of serial: Int) -> Int {
        guard let last = entries.last, last.serial >= serial else { return entries.count }
        var (low, high) = (0, entries.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].serial < serial { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
