/// One step of a list, with the requirements for its report: complete, minimal, and without
/// superfluous parts.
package struct TableStep: Sendable {
    package var old: [TableSection]
    package var new: [TableSection]
    /// The rows that stay and must be reported.
    package var changed: Set<UInt64>
    /// The rows that may be reported in addition, since several merged steps may cancel each other
    /// out.
    package var mayReport: Set<UInt64> = []
    /// The rows whose sort key or section differs; only these may move.
    package var loose: Set<UInt64>

    package init(
        old: [TableSection], new: [TableSection], changed: Set<UInt64>, loose: Set<UInt64>
    ) {
        self.old = old
        self.new = new
        self.changed = changed
        self.loose = loose
    }

    /// Returns the problems of a report.
    ///
    /// A missing report counts as one without parts.
    package func problems(_ change: TableChange?) -> [String] {
        let change = change ?? TableChange()
        do throws(TableChange.Refusal) {
            let shown = try change.replay(old)
            if shown != new { return ["it leads to \(shown), not to \(new)"] }
        } catch {
            return [error.description]
        }
        return unreported(change) + idleMoves(change) + needless(change)
    }

    /// Checks that each inserted, deleted or changed row is reported once, and no other row without
    /// a reason.
    private func unreported(_ change: TableChange) -> [String] {
        let (before, after) = (Set(old.places.keys), Set(new.places.keys))
        let stay = before.intersection(after)
        let must = before.symmetricDifference(after).union(changed.intersection(stay))
        let said = change.rows.map(\.number)
        var problems: [String] = []
        if Set(said).count != said.count { problems.append("reported twice: \(said)") }
        let silent = must.subtracting(said)
        if !silent.isEmpty { problems.append("not reported: \(silent.sorted())") }
        let idle = Set(said).subtracting(must).subtracting(mayReport.intersection(stay))
        if !idle.isEmpty { problems.append("reported without a reason: \(idle.sorted())") }
        for row in change.rows {
            let isRight =
                switch row.kind {
                case .insert: !before.contains(row.number)
                case .delete: !after.contains(row.number)
                case .move, .update: stay.contains(row.number)
                }
            if !isRight { problems.append("of the wrong kind: \(row)") }
        }
        return problems
    }

    private func idleMoves(_ change: TableChange) -> [String] {
        moves(change).subtracting(loose).sorted().map { "\($0) moved without a reason" }
    }

    private func moves(_ change: TableChange) -> Set<UInt64> {
        Set(change.rows.lazy.filter { $0.kind == .move }.map(\.number))
    }

    /// Returns the sections that exist before and after, but are deleted and inserted.
    private func rebuilt(_ change: TableChange) -> Set<String> {
        let stay = Set(old.map(\.name)).intersection(new.map(\.name))
        return Set(change.sections.map(\.name)).intersection(stay)
    }

    /// Finds a smaller report that is sufficient: with fewer rebuilt sections, or with fewer moves.
    private func needless(_ change: TableChange) -> [String] {
        let (rebuilt, moves) = (rebuilt(change), moves(change))
        if rebuilt.isEmpty && moves.isEmpty { return [] }
        let stay = Set(old.places.keys).intersection(new.places.keys)
        // Additional moves never make a report impossible, so checking the next smaller number is
        // enough.
        let movable = loose.intersection(stay).sorted()
        let sections = Set(old.map(\.name)).intersection(new.map(\.name)).sorted()
        for fewer in subsets(sections, below: rebuilt.count)
        where leadsThere(rebuilding: fewer, moving: Set(movable)) {
            return ["\(rebuilt.sorted()) rebuilt, although \(fewer.sorted()) would do"]
        }
        for fewer in subsets(movable, below: moves.count)
        where fewer.count == moves.count - 1 && leadsThere(rebuilding: rebuilt, moving: fewer) {
            return ["\(moves.sorted()) moved where \(fewer.sorted()) would do"]
        }
        return []
    }

    private func leadsThere(rebuilding: Set<String>, moving: Set<UInt64>) -> Bool {
        (try? candidate(rebuilding, moving).replay(old)) == new
    }

    private func candidate(_ rebuilding: Set<String>, _ moving: Set<UInt64>) -> TableChange {
        let (before, after) = (old.places, new.places)
        let stay = Set(old.map(\.name)).intersection(new.map(\.name)).subtracting(rebuilding)
        var change = TableChange()
        for (index, section) in old.enumerated() where !stay.contains(section.name) {
            change.sections.append(.init(isInsert: false, index: index, name: section.name))
        }
        for (index, section) in new.enumerated() where !stay.contains(section.name) {
            change.sections.append(.init(isInsert: true, index: index, name: section.name))
        }
        for (row, from) in before {
            if after[row] == nil {
                change.rows.append(.init(.delete, row, from: from, to: nil))
            } else if moving.contains(row) {
                change.rows.append(.init(.move, row, from: from, to: after[row]))
            }
        }
        for (row, to) in after where before[row] == nil {
            change.rows.append(.init(.insert, row, from: nil, to: to))
        }
        return change
    }

    /// Returns all subsets with fewer than `count` elements.
    private func subsets<Item: Hashable>(_ items: [Item], below count: Int) -> [Set<Item>] {
        var found: [Set<Item>] = [[]]
        for item in items {
            found += found.filter { $0.count + 1 < count }.map { $0.union([item]) }
        }
        return count > 0 ? found : []
    }
}
