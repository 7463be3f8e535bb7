/// The slot for the record of a flyweight, outside the table, so that a new row changes nothing
/// else.
///
/// State: the record, whose row and object are borrowed while it is in the slot.
final class Passage {
    /// The record, not retained, because a retain would be half of the work per row.
    ///
    /// The reference is valid because ``PassingObject`` retains the object of the record, which
    /// retains the record until it is bound to another one; the slot is cleared before that.
    @exclusivity(unchecked) private var passing: Unmanaged<ObjectRecord>?

    /// The record of the flyweight.
    var record: ObjectRecord? { passing?.takeUnretainedValue() }

    /// Sets the record of a flyweight, whose number must not be in the table; the caller retains
    /// it.
    @inline(__always)
    func pass(_ record: Unmanaged<ObjectRecord>) { passing = record }

    /// Clears the slot; returns whether it had a record.
    @inline(__always)
    func leave() -> Bool {
        let isThere = passing != nil
        passing = nil
        return isThere
    }

    /// Clears the slot, and makes its record permanent, with a row of its own.
    func end() {
        let ended = record
        passing = nil
        ended?.settle()
    }

    /// Clears the slot if it has this record, whose object is about to release it.
    func end(_ record: ObjectRecord) {
        if self.record === record { end() }
    }
}
