/// A section as a table shows it: a name, and the numbers of its rows in order.
package struct TableSection: Hashable, Sendable {
    package var name: String
    package var rows: [UInt64]

    package init(_ name: String, _ rows: [UInt64]) {
        self.name = name
        self.rows = rows
    }
}

/// A batch update of a table, and the rules by which a table applies it.
///
/// The rules use nothing of the library, so that they can check its reports.
package struct TableChange: Sendable {
    package struct Path: Hashable, Comparable, Sendable {
        package var section: Int
        package var item: Int

        package init(_ section: Int, _ item: Int) {
            self.section = section
            self.item = item
        }

        package static func < (left: Path, right: Path) -> Bool {
            (left.section, left.item) < (right.section, right.item)
        }
    }

    package enum Kind: String, Sendable { case delete, insert, move, update }

    package struct Row: Sendable {
        package var kind: Kind
        package var number: UInt64
        package var from: Path?
        package var to: Path?

        package init(_ kind: Kind, _ number: UInt64, from: Path?, to: Path?) {
            self.kind = kind
            self.number = number
            self.from = from
            self.to = to
        }
    }

    package struct Section: Sendable {
        package var isInsert: Bool
        package var index: Int
        package var name: String

        package init(isInsert: Bool, index: Int, name: String) {
            self.isInsert = isInsert
            self.index = index
            self.name = name
        }
    }

    package var sections: [Section]
    package var rows: [Row]

    package init(sections: [Section] = [], rows: [Row] = []) {
        self.sections = sections
        self.rows = rows
    }

    /// The reason why a batch can't be applied.
    package struct Refusal: Error, CustomStringConvertible {
        package var description: String

        init(_ description: String) { self.description = description }
    }

    /// Returns the table after the batch.
    ///
    /// Rows and sections are removed by their old paths; then sections and finally rows are
    /// inserted by their new paths.
    package func replay(_ old: [TableSection]) throws(Refusal) -> [TableSection] {
        var rest = old
        for row in rows {
            guard let from = row.from else { continue }
            guard old.row(from) == row.number else { throw Refusal("\(row) is not in the table") }
            guard row.kind != .update else { continue }
            rest[from.section].rows.removeAll { $0 == row.number }
        }
        var new = try withSections(rest)
        let arriving = rows.filter { $0.kind == .insert || $0.kind == .move }
            .sorted { $0.target < $1.target }
        for row in arriving {
            guard new.indices.contains(row.target.section),
                (0...new[row.target.section].rows.count).contains(row.target.item)
            else { throw Refusal("\(row) has no place") }
            new[row.target.section].rows.insert(row.number, at: row.target.item)
        }
        for row in rows where row.kind != .delete && new.row(row.target) != row.number {
            throw Refusal("\(row) is not at its stated index")
        }
        return new
    }

    private func withSections(_ old: [TableSection]) throws(Refusal) -> [TableSection] {
        let leaving = sections.filter { !$0.isInsert }
        let coming = sections.filter(\.isInsert).sorted { $0.index < $1.index }
        guard Set(leaving.map(\.index)).count == leaving.count,
            Set(coming.map(\.index)).count == coming.count
        else { throw Refusal("a section is named twice: \(sections)") }
        for section in leaving {
            guard old.indices.contains(section.index), old[section.index].name == section.name
            else { throw Refusal("\(section) is not in the table") }
            guard old[section.index].rows.isEmpty else {
                throw Refusal("\(section) is deleted with rows that no change deletes")
            }
        }
        let gone = Set(leaving.map(\.index))
        var new = old.indices.filter { !gone.contains($0) }.map { old[$0] }
        for section in coming {
            guard (0...new.count).contains(section.index) else {
                throw Refusal("\(section) has no place")
            }
            new.insert(TableSection(section.name, []), at: section.index)
        }
        return new
    }
}

extension TableChange.Row {
    fileprivate var target: TableChange.Path { to ?? TableChange.Path(-1, -1) }
}

extension [TableSection] {
    /// Returns the row at a path; nil if there is none.
    package func row(_ path: TableChange.Path) -> UInt64? {
        guard indices.contains(path.section) else { return nil }
        let rows = self[path.section].rows
        return rows.indices.contains(path.item) ? rows[path.item] : nil
    }

    /// The path of every row.
    package var places: [UInt64: TableChange.Path] {
        var places: [UInt64: TableChange.Path] = [:]
        for (section, one) in enumerated() {
            for (item, row) in one.rows.enumerated() {
                places[row] = TableChange.Path(section, item)
            }
        }
        return places
    }
}
