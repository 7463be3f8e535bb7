import Tandem

/// An assignment to a property: `name=value`, `name+=value` or `name-=value`.
struct Assignment {
    enum Operation: String, CaseIterable {
        case add = "+="
        case remove = "-="
        case set = "="
    }

    let property: String
    let operation: Operation
    let text: String

    /// Parses an argument; throws ``CommandFailure`` if it has no operator.
    init(_ argument: String) throws {
        guard let sign = argument.firstIndex(of: "=") else {
            throw CommandFailure(
                "`\(argument)` is not an assignment; give NAME=VALUE, or NAME= for null",
                code: 2)
        }
        let before = argument[..<sign]
        operation = before.hasSuffix("+") ? .add : before.hasSuffix("-") ? .remove : .set
        property = String(operation == .set ? before : before.dropLast())
        text = String(argument[argument.index(after: sign)...])
    }
}

/// Builds the op of a save from assignments, in the bridge's format.
@MainActor struct AssignedOp {
    private let context: ManagedObjectContext
    private let model: CompiledModel
    private let entity: CompiledEntity
    private let isInsert: Bool
    private var members: [String: [String: JSON]] = [:]
    private var assigned: Set<String> = []

    /// Creates an op without assignments; an insert can't remove members.
    init(
        _ context: ManagedObjectContext, _ model: CompiledModel, _ entity: String,
        isInsert: Bool = false
    ) throws {
        guard let entity = model.entity(named: entity) else {
            throw model.unknownEntity(entity)
        }
        self.context = context
        self.model = model
        self.entity = entity
        self.isInsert = isInsert
    }

    /// Returns the op; `subject` is the value of the key `verb`: an entity or an object's id.
    func json(_ verb: String, _ subject: String) -> JSON {
        .object(members.mapValues { .object($0) }.merging([verb: .string(subject)]) { $1 })
    }

    mutating func add(_ assignment: Assignment) throws {
        let name = assignment.property
        guard let property = entity.property(named: name) else {
            throw entity.unknownProperty(name)
        }
        if let problem = property.settingProblem {
            throw CommandFailure("\(entity.name).\(name): \(problem)", code: 2)
        }
        if property.isToMany {
            try addLinks(assignment, property)
            return
        }
        guard assignment.operation == .set else {
            throw CommandFailure(
                "\(entity.name).\(name) is not a to-many relationship; give \(name)=VALUE", code: 2)
        }
        guard assigned.insert(name).inserted else {
            throw CommandFailure(
                "\(entity.name).\(name) is set twice; give one value", code: 2)
        }
        members["set", default: [:]][name] =
            property.relationship == nil
            ? try value(assignment.text, property)
            : assignment.text.isEmpty ? .null : try link(assignment.text, property)
    }

    private mutating func addLinks(_ assignment: Assignment, _ property: CompiledProperty) throws {
        guard !isInsert || assignment.operation != .remove else {
            throw CommandFailure(
                "a new \(entity.name) has no \(property.name) to remove; leave out \(property.name)-=",
                code: 2)
        }
        // A new object has no members yet, so adding members sets all of them.
        let verb =
            isInsert || assignment.operation == .set
            ? "set" : assignment.operation == .add ? "add" : "remove"
        var links = members[verb]?[property.name]?.array ?? []
        if !assignment.text.isEmpty { links.append(try link(assignment.text, property)) }
        members[verb, default: [:]][property.name] = .array(links)
    }

    private func value(_ text: String, _ property: CompiledProperty) throws -> JSON {
        guard let type = property.attribute?.type, !text.isEmpty else { return .null }
        if text == "\"\"", type == .string { return .string("") }
        guard let value = CellValue.read(text, type), property.accepts(value) else {
            throw CommandFailure(
                "\(property.name): " + type.mismatch(JSON.string(text).text)
                    + CellValue.forms(type), code: 2)
        }
        return ValueText.json(value, model)
    }

    /// Returns the id of an object given as `Team/3` or, by a unique attribute of the destination,
    /// as `name:Qatar`.
    private func link(_ text: String, _ property: CompiledProperty) throws -> JSON {
        if ObjectID(text) != nil { return .string(text) }
        guard let destination = (property.relationship?.destination).flatMap(model.entity(tagged:))
        else { return .null }
        return .string(
            try UniqueSearch(context, destination).id(text, for: property.name).description)
    }
}

/// Finds an object by a unique attribute.
@MainActor struct UniqueSearch {
    private let context: ManagedObjectContext
    private let entity: CompiledEntity

    init(_ context: ManagedObjectContext, _ entity: CompiledEntity) {
        self.context = context
        self.entity = entity
    }

    /// Returns the id of an object given as `name:Qatar`; throws ``CommandFailure`` if there is
    /// none.
    func id(_ text: String, for property: String) throws -> ObjectID {
        let names = entity.uniqueness.filter { $0.properties.count == 1 }.map { $0.properties[0] }
        guard let colon = text.firstIndex(of: ":"), names.contains(String(text[..<colon])),
            let type = entity.property(named: String(text[..<colon]))?.attribute?.type
        else {
            let forms = ["\(entity.name)/3"] + names.map { "\($0):VALUE" }
            throw CommandFailure(
                "\(property) refers to objects of \(entity.name), not to \(text); give "
                    + forms.joined(separator: " or "), code: 2)
        }
        let name = String(text[..<colon])
        let key = String(text[text.index(after: colon)...])
        guard let value = CellValue.read(key, type) else {
            throw CommandFailure(
                "\(name): " + type.mismatch(JSON.string(key).text), code: 2)
        }
        var request = FetchRequest(entity: entity.name)
        request.predicate = try ObjectPredicate(format: "\(name) = %@", arguments: [.value(value)])
        guard let id = try context.fetchIDs(request).first else {
            throw CommandFailure("there is no \(entity.name) whose \(name) is \(key)")
        }
        return id
    }
}
