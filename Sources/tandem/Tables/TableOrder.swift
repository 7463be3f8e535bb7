import Tandem

/// Sorts files for an import, so that the targets of links are inserted first.
enum TableOrder {
    /// Returns the files of a map in import order; independent files are sorted by name.
    ///
    /// Throws ``CommandFailure`` if links form a cycle or refer to objects of their own file.
    static func sorted(
        _ tables: [ImportMap.Table], _ model: CompiledModel
    ) throws -> [ImportMap.Table] {
        var open = tables.sorted { $0.name < $1.name }
        var sorted: [ImportMap.Table] = []
        while !open.isEmpty {
            let next = open.firstIndex { table in
                !open.contains { refers(table, to: $0, model) }
            }
            guard let next else { throw cycleFailure(open, model) }
            sorted.append(open.remove(at: next))
        }
        return sorted
    }

    /// Returns whether rows of one file may refer to objects of another.
    private static func refers(
        _ table: ImportMap.Table, to other: ImportMap.Table, _ model: CompiledModel
    ) -> Bool {
        guard let entity = model.entity(named: table.entity),
            let target = model.entity(named: other.entity)
        else { return false }
        return table.links.contains { link in
            let destination = entity.property(named: link.name)?.relationship?.destination
            return destination.map { target.ancestors.contains($0) } ?? false
        }
    }

    private static func cycleFailure(
        _ tables: [ImportMap.Table], _ model: CompiledModel
    ) -> CommandFailure {
        if let own = tables.first(where: { refers($0, to: $0, model) }) {
            return CommandFailure(
                "\(own.name): rows of one file cannot refer to each other; remove the link",
                code: 2)
        }
        let names = tables.map(\.name).joined(separator: ", ")
        return CommandFailure(
            "the links of \(names) form a cycle; remove one of them", code: 2)
    }
}
