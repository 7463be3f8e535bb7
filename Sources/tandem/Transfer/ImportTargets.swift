import Tandem

/// Finds the objects of the store to which the links of a file refer.
///
/// - A link with a unique key refers to the object with this key.
/// - Any other link of an exported row refers to the object inserted for the row with that id.
///   The number that an object had in another store is never looked up in this store.
/// - A row without an id was not exported, so the ids in its links belong to this store.
final class ImportTargets {
    /// The target of a link.
    enum Target {
        case object(ObjectID)
        /// A row that is not inserted yet.
        case pending
        /// No object exists; the reason is written to the reject file.
        case missing(String)
    }

    /// An exported row of the file.
    private struct Row {
        var line: Int
        var key: UniqueKey?
    }

    let model: CompiledModel
    private let container: PersistentContainer
    private let rejects: RejectFile
    private let ids: ImportIDs
    private var rows: [FileID: Row] = [:]
    /// The ids that several rows have; links to these ids have no target.
    private var repeated: Set<FileID> = []
    /// The entities whose rows have all been inserted.
    private var finished: Set<String> = []
    /// The constraints by which links are resolved.
    private var constraints: Set<UInt16> = []
    private var objects: [UInt16: [UniqueKey: ObjectID]] = [:]
    /// The lines that had been rejected when `objects` was read.
    private var rejected: Set<Int> = []
    /// The relationships for which any row has links, by entity name.
    private var relationships: [String: Set<String>] = [:]

    init(
        _ model: CompiledModel, _ container: PersistentContainer, _ rejects: RejectFile,
        _ ids: ImportIDs
    ) {
        self.model = model
        self.container = container
        self.rejects = rejects
        self.ids = ids
    }

    /// Whether exported rows have links, so that the ids of inserted objects must be recorded.
    var needsIDs: Bool { !rows.isEmpty && !relationships.isEmpty }

    // MARK: The first pass

    /// Records a row with its values and links.
    func record(
        _ row: ImportRow, _ values: BatchValues, _ links: [String: [ImportLink]],
        of entity: CompiledEntity
    ) {
        for (name, links) in links {
            relationships[entity.name, default: []].insert(name)
            for link in links {
                if let key = link.key { constraints.insert(key.constraint) }
            }
        }
        guard let id = row.id else { return }
        guard rows[FileID(id)] == nil else {
            repeated.insert(FileID(id))
            return
        }
        let key = UniqueKey(of: entity) { values.attributes[$0] ?? .null }
        if let key { constraints.insert(key.constraint) }
        rows[FileID(id)] = Row(line: row.line, key: key)
    }

    /// Returns the entities in insertion order.
    ///
    /// The destination of a to-one relationship comes before its owner; in a cycle, optional
    /// relationships are ignored.
    func sorted(_ entities: [String]) -> [String] {
        var open = entities
        var sorted: [String] = []
        while !open.isEmpty {
            let next =
                open.firstIndex { name in !open.contains { waits(name, for: $0, optional: true) } }
                ?? open.firstIndex { name in
                    !open.contains { waits(name, for: $0, optional: false) }
                }
            sorted.append(open.remove(at: next ?? 0))
        }
        return sorted
    }

    private func waits(_ name: String, for other: String, optional: Bool) -> Bool {
        guard name != other, let entity = model.entity(named: name),
            let target = model.entity(named: other)
        else { return false }
        return entity.properties.contains { property in
            guard let relationship = property.relationship, !property.isToMany,
                optional || !relationship.isOptional,
                relationships[name]?.contains(property.name) == true
            else { return false }
            return target.tag == relationship.destination
                || target.ancestors.contains(relationship.destination)
        }
    }

    // MARK: Links

    /// Reads the objects of all constraints that links use.
    @MainActor func refresh() throws {
        rejected = rejects.lines()
        objects = [:]
        guard !constraints.isEmpty else { return }
        // A context that was used before would read at its old position.
        let context = container.makeContext(name: "import")
        let position = try context.pin(at: try context.connect())
        for entity in model.entities {
            for constraint in entity.uniqueness
            where constraints.contains(constraint.id) && objects[constraint.id] == nil {
                objects[constraint.id] =
                    try UniqueKeys(constraint, model, context, at: position).objects
            }
        }
    }

