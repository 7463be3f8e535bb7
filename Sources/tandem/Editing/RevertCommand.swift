import ArgumentParser
import Tandem

/// `tandem revert`: a new save that undoes a transaction.
struct RevertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revert", abstract: "Undoes a transaction by a new save.",
        discussion: """
            Inserted objects are deleted, values and links become what they were, and deleted objects are inserted again, \
            with new ids and as the last members of ordered relationships. What later transactions changed is a conflict: \
            all conflicts are listed, nothing is saved, and the exit code is 1.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The position of the transaction.")
    var position: String

    @Flag(name: .customLong("dry-run"), help: "Print what would be done, and save nothing.")
    var isDryRun = false

    func run() throws {
        let (global, text, isDryRun) = (global, position, isDryRun)
        try onMainActor {
            let source = DaemonSource(global.container())
            let number = try SourceOptions.number(text, source)
            let container = global.container(author: "tandem revert")
            let context = container.makeContext(name: "revert \(number)")
            var revert = Revert(context, try container.storeModel())
            try revert.prepare(try Self.entry(number, source))
            let saved = isDryRun ? nil : try revert.save()
            let conflicts = revert.conflicts
            guard conflicts.isEmpty else {
                conflicts.forEach { printLine("conflict: \($0)") }
                throw CommandFailure(
                    "transaction \(number) can't be reverted: \(conflicts.count) "
                        + "conflict\(conflicts.count == 1 ? "" : "s"); nothing was saved")
            }
            revert.lines.forEach(printLine)
            guard let saved else { return printLine("nothing was saved (--dry-run)") }
            printLine("reverted \(number) by \(saved.number)")
        }
    }

    private static func entry(_ number: UInt64, _ source: any LogSource) throws -> LogEntry {
        var found: LogEntry?
        guard number > 0 else { throw CommandFailure("there is no transaction 0", code: 2) }
        try LogReader(source: source, filter: LogFilter()).forwards(
            after: number - 1, through: number
        ) { entry in
            found = entry
            return true
        }
        guard let found else {
            throw CommandFailure("there is no transaction at position \(number)")
        }
        if case .model = found.transaction.content {
            throw CommandFailure(
                "transaction \(number) installs a model; `tandem schema migrate` installs another")
        }
        return found
    }
}

/// The edits that undo one transaction, and what is in their way.
@MainActor struct Revert {
    private let context: ManagedObjectContext
    private let model: CompiledModel
    /// The new objects in place of those that the transaction deleted, by their old numbers.
    private var returned: [ObjectNumber: ManagedObject] = [:]
    private(set) var conflicts: [String] = []
    /// A line for each object that is edited.
    private(set) var lines: [String] = []

    init(_ context: ManagedObjectContext, _ model: CompiledModel) {
        self.context = context
        self.model = model
    }

    /// Makes all edits in the context, or lists conflicts.
    mutating func prepare(_ entry: LogEntry) throws {
        guard let old = entry.model else {
            throw CommandFailure("the model of the transaction is no longer kept", code: 5)
        }
        let changes = entry.transaction.changes
        for change in changes where change.kind == .delete {
            guard let entity = entry.entity(of: change), model.entity(named: entity.name) != nil
            else {
                conflicts.append(
                    "\(entry.id(change.object)): the model has no such entity any more")
                continue
            }
            returned[change.object.number] = try context.insert(entity.name)
        }
        guard conflicts.isEmpty else { return }
        // Inserted objects are deleted last: links to it are undone by then.
        for change in changes where change.kind != .insert { try undo(change, entry, old) }
        for change in changes where change.kind == .insert { try delete(change, entry) }
    }

    /// Saves the edits and returns the position; if others changed or deleted an object meanwhile, records conflicts and returns nil.
    mutating func save() throws -> Position? {
        guard conflicts.isEmpty else { return nil }
        do {
            return try context.save()
        } catch let error as TandemError where error.code == .conflict {
            for conflict in context.details(of: error) {
                let change = conflict.theirs == nil ? "deleted" : "changed"
                conflicts.append("\(conflict.object): it was \(change) later")
            }
        } catch let error as TandemError where error.code == .unknownObject {
            conflicts.append(error.message)
        }
        return nil
    }

    /// Whether objects can be edited; records a conflict for each that others deleted after it was loaded.
    private mutating func areEditable(_ objects: ManagedObject...) -> Bool {
        let deleted = objects.filter(\.isDeleted)
        for object in deleted { addDeletion(of: "\(object.id)") }
        return deleted.isEmpty
    }

    private mutating func addDeletion(of id: String) {
        let conflict = "\(id): it was deleted later"
        if !conflicts.contains(conflict) { conflicts.append(conflict) }
    }

    private mutating func undo(
        _ change: Change, _ entry: LogEntry, _ old: CompiledModel
    ) throws {
        guard let entity = entry.entity(of: change) else {
            conflicts.append("\(entry.id(change.object)): its entity can't be read")
            return
        }
        let id = entry.id(change.object)
        guard let object = try returned[change.object.number] ?? existing(change.object, old) else {
            addDeletion(of: id)
            return
        }
        if let row = change.deleted {
            for property in entity.properties where !property.isToMany {
                let value = row.uncheckedValue(property.slot, in: entity)
                if !value.isNull || !entity.defaults[property.slot].isNull {
                    try set(value, property, of: object, old)
                }
            }
            lines.append("insert \(object.id), which was \(id)")
        } else {
            let after = object.snapshot
            for item in change.before {
                let property = entity.properties[item.slot]
                let expected = change.row?.uncheckedValue(item.slot, in: entity) ?? .null
                guard after[property.name] == expected else {
                    conflicts.append("\(id): \(property.name) was changed later")
                    continue
                }
                try set(item.value, property, of: object, old)
            }
            lines.append("update \(id)")
        }
        try undoLinks(change, entity, of: object, old)
    }

    private mutating func set(
        _ value: Value, _ property: CompiledProperty, of object: ManagedObject,
        _ old: CompiledModel
    ) throws {
        guard let present = object.entity.property(named: property.name) else {
            conflicts.append("\(object.id): the model has no property \(property.name) any more")
            return
        }
        // It follows from others, which are undone as well.
        if present.derivation != nil { return }
        guard let target = value.reference else {
            let content = try context.withContent(value)
            if areEditable(object) { object[property.name] = content }
            return
        }
        guard let other = try returned[target.number] ?? existing(target, old) else {
            conflicts.append(
                "\(object.id): \(property.name) led to \(old.id(of: target)), which was deleted")
            return
        }
        if areEditable(object, other) { object.setObject(other, for: property.name) }
    }

    /// Undoes the links whose other end is to-many; others follow from to-one relationships.
    private mutating func undoLinks(
        _ change: Change, _ entity: CompiledEntity, of object: ManagedObject, _ old: CompiledModel
    ) throws {
        for link in change.links {
            let property = entity.properties[link.slot]
            let hasMoved = change.links.contains {
                $0.slot == link.slot && $0.target == link.target && $0.isAdded != link.isAdded
            }
            if hasMoved {
                if link.isAdded {
                    conflicts.append(
                        "\(object.id): the order of \(property.name) can't be restored")
                }
                continue
            }
            guard property.relationship?.inverseToMany == true else { continue }
            guard object.entity.property(named: property.name) != nil else {
                conflicts.append(
                    "\(object.id): the model has no property \(property.name) any more")
                continue
            }
            guard let other = try returned[link.target.number] ?? existing(link.target, old) else {
                if link.isAdded { continue }
                conflicts.append(
                    "\(object.id): \(property.name) had \(old.id(of: link.target)), which was deleted"
                )
                continue
            }
            guard areEditable(object, other) else { continue }
            if link.isAdded {
                object.remove(other, from: property.name)
            } else {
                object.add(other, to: property.name)
            }
        }
    }

    private mutating func delete(_ change: Change, _ entry: LogEntry) throws {
        let id = entry.id(change.object)
        guard let old = entry.model, let entity = entry.entity(of: change),
            let object = try existing(change.object, old)
        else {
            addDeletion(of: id)
            return
        }
        guard object.version == entry.transaction.position else {
            conflicts.append("\(id): it was changed later")
            return
        }
        for property in entity.properties where property.isToMany {
            let known = Set(
                change.links.filter { $0.slot == property.slot }.map(\.target.number))
            let others = object.orderedObjects(property.name).filter {
                !known.contains($0.id.number)
            }
            if let other = others.first {
                conflicts.append("\(id): \(property.name) has \(other.id) since")
            }
        }
        guard areEditable(object) else { return }
        context.delete(object)
        lines.append("delete \(id)")
    }

    /// The object as it is now, loaded; nil if there is none.
    private func existing(
        _ reference: ObjectReference, _ old: CompiledModel
    ) throws -> ManagedObject? {
        do {
            return try context.existingObject(with: old.id(of: reference))
        } catch let error as TandemError
            where [.unknownObject, .unknownEntity].contains(error.code)
        {
            return nil
        }
    }
}
