import Tandem

/// Sets the links of inserted rows, in saves of at most 1,000 rows.
///
/// Most links are saved without objects in memory, and one save is in flight while the next is
/// prepared. Two kinds of links need objects in memory: ordered relationships, which depend on the
/// existing members, and one-to-one relationships to objects that existed before the import, which
/// depend on the links of these objects.
///
/// If a save without objects fails, it is repeated with objects in memory. If the daemon rejects
/// that save, each row is saved alone, and the rejected rows are written to the reject file.
@MainActor final class LinkSetting {
    /// A row and its links.
    struct Row {
        var row: ImportRow
        var entity: CompiledEntity
        var links: [String: [ImportLink]] = [:]
        /// The reason why the row can no longer be read.
        var problem: String?
    }

    /// A row whose links are resolved to objects of the store.
    private struct Resolved {
        let line: Int
        let raw: String
        /// The id of the row in the file.
        let fileID: ObjectID
        let object: ObjectID
        /// The relationships with links, by name.
        var links: [(property: CompiledProperty, targets: [ObjectID])] = []
        /// The names of one-to-one relationships in `links` whose targets existed before the
        /// import.
        var existing: Set<String> = []

        /// Whether the links depend on existing links, and so need objects in memory.
        var needsObjects: Bool {
            !existing.isEmpty || links.contains { $0.property.relationship?.isOrdered == true }
        }

        var update: LinkUpdate {
            LinkUpdate(
                object,
                Dictionary(uniqueKeysWithValues: links.map { ($0.property.name, $0.targets) }))
        }
    }

    private static let rowsOfSave = 1_000
    /// The maximum number of saves in flight: one that the daemon carries out, and one that waits.
    private static let savesInFlight = 2
    private let context: ManagedObjectContext
    private let targets: ImportTargets
    private let rejects: RejectFile
    /// The rows of the next save without objects.
    private var unordered: [Resolved] = []
    /// The rows of the next save with objects.
    private var ordered: [Resolved] = []
    /// The rows whose links can't be set and that have yet to be written to the reject file.
    private var unfit: [RejectFile.Reject] = []
    private var sent: [(rows: [Resolved], save: LinkSave)] = []

    init(
        _ context: ManagedObjectContext, _ targets: ImportTargets, _ rejects: RejectFile
    ) {
        self.context = context
        self.targets = targets
        self.rejects = rejects
    }

    /// Sets the links of all rows returned by `next`; rows whose links can't be set are rejected.
    func run(_ next: () throws -> Row?) throws {
        while let row = try next() { try add(row) }
        try sendUnordered()
        try saveOrdered()
        try reject()
    }

    private func add(_ row: Row) throws {
        do throws(ImportValues.RowError) {
            guard let resolved = try resolved(row), !resolved.links.isEmpty else { return }
            if resolved.needsObjects {
                ordered.append(resolved)
            } else {
                unordered.append(resolved)
            }
        } catch {
            unfit.append(Self.reject(row.row.line, row.row.raw, error.reason))
        }
        if unordered.count == Self.rowsOfSave { try sendUnordered() }
        if ordered.count == Self.rowsOfSave { try saveOrdered() }
        if unfit.count == Self.rowsOfSave { try reject() }
    }

    /// Returns the targets of a row's links, or nil if the row is not an object of this import.
    private func resolved(_ row: Row) throws(ImportValues.RowError) -> Resolved? {
        if let problem = row.problem { throw ImportValues.RowError(reason: problem) }
        // For an object that existed before the import, the import's policy applies, and no links
        // are set.
        guard let id = row.row.id, let object = targets.inserted(id) else { return nil }
        var resolved = Resolved(
            line: row.row.line, raw: row.row.raw, fileID: id, object: object)
        for (name, links) in row.links.sorted(by: { $0.key < $1.key }) {
            guard let property = row.entity.property(named: name) else { continue }
            let found = try targets.targets(links, property, of: row.row).objects
            if !found.isEmpty {
                resolved.links.append((property, found))
            } else if let existing = targets.existingTarget(links, property, of: row.row) {
                resolved.links.append((property, [existing]))
                resolved.existing.insert(name)
            }
        }
        return resolved
    }

    // MARK: Saves in flight

