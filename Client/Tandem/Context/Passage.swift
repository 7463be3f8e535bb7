/// Where a record passes by: a place of its own, so that for each row nothing but it is touched.
///
/// State: the record, of which row and object are lent as long as it is here.
final class Passage {
    /// Not retained, which for each row would be half of the work: guarded by the object that passes by, which ``PassingObject`` holds and
    /// which has the record until it is bound to another one; that ends the passage first.
    @exclusivity(unchecked) private var passing: Unmanaged<ObjectRecord>?

    /// The record that passes by.
    var record: ObjectRecord? { passing?.takeUnretainedValue() }

    /// Lets a record of a number that is not in the table pass by; the caller has it for as long as it does.
    @inline(__always)
    func pass(_ record: Unmanaged<ObjectRecord>) { passing = record }

    /// Lets go of the record that passes by; says whether it still was there.
    @inline(__always)
    func leave() -> Bool {
        let isThere = passing != nil
        passing = nil
        return isThere
    }

    /// Makes the record that passes by one like the others, which has its row for itself.
    func end() {
        let ended = record
        passing = nil
        ended?.settle()
    }

    /// Does so if a record passes by that its object is about to give up.
    func end(_ record: ObjectRecord) {
        if self.record === record { end() }
    }
}
