import ArgumentParser
import Tandem

/// `tandem revert`: undoes a transaction with a new save.
struct RevertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revert", abstract: "Undo a transaction with a new save.",
        discussion: """
            Inserted objects are deleted, and values and links are restored. Deleted objects are inserted again, with \
            new ids and as the last members of ordered relationships. A later change of the same value is a conflict, \
            and so is a unique value that another object has now. If there are conflicts, all are listed, nothing is \
            saved, and the exit code is 1. A transaction can be reverted once; to revert it again, revert its revert \
            first. The save id of a revert contains the position of the reverted transaction.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The position of the transaction.")
    var position: String

    @Flag(name: .customLong("dry-run"), help: "Show what would change, and save nothing.")
    var isDryRun = false

    func run() throws {
        let (global, text, isDryRun) = (global, position, isDryRun)
        try onMainActor {
            let source = DaemonSource(global.container())
            let run = try RevertRun(
                of: try SourceOptions.number(text, source), isDryRun: isDryRun, source,
                global.container(author: "tandem revert"))
            try run.finish()
        }
    }
}

/// One run of `tandem revert`: prepares the edits, saves them and prints them.
@MainActor final class RevertRun {
    private let number: UInt64
    private let isDryRun: Bool
    private let source: any LogSource
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private let log: RevertLog
    private var revert: Revert

    /// Reads the transaction and all later ones, and makes the edits in a new context.
    init(
        of number: UInt64, isDryRun: Bool, _ source: any LogSource,
        _ container: PersistentContainer
    ) throws {
        (self.number, self.isDryRun) = (number, isDryRun)
        (self.source, self.container) = (source, container)
        context = container.makeContext(name: "revert \(number)")
        revert = Revert(context, try container.compiledModel())
        let entry = try Self.entry(number, source)
        log = try RevertLog(entry, source)
        try revert.prepare(entry, log, isDryRun: isDryRun)
    }

    /// Saves the edits, except in a dry run, and prints them; throws a failure if there are
    /// conflicts.
    func finish() throws {
        if revert.conflicts.isEmpty, !context.hasChanges {
            return printLine("nothing to revert: later transactions undid all changes")
        }
        let saved = isDryRun ? nil : try revert.save(log)
        try refuse(revert.conflicts, "nothing was saved")
        if let saved, let conflict = try log.conflict(before: saved.number, source) {
            try refuse([conflict], try undo(saved.number))
        }
        revert.lines.forEach(printLine)
        guard let saved else { return printLine("nothing was saved (--dry-run)") }
        printLine("reverted transaction \(number) by transaction \(saved.number)")
    }

    /// Prints conflicts and throws a failure that says what was saved; returns if there are none.
    private func refuse(_ conflicts: [String], _ outcome: String) throws {
        guard !conflicts.isEmpty else { return }
        conflicts.forEach { printLine("conflict: \($0)") }
        throw CommandFailure(
            "transaction \(number) cannot be reverted: "
                + "\(Quantity.count(conflicts.count, "conflict")); \(outcome)")
    }

    /// Reverts the revert at position `own`, and returns a description of the outcome.
    private func undo(_ own: UInt64) throws -> String {
        let run = try RevertRun(of: own, isDryRun: false, source, container)
        guard let undone = try run.revert.save(run.log) else {
            return "transaction \(own) was saved and could not be undone; "
                + "`tandem revert \(own)` lists the conflicts"
        }
        return "transaction \(own), which reverted it, was undone by transaction \(undone.number)"
    }

    private static func entry(_ number: UInt64, _ source: any LogSource) throws -> LogEntry {
        var found: LogEntry?
        guard number > 0 else {
            throw CommandFailure("there is no transaction 0; the first is 1", code: 2)
        }
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

/// The edits that undo one transaction, and the conflicts that prevent it.
@MainActor struct Revert {
    private let context: ManagedObjectContext
    private let model: CompiledModel
    /// The new objects that replace deleted objects, by the numbers of the deleted objects.
    private var returned: [ObjectNumber: ManagedObject] = [:]
    /// The ids of deleted objects, by the ids of the new objects that replace them.
    private var oldIDs: [ObjectID: String] = [:]
    private var laterLinks: Set<ChangedLink> = []
    private(set) var conflicts: [String] = []
    /// A line for each edited object.
    private(set) var lines: [String] = []

    init(_ context: ManagedObjectContext, _ model: CompiledModel) {
        self.context = context
        self.model = model
    }

    /// Makes all edits in the context, or records conflicts.
    ///
    /// In a dry run, the lines do not contain the ids of new objects.
    mutating func prepare(_ entry: LogEntry, _ log: RevertLog, isDryRun: Bool) throws {
        if let earlier = log.revert { return addRevert(of: log.position, by: earlier) }
        laterLinks = log.laterLinks
        guard let old = entry.model else {
            throw CommandFailure(
                "the model of transaction \(log.position) is no longer in the journal", code: 5)
        }
        let changes = entry.transaction.changes
        for change in changes where change.kind == .delete {
            guard let entity = model.entity(tagged: change.object.tag) else {
                conflicts.append(
                    "\(entry.id(change.object)): the model no longer has this entity")
                continue
            }
            let object = try context.insert(entity.name)
            returned[change.object.number] = object
            oldIDs[object.id] = entry.id(change.object)
            lines.append(
                "insert \(isDryRun ? "a \(entity.name)" : "\(object.id)"), "
                    + "formerly \(entry.id(change.object))")
        }
        guard conflicts.isEmpty else { return }
        // Inserted objects are deleted last, after links to them have been undone.
        for change in changes where change.kind != .insert { try undo(change, entry, old) }
        for change in changes where change.kind == .insert { try delete(change, entry) }
        guard conflicts.isEmpty else { return }
        try checkRules()
        try checkUniqueValues()
    }

    /// Saves the edits and returns the position.
    ///
    /// Records conflicts and returns nil if the daemon rejects the save because of later changes.
    mutating func save(_ log: RevertLog) throws -> Position? {
        guard conflicts.isEmpty else { return nil }
        do {
            let position = try context.tools.save(saveID: log.saveID, contentHash: log.contentHash)
            guard let receipt = context.tools.lastReceipt, receipt.isRepeat else { return position }
            addRevert(of: log.position, by: receipt.position.number)
        } catch let error as TandemError where error.code == .conflict {
            for conflict in context.details(of: error) {
                let change = conflict.theirs == nil ? "deleted" : "changed"
                conflicts.append("\(name(of: conflict.object)) was \(change) later")
            }
        } catch let error as TandemError where error.code == .uniqueness {
            try checkUniqueValues()
            // By now, the conflicting object may no longer have the value.
            if conflicts.isEmpty { add(error.problems) }
        } catch let error as TandemError where error.code == .validation {
            add(error.problems)
        } catch let error as TandemError
            where [.unknownObject, .deleteDenied].contains(error.code)
        {
            conflicts.append(error.message)
        }
        return nil
    }

    // MARK: Conflicts

    private mutating func addRevert(of position: UInt64, by revert: UInt64) {
        conflicts.append(RevertLog.alreadyReverted(position, by: revert))
    }

    private mutating func add(_ problems: [ValidationProblem]) {
        for problem in problems {
            let property = problem.property.map { "\($0): " } ?? ""
            conflicts.append("\(name(of: problem.object)): \(property)\(problem.message)")
        }
    }

    /// Returns the id to print for an object; for a new object, that is the id of the deleted
    /// object that it replaces.
    private func name(of id: ObjectID) -> String { oldIDs[id] ?? "\(id)" }

    /// Records a conflict for each value that violates a rule of the current model.
    private mutating func checkRules() throws {
        func problems(_ check: () throws -> Void) throws -> [ValidationProblem] {
            do { try check() } catch let error as TandemError where error.code == .validation {
                return error.problems
            }
            return []
        }
        for object in context.insertedObjects { add(try problems(object.validateForInsert)) }
        for object in context.updatedObjects { add(try problems(object.validateForUpdate)) }
    }

    /// Records a conflict for each unique value of an edited object that another object has taken.
    private mutating func checkUniqueValues() throws {
        for object in context.insertedObjects + context.updatedObjects {
            for constraint in object.entity.uniqueness {
                let values = constraint.properties.map { object[$0] }
                guard !values.contains(where: \.isNull) else { continue }
                let others = try context.fetchIDs(request(constraint, values))
                guard let other = others.first(where: { $0 != object.id }) else { continue }
                let names = constraint.properties.joined(separator: ",")
                let texts = values.map { $0.excerpt() }.joined(separator: ", ")
                conflicts.append(
                    "\(name(of: object.id)): \(names) \(texts) is taken by \(name(of: other))")
            }
        }
    }

    /// Returns a request for the objects with the given values for a uniqueness constraint.
    private func request(_ constraint: CompiledIndex, _ values: [PropertyValue]) throws
        -> FetchRequest<
            ManagedObject
        >
    {
        var request = FetchRequest(entity: model.entity(tagged: constraint.entity)?.name ?? "")
        request.predicate = try ObjectPredicate(
            format: values.map { _ in "%K = %@" }.joined(separator: " AND "),
            arguments: zip(constraint.properties, values).flatMap { name, value in
                [
                    PredicateArgument.keyPath(name),
                    value.reference.map { .object(model.id(of: $0)) } ?? .value(value),
                ]
            })
        return request
    }

    /// Returns whether all objects still exist; records a conflict for each object that was deleted
    /// after it was loaded.
    private mutating func areEditable(_ objects: ManagedObject...) -> Bool {
        let deleted = objects.filter(\.isDeleted)
        for object in deleted { addDeletion(of: "\(object.id)") }
        return deleted.isEmpty
    }

    private mutating func addDeletion(of id: String) {
        let conflict = "\(id) was deleted later"
        if !conflicts.contains(conflict) { conflicts.append(conflict) }
    }

    private mutating func undo(
        _ change: Change, _ entry: LogEntry, _ old: CompiledModel
    ) throws {
        guard let entity = entry.entity(of: change) else {
            conflicts.append("\(entry.id(change.object)): its entity cannot be read")
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
                    try set(value, property, of: object, id, old)
                }
            }
        } else {
            let after = object.snapshot
            var line = ["update \(id)"]
            for item in change.before {
                let property = entity.properties[item.slot]
                let expected = change.row?.uncheckedValue(item.slot, in: entity) ?? .null
                guard let present = present(property, of: object, id) else { continue }
                guard after[present.name] == expected else {
                    conflicts.append("\(id): \(present.name) was changed later")
                    continue
                }
                try set(item.value, property, of: object, id, old)
                let texts = [expected, item.value].map { ValueText.short($0, old) }
                line.append("\(present.name) \(texts[0])→\(texts[1])")
            }
            lines.append(line.joined(separator: " ").printable)
        }
        try undoLinks(change, entity, of: object, id, old)
    }

    /// Returns the corresponding property of the current model; records a conflict if there is
    /// none.
    private mutating func present(
        _ property: CompiledProperty, of object: ManagedObject, _ id: String
    ) -> CompiledProperty? {
        if let found = object.entity.property(named: property.name)
            ?? object.entity.properties.first(where: { $0.renamedFrom == property.name })
        {
            return found
        }
        conflicts.append("\(id): the model no longer has the property \(property.name)")
        return nil
    }

    private mutating func set(
        _ value: PropertyValue, _ property: CompiledProperty, of object: ManagedObject,
        _ id: String,
        _ old: CompiledModel
    ) throws {
        guard let present = present(property, of: object, id) else { return }
        // A derived value is computed from other properties, which are undone as well.
        if present.derivation != nil { return }
        guard let target = value.reference else {
            let content = try context.tools.withContent(value)
            guard areEditable(object) else { return }
            guard present.accepts(content) else {
                conflicts.append("\(id): the type of \(present.name) was changed later")
                return
            }
            object[present] = content
            return
        }
        guard let other = try returned[target.number] ?? existing(target, old) else {
            conflicts.append(
                "\(id): \(present.name) referred to \(old.id(of: target)), which was deleted")
            return
        }
        if areEditable(object, other) { object.setObject(other, for: present.name) }
    }

    /// Undoes the links whose inverse is to-many; undoing a to-one inverse undoes all other links.
    private mutating func undoLinks(
        _ change: Change, _ entity: CompiledEntity, of object: ManagedObject, _ id: String,
        _ old: CompiledModel
    ) throws {
        for link in change.links {
            let property = entity.properties[link.slot]
            let hasMoved = change.links.contains {
                $0.slot == link.slot && $0.target == link.target && $0.isAdded != link.isAdded
            }
            if hasMoved {
                if link.isAdded {
                    conflicts.append(
                        "\(id): the order of \(property.name) cannot be restored")
                }
                continue
            }
            guard property.relationship?.inverseToMany == true else { continue }
            guard let present = present(property, of: object, id) else { continue }
            guard let other = try returned[link.target.number] ?? existing(link.target, old) else {
                if link.isAdded { continue }
                conflicts.append(
                    "\(id): \(present.name) contained \(old.id(of: link.target)), which was deleted"
                )
                continue
            }
            guard areEditable(object, other) else { continue }
            if let changed = ChangedLink(change.object, link, in: entity),
                laterLinks.contains(changed)
            {
                conflicts.append(
                    "\(id): the link from \(present.name) to \(old.id(of: link.target)) was changed later"
                )
                continue
            }
            if link.isAdded {
                object.remove(other, from: present.name)
            } else {
                object.add(other, to: present.name)
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
            conflicts.append("\(id) was changed later")
            return
        }
        for property in entity.properties where property.isToMany {
            let known = Set(
                change.links.filter { $0.slot == property.slot }.map(\.target.number))
            guard let present = present(property, of: object, id) else { continue }
            let others = object.orderedObjects(present.name).filter {
                !known.contains($0.id.number)
            }
            if let other = others.first {
                conflicts.append("\(id): \(other.id) was added to \(present.name) later")
            }
        }
        guard areEditable(object) else { return }
        context.delete(object)
        lines.append("delete \(id)")
    }

    /// Loads the current object, or returns nil if there is none.
    private func existing(
        _ reference: ObjectReference, _ old: CompiledModel
    ) throws -> ManagedObject? {
        do {
            // The entity may have been renamed.
            let id =
                model.entity(tagged: reference.tag) == nil
                ? old.id(of: reference) : model.id(of: reference)
            return try context.existingObject(with: id)
        } catch let error as TandemError
            where [.unknownObject, .unknownEntity].contains(error.code)
        {
            return nil
        }
    }
}

extension CompiledProperty {
    /// The property's previous name, as declared in the model; nil if it was not renamed.
    fileprivate var renamedFrom: String? {
        attribute?.renamedFrom ?? relationship?.declaration.renamedFrom
    }
}
