/// What one merged change does to a list: the rows that leave, and those that enter or changed.
///
/// A row in `upserted` that the list already holds counts as changed and is reported once, as a
/// move or an update, also if its sort key and section are what they were. Leave rows out that did
/// not change. A number in both `removed` and `upserted` is in the list afterwards; of two rows
/// with the same number the last one counts; removing a number the list does not hold does nothing.
/// Of rows that changed and stay as they are the number is enough: name them in `unmoved`.
public struct ListEdits: Hashable, Sendable {
    /// The numbers of rows that leave the list.
    public var removed: [UInt64]
    /// The rows that enter, or stay with a new or the same sort key and section.
    public var upserted: [ResultRow]
    /// The numbers of rows that changed while their sort key and section stayed what they were.
    ///
    /// They count as rows in `upserted` that the list holds just so; one that it does not hold, or that is in `removed` or
    /// `upserted`, plays no part.
    public var unmoved: [UInt64]
    /// Why rows changed, by number; those without an entry have no reason.
    public var reasons: [UInt64: ChangeReason]

    /// Makes an edit.
    public init(
        removed: [UInt64] = [], upserted: [ResultRow] = [], unmoved: [UInt64] = [],
        reasons: [UInt64: ChangeReason] = [:]
    ) {
        self.removed = removed
        self.upserted = upserted
        self.unmoved = unmoved
        self.reasons = reasons
    }
}

/// What an edit led to.
public enum ListOutcome: Hashable, Sendable {
    /// There is nothing to report.
    case unchanged
    /// The list shows new rows; the change is relative to what it showed before.
    case changed(ResultsChange)
    /// A section comes back after another one; the list goes on showing what it showed before.
    case failed(OutOfOrderSection)
}

/// A section name that comes back after another section: sort order and sections don't fit.
public struct OutOfOrderSection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The section that comes back.
    public var section: String
    /// The section between its parts.
    public var interruptedBy: String
    /// The number of the first object of `section` behind the start of the other one.
    public var number: UInt64
    /// The entity tag of that object.
    public var entityTag: UInt16

    /// Makes the error.
    public init(section: String, interruptedBy: String, number: UInt64, entityTag: UInt16) {
        self.section = section
        self.interruptedBy = interruptedBy
        self.number = number
        self.entityTag = entityTag
    }

    /// A sentence that says what is wrong and what to do.
    public var description: String {
        "section \"\(section)\" comes back after section \"\(interruptedBy)\" at object \(number); "
            + "sort by the section key path first"
    }
}

/// An edit without contradictions: every number once.
struct NetEdits {
    var leaving: [UInt64]
    var upserted: [ResultRow]
    var unmoved: [UInt64]

    init(_ edits: ListEdits) {
        (leaving, upserted, unmoved) = (edits.removed, edits.upserted, edits.unmoved)
        if count == 1 || isPlain { return }
        var last: [UInt64: Int] = [:]
        last.reserveCapacity(edits.upserted.count)
        for (at, row) in edits.upserted.enumerated() { last[row.number] = at }
        if last.count < upserted.count {
            upserted = last.values.sorted().map { edits.upserted[$0] }
        }
        var seen: Set<UInt64> = []
        leaving = edits.removed.filter { last[$0] == nil && seen.insert($0).inserted }
        unmoved = edits.unmoved.filter { last[$0] == nil && seen.insert($0).inserted }
    }

    /// How many rows it is about.
    var count: Int { leaving.count + upserted.count + unmoved.count }

    /// The same without what a store does not hold.
    func held(by rows: RowStore) -> NetEdits {
        var held = self
        held.leaving = leaving.filter(rows.contains)
        held.unmoved = unmoved.filter(rows.contains)
        return held
    }

    /// Whether all lists ascend and have no number in common, as where they come from a transaction; O(k).
    private var isPlain: Bool {
        var (gone, same) = (0, 0)
        for index in upserted.indices {
            let number = upserted[index].number
            if index > 0, upserted[index - 1].number >= number { return false }
            while gone < leaving.count, leaving[gone] < number { gone += 1 }
            while same < unmoved.count, unmoved[same] < number { same += 1 }
            if gone < leaving.count, leaving[gone] == number { return false }
            if same < unmoved.count, unmoved[same] == number { return false }
        }
        gone = 0
        for index in unmoved.indices {
            let number = unmoved[index]
            if index > 0, unmoved[index - 1] >= number { return false }
            while gone < leaving.count, leaving[gone] < number { gone += 1 }
            if gone < leaving.count, leaving[gone] == number { return false }
        }
        for index in leaving.indices.dropFirst() where leaving[index - 1] >= leaving[index] {
            return false
        }
        return true
    }
}
