import Tandem

/// An object at a position.
struct ObjectState {
    /// A property, with what a to-one or an attribute holds, or the members that are known.
    struct Property {
        var name: String
        var isToMany: Bool
        var value: Value = .null
        var members: [ObjectReference] = []
    }

    let id: ObjectID
    /// The model that references are of.
    var model: CompiledModel
    /// The last transaction that did something to it.
    var changedAt: UInt64
    /// By name.
    var properties: [Property]
    /// Whether no member is missing.
    var isWhole: Bool
    /// Where the log begins, when that is behind its insertion and the store told the rest.
    var logBegins: UInt64?
    let names: TodaysNames

    /// An object as it was at a position that people gave, or is.
    ///
    /// Throws ``CommandFailure`` that says when it came or went, if it was not there, or that nobody can tell any more.
    init(_ object: String, _ source: any LogSource, at: String?) throws {
        let story = try ObjectStory(object, source)
        let top = try at.map { try SourceOptions.number($0, source) } ?? source.bounds().last
        let told = try ToldObject(story, through: top)
        if let gone = told.deletedAt { throw CommandFailure("\(story.id) was deleted at \(gone)") }
        let names = try TodaysNames(source)
        if told.isWhole, let state = told.state(names) {
            self = state
        } else if let stored = try source.stored(story, at: top) {
            self.init(story.id, stored, names)
            logBegins = told.oldest
        } else if let state = told.state(names) {
            self = state
        } else {
            throw try Self.absence(story, top, told.oldest)
        }
    }

    init(
        _ id: ObjectID, _ names: TodaysNames, _ model: CompiledModel, changedAt: UInt64,
        isWhole: Bool, _ properties: [Property]
    ) {
        (self.id, self.names, self.model) = (id, names, model)
        (self.changedAt, self.isWhole) = (changedAt, isWhole)
        self.properties = properties.sorted { $0.name < $1.name }
    }

    private init(_ id: ObjectID, _ stored: StoredObjectState, _ names: TodaysNames) {
        self.init(
            id, names, stored.model, changedAt: stored.version, isWhole: true, stored.properties)
    }

    /// Why there is nothing: it came later, or never.
    private static func absence(
        _ story: ObjectStory, _ top: UInt64, _ oldest: UInt64
    ) throws -> CommandFailure {
        var first: ObjectStory.Step?
        try story.forwards(after: top) { step in
            first = step
            return false
        }
        guard let first else {
            return CommandFailure(
                "there is no \(story.id): the store has none, and no transaction from \(oldest) on, "
                    + "the oldest that is kept, changed one")
        }
        let position = first.entry.transaction.position
        guard first.change.kind == .insert else {
            return CommandFailure(
                "what \(story.id) was at \(top) is no longer kept; it was changed at \(position), "
                    + "and the log begins at \(oldest)", code: 5)
        }
        return CommandFailure(
            "\(story.id) was not there yet at \(top); it was inserted at \(position)")
    }

    // MARK: Output

    /// An object for `-o json`.
    var json: JSON {
        var shown: [String: JSON] = [:]
        for property in properties {
            shown[property.name] =
                property.isToMany
                ? .array(property.members.map { .string(names.id($0, model).description) })
                : names.json(property.value, model)
        }
        var members: [String: JSON] = [
            "id": .string(id.description), "entity": .string(id.entity), "values": .object(shown),
            "version": .int(Int64(clamping: changedAt)), "isWhole": .bool(isWhole),
        ]
        members["logBegins"] = logBegins.map { .int(Int64(clamping: $0)) }
        return .object(members)
    }

    /// A line for each property.
    func lines(_ look: LogLook) -> [String] {
        let width = properties.map(\.name.count).max() ?? 0
        let remark =
            logBegins.map { "; the log begins later, at \($0), so this is what the store has" }
            ?? ""
        return [look.style.paint("\(id)", .name) + " as of \(changedAt)\(remark)"]
            + properties.map { property in
                let words =
                    property.isToMany
                    ? property.members.map { text(.reference($0), look) }.joined(separator: ", ")
                        + (isWhole ? "" : " …")
                    : text(property.value, look)
                return "    \(property.name.padded(to: width + 1))\(words)".trimmed
            }
    }

    private func text(_ value: Value, _ look: LogLook) -> String {
        guard let reference = value.reference else { return names.json(value, model).text }
        let name = look.nameOf(ObjectName(object: reference, position: changedAt))
        return names.id(reference, model).description + (name.map { " \($0)" } ?? "")
    }
}
