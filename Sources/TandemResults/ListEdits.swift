/// The effect of one merged change on a list: the rows that leave it, enter it or change.
///
/// A row in `upserted` that is already in the list counts as changed. It is reported once, as a
/// move or an update, even if its sort key and section are unchanged; omit rows that did not
/// change. For rows that changed but keep their sort key and section, the number in `unmoved` is
/// sufficient.
///
/// If two rows have the same number, the last one wins. A number in both `removed` and `upserted`
/// is in the list afterwards. Removing a number that is not in the list has no effect.
package struct ListEdits: Hashable, Sendable {
    /// The numbers of rows that leave the list.
    package var removed: [UInt64]
    /// The rows that enter the list or stay in it, with their new sort key and section.
    package var upserted: [ResultRow]
    /// The numbers of rows that changed, but kept their sort key and section.
    ///
    /// These numbers have the same effect as rows in `upserted` with an unchanged sort key and
    /// section. A number that is not in the list, or is in `removed` or `upserted`, is ignored.
    package var unmoved: [UInt64]
    /// The reasons for changes, by number; rows without an entry have no reason.
    package var reasons: [UInt64: ChangeReason]

    /// Creates an edit.
    package init(
        removed: [UInt64] = [], upserted: [ResultRow] = [], unmoved: [UInt64] = [],
        reasons: [UInt64: ChangeReason] = [:]
    ) {
        self.removed = removed
        self.upserted = upserted
        self.unmoved = unmoved
        self.reasons = reasons
    }
}

/// The outcome of an edit.
package enum ListOutcome: Hashable, Sendable {
    /// There is nothing to report.
    case unchanged
    /// The shown rows changed.
    case changed(ResultsChange)
    /// A section occurs again after another one; the shown rows are unchanged.
    case failed(OutOfOrderSection)
}

/// A section name that occurs again after another section: the sort order does not fit the
/// sections.
package struct OutOfOrderSection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The section that occurs again.
    package var section: String
    /// The section between its two parts.
    package var interruptedBy: String
    /// The number of the first object of `section` after the start of the other section.
    package var number: UInt64
    /// The entity tag of that object.
    package var entityTag: UInt16

    /// Creates the error.
    package init(section: String, interruptedBy: String, number: UInt64, entityTag: UInt16) {
        self.section = section
        self.interruptedBy = interruptedBy
        self.number = number
        self.entityTag = entityTag
    }

    /// A sentence with the problem and the remedy.
    package var description: String {
        "section \"\(section)\" occurs again after section \"\(interruptedBy)\" at object \(number); "
            + "sort by the section key path first"
    }
}

/// An edit without contradictions: every number occurs only once.
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
        assert(!Invariants.walk(count) || hasEachNumberOnce, "Every number occurs once.")
    }

    private var hasEachNumberOnce: Bool {
        Set(leaving + upserted.map(\.number) + unmoved).count == count
    }

    /// The number of edited rows.
    var count: Int { leaving.count + upserted.count + unmoved.count }

    /// Returns the edit without removed and unmoved numbers that are not in a store.
    func held(by rows: RowStore) -> NetEdits {
        var held = self
        held.leaving = leaving.filter(rows.contains)
        held.unmoved = unmoved.filter(rows.contains)
        return held
    }

    /// Whether all three lists are ascending and disjoint, as they are for a transaction; cost:
    /// O(k).
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