    /// Records that all rows of an entity have been inserted.
    func didInsert(_ entity: String) { finished.insert(entity) }

    /// Returns the object inserted for a row of the file, or nil if the row was rejected or its key
    /// belongs to an object that existed before the import.
    func inserted(_ id: ObjectID) -> ObjectID? {
        guard !repeated.contains(FileID(id)), let row = rows[FileID(id)],
            !rejected.contains(row.line),
            let number = ids.numbers[FileID(id)]
        else { return nil }
        let object = ObjectID(entity: id.entity, number: number)
        guard let key = row.key else { return object }
        return objects[key.constraint]?[key]?.number == number ? object : nil
    }

    /// Returns the target of a row's link.
    func target(_ link: ImportLink, of row: ImportRow) -> Target {
        if row.id != nil, link.key == nil, repeated.contains(FileID(link.id)) {
            return .missing("several rows have the id \(link.id)")
        }
        let target = rows[FileID(link.id)]
        let isPending = target != nil && !finished.contains(link.id.entity)
        if let key = link.key ?? target?.key {
            if let object = objects[key.constraint]?[key] { return .object(object) }
            return isPending
                ? .pending
                : .missing("there is no \(link.id.entity) with this unique key: \(link.text)")
        }
        guard let target else {
            guard row.id != nil else { return .object(link.id) }
            return .missing(
                "\(link.id) is not in the file and has no unique key; export "
                    + "\(link.id.entity) into the same file")
        }
        if isPending { return .pending }
        if let object = inserted(link.id) { return .object(object) }
        return .missing("\(link.id), line \(target.line), was not imported")
    }

    /// Returns the objects to which a relationship of a row refers.
    ///
    /// `isComplete` is false if a link can only be set after later rows are inserted. If the
    /// inverse relationship is to-one, objects that this import did not insert are left out,
    /// because they may already be linked. Throws ``ImportValues/RowError`` if a link has no
    /// target.
    func targets(
        _ links: [ImportLink], _ property: CompiledProperty, of row: ImportRow
    ) throws(ImportValues.RowError) -> (objects: [ObjectID], isComplete: Bool) {
        let isExclusive = property.relationship?.inverseToMany == false
        var found: [ObjectID] = []
        var isComplete = true
        for link in links {
            switch target(link, of: row) {
            case .pending:
                if followsFromOther(property, link, of: row) { continue }
                guard let id = row.id else {
                    throw ImportValues.RowError(
                        reason: "\(property.name): \(link.text) is another row of the file, and "
                            + "this row has no id; import the rows without ids from a second file")
                }
                guard !repeated.contains(FileID(id)) else {
                    throw ImportValues.RowError(
                        reason: "\(property.name): several rows have the id of this one")
                }
                isComplete = false
            case .object(let object):
                if row.id != nil, isExclusive, inserted(link.id) != object {
                    // The inverse of such an object is only checked after all rows are inserted.
                    if !property.isToMany { isComplete = false }
                    continue
                }
                found.append(object)
            case .missing(let reason):
                if row.id != nil, isExclusive { continue }
                throw ImportValues.RowError(reason: "\(property.name): \(reason)")
            }
        }
        return (found, isComplete)
    }

    /// Returns the target of a row's one-to-one relationship, or nil if the target did not exist
    /// before the import.
    func existingTarget(
        _ links: [ImportLink], _ property: CompiledProperty, of row: ImportRow
    ) -> ObjectID? {
        guard !property.isToMany, property.relationship?.inverseToMany == false,
            let link = links.first, case .object(let object) = target(link, of: row)
        else { return nil }
        return object
    }

    /// Returns whether the target's row, which is inserted later, also contains the link.
    private func followsFromOther(
        _ property: CompiledProperty, _ link: ImportLink, of row: ImportRow
    ) -> Bool {
        guard let relationship = property.relationship, !relationship.isOrdered,
            row.id?.entity != link.id.entity
        else { return false }
        return relationships[link.id.entity]?.contains(relationship.declaration.inverse) == true
    }
}
