import FoundationEssentials

/// A row of a small list, which is sorted by `key`, then number, and divided by `section`.
package struct SmallRow: Hashable, Sendable {
    package var key: Int
    package var section: String
    /// A value that affects neither order nor section.
    package var value = 0

    package init(_ key: Int, _ section: String, value: Int = 0) {
        self.key = key
        self.section = section
        self.value = value
    }
}

/// An edit of one row of a small list, by its index.
package enum SmallEdit: Hashable, Sendable {
    case delete(Int)
    case insert(SmallRow)
    case set(Int, SmallRow)
}

/// A list and one transaction's edits of different rows.
package struct SmallCase: Hashable, Sendable {
    package var rows: [SmallRow]
    package var edits: [SmallEdit]

    package init(_ rows: [SmallRow], _ edits: [SmallEdit]) {
        self.rows = rows
        self.edits = edits
    }
}

/// Every list of up to five rows in up to three sections, and every edit of them.
package enum SmallLists {
    /// Whether no case is left out: `TANDEM_EXHAUSTIVE`.
    package static let isExhaustive =
        ProcessInfo.processInfo.environment["TANDEM_EXHAUSTIVE"] != nil

    /// The lists; sections are not in the order of their names, and keys have gaps.
    package static let all: [[SmallRow]] = (0...5).flatMap { count in
        cuts(count).map { cuts in
            (0..<count).map { place in
                SmallRow(10 * (place + 1), names[cuts.filter { $0 <= place }.count])
            }
        }
    }

    private static let names = ["b", "a", "c", "d"]

    /// Returns the indexes before which sections begin, at most two.
    private static func cuts(_ count: Int) -> [[Int]] {
        guard count > 1 else { return [[]] }
        let ones = 1..<count
        return [[]] + ones.map { [$0] }
            + ones.flatMap { a in ones.filter { $0 > a }.map { [a, $0] } }
    }

    /// Returns, for each row, all of its edits: a delete, a change of the value, or any key and
    /// section; finally all inserts.
    ///
    /// With `ties`, a key can also be that of another row.
    package static func edits(_ rows: [SmallRow], ties: Bool) -> [[SmallEdit]] {
        let keys = stride(from: 5, through: 10 * rows.count + 5, by: ties ? 5 : 10)
        let places = keys.flatMap { key in names.map { SmallRow(key, $0) } }
        return rows.indices.map { at in
            [.delete(at), .set(at, SmallRow(rows[at].key, rows[at].section, value: 1))]
                + places.filter { $0 != rows[at] }.map { .set(at, $0) }
        } + [places.map { .insert($0) }]
    }

    /// Returns every single edit of every list.
    package static func singles() -> [SmallCase] {
        all.flatMap { rows in
            edits(rows, ties: true).joined().map { SmallCase(rows, [$0]) }
        }
    }

    /// Returns every `stride`-th pair of edits of every list: of two rows, or with one or two
    /// inserts.
    package static func pairs(every stride: Int) -> [SmallCase] {
        var cases: [SmallCase] = []
        var count = 0
        for rows in all {
            let edits = edits(rows, ties: false)
            for a in edits.indices {
                for b in a..<edits.count where a != b || a == rows.count {
                    for one in edits[a] {
                        for two in edits[b] {
                            count += 1
                            if count % stride == 0 { cases.append(SmallCase(rows, [one, two])) }
                        }
                    }
                }
            }
        }
        return cases
    }

    /// Returns the sections of numbered rows; nil if a section occurs again after another one.
    package static func sections(_ rows: [UInt64: SmallRow]) -> [TableSection]? {
        var sections: [TableSection] = []
        for (number, row) in rows.sorted(by: { ($0.value.key, $0.key) < ($1.value.key, $1.key) }) {
            if sections.last?.name != row.section {
                if sections.contains(where: { $0.name == row.section }) { return nil }
                sections.append(TableSection(row.section, []))
            }
            sections[sections.count - 1].rows.append(number)
        }
        return sections
    }
}

extension TableStep {
    /// Creates the step from one list of numbered rows to another one, both in order.
    package init?(_ old: [UInt64: SmallRow], _ new: [UInt64: SmallRow]) {
        guard let before = SmallLists.sections(old), let after = SmallLists.sections(new) else {
            return nil
        }
        let stay = old.keys.filter { new[$0] != nil }
        self.init(
            old: before, new: after, changed: Set(stay.filter { old[$0] != new[$0] }),
            loose: Set(
                stay.filter {
                    old[$0]?.key != new[$0]?.key || old[$0]?.section != new[$0]?.section
                }))
    }
}
