/// The floor of P4: one sorted array per section, maintained by binary search, as a careful author
/// would write it.
///
/// Source locations are those before a batch, target locations those after it. The caller passes
/// the rows before and after each change.
struct HandKeptList {
    struct Path { var section, item: Int }

    enum Change {
        case insert(Path)
        case delete(Path)
        case move(Path, Path)
        case update(Path, Path)
    }

    private struct Section {
        var name: String
        var rows: [ListRow]
    }

    private var sections: [Section] = []
    private let names: [String]

    init(_ editor: ListEditor) {
        names = editor.bucketNames
        for (name, ids) in editor.sections() {
            sections.append(Section(name: name, rows: ids.compactMap { editor.rows[$0] }))
        }
    }

    /// The names and ids, for checks.
    var contents: [(name: String, ids: [Int])] { sections.map { ($0.name, $0.rows.map(\.id)) } }

    private func section(_ name: String) -> Int {
        var (low, high) = (0, sections.count)
        while low < high {
            let middle = (low + high) / 2
            if sections[middle].name < name { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func item(_ row: ListRow, in section: Int) -> Int {
        sections[section].rows.withUnsafeBufferPointer { rows in
            var (low, high) = (0, rows.count)
            while low < high {
                let middle = (low + high) / 2
                if rows[middle].precedes(row) { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    private func path(_ row: ListRow) -> Path {
        let section = section(names[row.bucket])
        return Path(section: section, item: item(row, in: section))
    }

    /// Applies a batch, and returns the change of each row.
    mutating func apply(_ changes: [ListRowChange]) -> [Change] {
        let sources = changes.map { $0.old.map(path) }
        var emptied = false
        for (change, source) in zip(changes, sources) {
            guard let old = change.old, let source else { continue }
            let at = item(old, in: source.section)
            if let new = change.new, old.isInPlace(new) {
                sections[source.section].rows[at] = new
            } else {
                sections[source.section].rows.remove(at: at)
                if sections[source.section].rows.isEmpty { emptied = true }
            }
        }
        for change in changes {
            guard let new = change.new, !(change.old.map { $0.isInPlace(new) } ?? false) else {
                continue
            }
            let name = names[new.bucket]
            let section = section(name)
            if section == sections.count || sections[section].name != name {
                sections.insert(Section(name: name, rows: []), at: section)
            }
            sections[section].rows.insert(new, at: item(new, in: section))
        }
        if emptied { sections.removeAll { $0.rows.isEmpty } }
        return zip(changes, sources).compactMap { change, source in
            switch (source, change.new) {
            case (nil, let new?): .insert(path(new))
            case (let from?, nil): .delete(from)
            case (let from?, let new?):
                change.old.map { $0.isInPlace(new) } ?? false
                    ? .update(from, path(new)) : .move(from, path(new))
            case (nil, nil): nil
            }
        }
    }
}
