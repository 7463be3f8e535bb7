import ArgumentParser
import Tandem

/// `tandem insert`: inserts one object.
struct InsertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "insert", abstract: "Insert one object and print its id.",
        discussion: """
            Each NAME=VALUE sets a property; the model determines how VALUE is parsed. NAME= sets null, and NAME='""' \
            an empty string. A link is an id, such as team=Team/3, or a unique attribute of its destination, such as \
            team=name:Qatar. Members of a to-many relationship are added one by one, with players+=Player/4.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The entity.")
    var entity: String

    @Argument(help: ArgumentHelp("The values to set.", valueName: "name=value"))
    var values: [String] = []

    func run() throws {
        let (global, entity, values) = (global, entity, values)
        try onMainActor {
            let edit = try Edit(global, "insert")
            let id = try edit.save(entity, values, isInsert: true) { $0.json("insert", entity) }
            printLine(id?.description ?? "")
        }
    }
}

/// `tandem update`: changes one object.
struct UpdateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update", abstract: "Change one object and print its id.",
        discussion: """
            Each NAME=VALUE sets a property as with `tandem insert`. For a to-many relationship, NAME+=OBJECT adds a \
            member, NAME-=OBJECT removes one, NAME=OBJECT replaces all of them, and NAME= removes all.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The object, such as Team/3.")
    var object: String

    @Argument(help: ArgumentHelp("The changes.", valueName: "name=value"))
    var values: [String]

    func run() throws {
        let (global, object, values) = (global, object, values)
        try onMainActor {
            let edit = try Edit(global, "update")
            let id = try edit.existing(object)
            _ = try edit.save(id.entity, values) { $0.json("update", id.description) }
            printLine(id.description)
        }
    }
}

/// `tandem delete`: deletes one object.
struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete one object and print its id.",
        discussion:
            "The delete rules of its relationships determine what else is deleted, or prevent the deletion."
    )

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The object, such as Team/3.")
    var object: String

    func run() throws {
        let (global, object) = (global, object)
        try onMainActor {
            let edit = try Edit(global, "delete")
            let id = try edit.existing(object)
            _ = try edit.save(id.entity, []) { _ in
                .object(["delete": .string(id.description)])
            }
            printLine(id.description)
        }
    }
}

/// The save of `tandem insert`, `update` or `delete`.
@MainActor private struct Edit {
    private let context: ManagedObjectContext
    private let model: CompiledModel

    init(_ global: GlobalOptions, _ verb: String) throws {
        let container = global.container(author: "tandem \(verb)")
        model = try container.compiledModel()
        context = container.makeContext(name: verb)
    }

    /// Returns the id of an existing object.
    ///
    /// The object is loaded, so that the save detects concurrent changes.
    func existing(_ text: String) throws -> ObjectID {
        guard let id = ObjectID(text) else {
            throw CommandFailure.notAnObject(text)
        }
        return try context.existingObject(with: id).id
    }

    /// Saves an op; returns the id of the object if one was inserted.
    func save(
        _ entity: String, _ values: [String], isInsert: Bool = false,
        _ json: (AssignedOp) -> JSON
    ) throws -> ObjectID? {
        var op = try AssignedOp(context, model, entity, isInsert: isInsert)
        for value in values { try op.add(try Assignment(value)) }
        var ops = SaveOps(context: context) { json in
            guard let id = json.string.flatMap({ ObjectID($0) }) else {
                throw TandemError(.usage, CommandFailure.notAnObjectID(json.text))
            }
            return id
        }
        do {
            try ops.carryOut(json(op))
            try context.tools.save(
                policy: nil, saveID: nil, author: nil, contentHash: nil, inserts: ops.inserts)
        } catch let error as TandemError {
            throw Self.failure(error)
        }
        return context.tools.lastReceipt?.inserted.first.flatMap { $0 } ?? ops.inserts.first?.id
    }

    /// Returns the failure, with each validation problem of the save.
    private static func failure(_ error: TandemError) -> CommandFailure {
        var failure = CommandFailure(error)
        guard !error.problems.isEmpty else { return failure }
        failure.message = error.problems.map { problem in
            (problem.property.map { "\($0): " } ?? "") + problem.message
        }.joined(separator: "; ")
        return failure
    }
}