    private func sendUnordered() throws {
        guard !unordered.isEmpty else { return }
        let rows = unordered
        unordered = []
        try send(rows)
        if sent.count == Self.savesInFlight { try finishFirst() }
    }

    private func send(_ rows: [Resolved]) throws {
        do {
            sent.append((rows, try context.tools.send(rows.map(\.update))))
        } catch is TandemError {
            // `save` finds the rows that cause the error.
            while !sent.isEmpty { try finishFirst() }
            try save(rows)
        }
    }

    /// Waits for the oldest save in flight; if it fails, saves its rows again, and then the rows of
    /// later saves.
    private func finishFirst() throws {
        let first = sent.removeFirst()
        do {
            try first.save.wait()
        } catch {
            let later = sent
            sent = []
            for save in later { _ = Result { try save.save.wait() } }
            try save(first.rows)
            for save in later { try send(save.rows) }
        }
    }

    // MARK: Saves of objects

    private func saveOrdered() throws {
        while !sent.isEmpty { try finishFirst() }
        let rows = ordered
        ordered = []
        guard !rows.isEmpty else { return }
        try loadMembers(of: rows)
        try save(rows)
    }

    /// Loads the members of ordered relationships, with one request for each relationship.
    private func loadMembers(of rows: [Resolved]) throws {
        var owners: [String: [ManagedObject]] = [:]
        for row in rows {
            for (property, _) in row.links where property.relationship?.isOrdered == true {
                owners[property.name, default: []].append(try context.object(with: row.object))
            }
        }
        for (name, objects) in owners.sorted(by: { $0.key < $1.key }) {
            try context.tools.loadMembers(of: objects, name)
        }
    }

    /// Saves the links of rows; if the daemon rejects the save, saves the links of each row alone.
    private func save(_ rows: [Resolved]) throws {
        do {
            for row in rows { try set(row) }
            try context.save()
        } catch let error as TandemError where Self.isAboutRows(error) {
            let problems = error.problems.map(\.message).joined(separator: "; ")
            try separate(rows, problems.isEmpty ? error.message : problems)
        }
    }

    private func separate(_ rows: [Resolved], _ reason: String) throws {
        context.rollback()
        guard rows.count == 1 else {
            for row in rows { try save([row]) }
            return
        }
        unfit += rows.map { Self.reject($0.line, $0.raw, reason) }
        try reject()
    }

    private static func isAboutRows(_ error: TandemError) -> Bool {
        [.validation, .conflict, .unknownObject, .usage].contains(error.code)
    }

    private func set(_ row: Resolved) throws {
        let object = try living(row.object)
        for (property, targets) in row.links {
            let members = try targets.map { try living($0) }
            if !property.isToMany {
                guard let member = members.first else { continue }
                if row.existing.contains(property.name),
                    !(try isFree(member, for: object, property, row))
                {
                    continue
                }
                object.setObject(member, for: property.name)
            } else if property.relationship?.isOrdered == true {
                object.setOrderedObjects(members, for: property.name)
            } else {
                for member in members { object.add(member, to: property.name) }
            }
        }
    }

    /// Returns whether an object that existed before the import may be linked; false if it is
    /// linked to the object from which the row was exported.
    ///
    /// Throws `conflict` if it is linked to any other object.
    private func isFree(
        _ member: ManagedObject, for object: ManagedObject, _ property: CompiledProperty,
        _ row: Resolved
    ) throws -> Bool {
        guard let inverse = property.relationship?.declaration.inverse,
            let other = member.object(inverse), other.id != object.id
        else { return true }
        guard other.id != row.fileID else { return false }
        throw TandemError(
            .conflict, "\(property.name): \(member.id) is already linked to \(other.id)")
    }

    /// Returns the object with this id; throws `unknownObject` if it was deleted after it was
    /// inserted or found.
    private func living(_ id: ObjectID) throws -> ManagedObject {
        let object = try context.object(with: id)
        guard !object.isDeleted else {
            throw TandemError(.unknownObject, "\(id) was deleted during the import")
        }
        return object
    }

    // MARK: Rejects

    private static func reject(_ line: Int, _ raw: String, _ reason: String) -> RejectFile.Reject {
        .init(line: line, raw: raw, reason: "imported without its links: \(reason)")
    }

    /// Adds the rows whose links can't be set to the reject file.
    private func reject() throws {
        try rejects.add(unfit, by: .links)
        unfit = []
    }
}
