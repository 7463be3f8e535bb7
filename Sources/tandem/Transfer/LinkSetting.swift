import Tandem

/// Sets the links of rows that are inserted, in saves of at most 1,000 rows.
@MainActor struct LinkSetting {
    /// A row and its links.
    struct Row {
        var row: ImportRow
        var entity: CompiledEntity
        var links: [String: [ImportLink]] = [:]
        /// Why it can't be read any more.
        var problem: String?
    }

    private static let rowsOfSave = 1_000
    private let context: ManagedObjectContext
    private let targets: ImportTargets
    private let rejects: RejectFile

    init(
        _ context: ManagedObjectContext, _ targets: ImportTargets, _ rejects: RejectFile
    ) {
        self.context = context
        self.targets = targets
        self.rejects = rejects
    }

    /// Sets the links of all rows that `next` returns; those whose links can't be set stand in the file of rejects.
    func run(_ next: () throws -> Row?) throws {
        var rows: [Row] = []
        while let row = try next() {
            rows.append(row)
            guard rows.count == Self.rowsOfSave else { continue }
            try save(rows)
            rows = []
        }
        try save(rows)
    }

    /// Saves the links of some rows; if that is refused, those of each row on their own.
    private func save(_ rows: [Row]) throws {
        guard !rows.isEmpty else { return }
        do {
            for row in rows { try set(row) }
            try context.save()
        } catch let error as ImportValues.Misfit {
            try separate(rows, error.reason)
        } catch let error as TandemError where Self.isAboutRows(error) {
            let problems = error.problems.map(\.message).joined(separator: "; ")
            try separate(rows, problems.isEmpty ? error.message : problems)
        }
    }

    private func separate(_ rows: [Row], _ reason: String) throws {
        context.rollback()
        guard rows.count == 1 else {
            for row in rows { try save([row]) }
            return
        }
        try rejects.add(
            rows.map {
                .init(
                    line: $0.row.line, raw: $0.row.raw,
                    reason: "imported without its links: \(reason)")
            }, by: .links)
    }

    private static func isAboutRows(_ error: TandemError) -> Bool {
        [.validation, .conflict, .unknownObject, .usage].contains(error.code)
    }

    private func set(_ row: Row) throws {
        if let problem = row.problem { throw ImportValues.Misfit(reason: problem) }
        // Of an object that was there before the policy of the import decides, not its links.
        guard let id = row.row.id, let source = targets.inserted(id) else { return }
        let object = try living(source)
        for (name, links) in row.links.sorted(by: { $0.key < $1.key }) {
            guard let property = row.entity.property(named: name) else { continue }
            let found = try targets.targets(links, property, of: row.row).objects
            let members = try found.map { try living($0) }
            if !property.isToMany {
                let existing = targets.existingTarget(links, property, of: row.row)
                if let member = try members.first ?? existing.map({ try living($0) }) {
                    if members.isEmpty { try expectFree(member, for: object, property) }
                    object.setObject(member, for: name)
                }
            } else if property.relationship?.isOrdered == true {
                if !members.isEmpty { object.setOrderedObjects(members, for: name) }
            } else {
                for member in members { object.add(member, to: name) }
            }
        }
    }

    /// Throws a misfit if an object that was there before is linked to another one.
    private func expectFree(
        _ member: ManagedObject, for object: ManagedObject, _ property: CompiledProperty
    ) throws {
        guard let inverse = property.relationship?.declaration.inverse,
            let other = member.object(inverse), other.id != object.id
        else { return }
        throw ImportValues.Misfit(
            reason: "\(property.name): \(member.id) is linked to \(other.id) already")
    }

    /// The object of an id; throws `unknownObject` if it was deleted since it was inserted or found.
    private func living(_ id: ObjectID) throws -> ManagedObject {
        let object = try context.object(with: id)
        guard !object.isDeleted else {
            throw TandemError(.unknownObject, "\(id) was deleted during the import")
        }
        return object
    }
}
