import Tandem

/// The state of an object at a position.
struct ObjectState {
    /// A property with its value, or with the known members of a to-many relationship.
    struct Property {
        var name: String
        var isToMany: Bool
        var value: PropertyValue = .null
        var members: [ObjectReference] = []
    }

    let id: ObjectID
    /// The model that maps the references in the properties to ids.
    var model: CompiledModel
    /// The position of the last transaction that changed the object.
    var changedAt: UInt64
    /// The properties, sorted by name.
    var properties: [Property]
    /// Whether all members of to-many relationships are known.
    var isComplete: Bool
    /// The first position of the log, if the object was inserted earlier and its values come from
    /// the store.
    var logBegins: UInt64?
    /// The position of the last migration after the object's last row, if the store provided the
    /// migrated values.
    var migratedAt: UInt64?
    /// The position of the first migration after the object's last row, if the migrated values are
    /// unknown.
    var unknownMigrationAt: UInt64?
    let names: CurrentNames

    /// Reads an object at a position given by the user, or at the end.
    ///
    /// Throws ``CommandFailure`` if the object did not exist at the position; the message contains
    /// the position of its insertion or deletion if that is known. Also throws if the state is no
    /// longer in the journal.
    init(_ object: String, _ source: any LogSource, at: String?) throws {
        let history = try ObjectHistory(object, source)
        let top = try at.map { try SourceOptions.number($0, source) } ?? source.bounds().last
        let reconstructed = try ReconstructedObject(history, through: top)
        if let deletedAt = reconstructed.deletedAt {
            throw CommandFailure("\(history.id) was deleted at position \(deletedAt)")
        }
        let names = try CurrentNames(source)
        if reconstructed.isComplete, let state = reconstructed.state(names) {
            self = try Self.migrated(state, reconstructed, source, history, top, names)
        } else if let stored = try source.stored(history, at: top) {
            self.init(history.id, stored, names)
            logBegins = reconstructed.oldest
        } else if let state = reconstructed.state(names) {
            self = state
        } else {
            throw try Self.notFound(history, top, reconstructed.oldest)
        }
    }

    /// Applies the migrations between the object's last row and a position.
    ///
    /// The journal does not record their effect on objects, so the state is read from the store.
    private static func migrated(
        _ state: ObjectState, _ reconstructed: ReconstructedObject, _ source: any LogSource,
        _ history: ObjectHistory,
        _ top: UInt64, _ names: CurrentNames
    ) throws -> ObjectState {
        guard let model = reconstructed.model, let rowAt = reconstructed.rowAt,
            let newest = try source.newestModel(), model.version < newest.version
        else { return state }
        let migrations = try source.migrations()
        let passed = migrations.filter { rowAt < $0.position && $0.position <= top }
        guard let first = passed.first, let last = passed.last else { return state }
        // The store can be read at positions after its last migration, but not before it.
        guard last.position == migrations.last?.position,
            let stored = try source.stored(history, at: top)
        else {
            var state = state
            state.unknownMigrationAt = first.position
            return state
        }
        var found = ObjectState(history.id, stored, names)
        found.changedAt = state.changedAt
        if !found.isSame(as: state) { found.migratedAt = last.position }
        return found
    }

    /// Returns whether all properties are equal; the order of members is ignored.
    private func isSame(as other: ObjectState) -> Bool {
        properties.count == other.properties.count
            && zip(properties, other.properties).allSatisfy {
                $0.name == $1.name && $0.isToMany == $1.isToMany && $0.value == $1.value
                    && Set($0.members) == Set($1.members)
            }
    }

    init(
        _ id: ObjectID, _ names: CurrentNames, _ model: CompiledModel, changedAt: UInt64,
        isComplete: Bool, _ properties: [Property]
    ) {
        (self.id, self.names, self.model) = (id, names, model)
        (self.changedAt, self.isComplete) = (changedAt, isComplete)
        self.properties = properties.sorted { $0.name < $1.name }
    }

    private init(_ id: ObjectID, _ stored: StoredObjectState, _ names: CurrentNames) {
        self.init(
            id, names, stored.model, changedAt: stored.version, isComplete: true, stored.properties)
    }

    /// Returns the failure for an object that was not found: it was inserted later, or never.
    private static func notFound(
        _ history: ObjectHistory, _ top: UInt64, _ oldest: UInt64
    ) throws -> CommandFailure {
        var first: ObjectHistory.Step?
        try history.forwards(after: top) { step in
            first = step
            return false
        }
        guard let first else {
            return CommandFailure(
                "\(history.id) does not exist, neither in the store nor in the journal, which begins at "
                    + "position \(oldest)")
        }
        let position = first.entry.transaction.position
        guard first.change.kind == .insert else {
            return CommandFailure(
                "the state of \(history.id) at position \(top) is no longer in the journal, which begins at "
                    + "\(oldest); the object was next changed at \(position)", code: 5)
        }
        return CommandFailure(
            "\(history.id) did not exist at position \(top); it was inserted at \(position)")
    }

    // MARK: Output

    /// The JSON object for `-o json`.
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
            "version": .int(Int64(clamping: changedAt)), "isWhole": .bool(isComplete),
        ]
        members["migratedAt"] = migratedAt.map { .int(Int64(clamping: $0)) }
        members["beforeMigration"] = unknownMigrationAt.map { .int(Int64(clamping: $0)) }
        members["logBegins"] = logBegins.map { .int(Int64(clamping: $0)) }
        return .object(members)
    }

    /// Returns a heading, and a line for each property.
    func lines(_ logStyle: LogStyle) -> [String] {
        let width = properties.map(\.name.count).max() ?? 0
        return [logStyle.style.paint("\(id)", .name) + " as of \(changedAt)\(remark)"]
            + properties.map { property in
                let words =
                    property.isToMany
                    ? property.members.map { text(.reference($0), logStyle) }.joined(
                        separator: ", ")
                        + (isComplete ? "" : " …")
                    : text(property.value, logStyle)
                return "    \(property.name.padded(to: width + 1))\(words)".trimmed.printable
            }
    }

    /// A remark on the origin of the values.
    private var remark: String {
        if let logBegins {
            let why =
                logBegins > 1
                ? "the journal begins at \(logBegins)"
                : "the beginning of the journal cannot be read"
            return "; the values come from the store, because \(why)"
        }
        if let migratedAt { return ", migrated at \(migratedAt)" }
        if let unknownMigrationAt {
            return ", before the migration at \(unknownMigrationAt), "
                + "whose effect on the object is not recorded"
        }
        return ""
    }

    private func text(_ value: PropertyValue, _ logStyle: LogStyle) -> String {
        guard let reference = value.reference else { return names.json(value, model).text }
        let name = logStyle.nameOf(ObjectName(object: reference, position: changedAt))
        return names.id(reference, model).description + (name.map { " \($0)" } ?? "")
    }
}
