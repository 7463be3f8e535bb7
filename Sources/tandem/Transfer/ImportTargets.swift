import Tandem

/// Which objects of the store the links of a file lead to.
///
/// A link with a unique key leads to the object that has this key. Any other link of an exported row leads to the object that the row with this
/// id became; the number that an object had elsewhere is never looked up in this store. A row without an id of its own was not exported:
/// its ids are those of this store.
final class ImportTargets {
    /// Where a link leads.
    enum Target {
        case object(ObjectID)
        /// To a row that is not inserted yet.
        case pending
        /// Nowhere; the reason is for the file of rejects.
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
    /// The ids that several rows have: links to them lead nowhere.
    private var repeated: Set<FileID> = []
    /// The entities whose rows are all inserted.
    private var finished: Set<String> = []
    /// The constraints by which links are found, and their objects once they are read.
    private var constraints: Set<UInt16> = []
    private var objects: [UInt16: [UniqueKey: ObjectID]] = [:]
    /// The lines that were rejected when `objects` was read.
    private var rejected: Set<Int> = []
    /// The relationships that rows have, by entity name.
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

    /// Whether any exported row has links.
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

    /// The order in which entities are inserted: those that to-one relationships of others lead to first, required ones before all.
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

    /// Reads the objects of all keys that links have.
    @MainActor func refresh() throws {
        rejected = rejects.lines()
        objects = [:]
        guard !constraints.isEmpty else { return }
        // One that was used before stands at the position of its last read.
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

    /// Records that all rows of an entity are inserted.
    func didInsert(_ entity: String) { finished.insert(entity) }

    /// The object that a row of the file became; nil if it was rejected or met an object that was there before.
    func inserted(_ id: ObjectID) -> ObjectID? {
        guard !repeated.contains(FileID(id)), let row = rows[FileID(id)],
            !rejected.contains(row.line),
            let number = ids.numbers[FileID(id)]
        else { return nil }
        let object = ObjectID(entity: id.entity, number: number)
        guard let key = row.key else { return object }
        return objects[key.constraint]?[key]?.number == number ? object : nil
    }

    /// The target of a row's link.
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

    /// The objects that a relationship of a row leads to, and whether rows that are still pending belong to them.
    ///
    /// A relationship whose other end leads to one object only takes nothing from objects that this import did not insert. Throws
    /// ``ImportValues/Misfit`` for a link that leads nowhere.
    func targets(
        _ links: [ImportLink], _ property: CompiledProperty, of row: ImportRow
    ) throws(ImportValues.Misfit) -> (objects: [ObjectID], isComplete: Bool) {
        let isExclusive = property.relationship?.inverseToMany == false
        var found: [ObjectID] = []
        var isComplete = true
        for link in links {
            switch target(link, of: row) {
            case .pending:
                if followsFromOther(property, link, of: row) { continue }
                guard row.id.map({ !repeated.contains(FileID($0)) }) ?? true else {
                    throw ImportValues.Misfit(
                        reason: "\(property.name): several rows have the id of this one")
                }
                isComplete = false
            case .object(let object):
                if row.id != nil, isExclusive, inserted(link.id) != object {
                    // Whether its other end is free is known once all rows are inserted.
                    if !property.isToMany { isComplete = false }
                    continue
                }
                found.append(object)
            case .missing(let reason):
                if row.id != nil, isExclusive { continue }
                throw ImportValues.Misfit(reason: "\(property.name): \(reason)")
            }
        }
        return (found, isComplete)
    }

    /// The object that was there before the import and that a one-to-one relationship of a row leads to.
    func existingTarget(
        _ links: [ImportLink], _ property: CompiledProperty, of row: ImportRow
    ) -> ObjectID? {
        guard !property.isToMany, property.relationship?.inverseToMany == false,
            let link = links.first, case .object(let object) = target(link, of: row)
        else { return nil }
        return object
    }

    /// Whether the row at the other end, which comes later, has the link as well.
    private func followsFromOther(
        _ property: CompiledProperty, _ link: ImportLink, of row: ImportRow
    ) -> Bool {
        guard let relationship = property.relationship, !relationship.isOrdered,
            row.id?.entity != link.id.entity
        else { return false }
        return relationships[link.id.entity]?.contains(relationship.declaration.inverse) == true
    }
}
