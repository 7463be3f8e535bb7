import FoundationEssentials
import Tandem
import TandemIO

/// Which transactions are wanted, and which part of them.
///
/// The daemon looks at what ``HistoryFilter`` can say, so that the rest does not travel; everything is judged here once more, so
/// that a directory and a daemon give the same.
struct LogFilter {
    /// Only changes of these and their subentities; the rest of a transaction is left out.
    var entities: [String] = []
    /// Changing one of these.
    var objects: [ObjectID] = []
    /// Changing one of these: a name, or an entity and a name.
    var properties: [PropertyName] = []
    /// Saved by one of these.
    var authors: [String] = []
    /// Saved by a process of one of these units.
    var units: [String] = []
    /// Not saved before, in microseconds since 1970.
    var since: Int64?
    /// Saved before.
    var until: Int64?
    var matches: MatchGroups?
    /// Found in what ``ChangeText/everything`` says.
    var pattern: Regex<AnyRegexOutput>?
    /// By whose names all is asked for; a transaction from before a rename has others.
    var names = NewestNames()

    /// A property as `wins` or `Team.wins`.
    struct PropertyName {
        var entity: String?
        var name: String

        init(_ text: String) {
            let parts = text.split(separator: ".", maxSplits: 1)
            entity = parts.count == 2 ? String(parts[0]) : nil
            name = String(parts.last ?? "")
        }

        /// A property of any entity.
        init(whole name: String) { self.name = name }
    }

    /// Whether it asks for changes, which the installation of a model has none of.
    private var asksForChanges: Bool {
        !entities.isEmpty || !objects.isEmpty || !properties.isEmpty
    }

    /// Whether it asks for anything by the name of an entity or property.
    var asksForNames: Bool { asksForChanges || matches != nil }

    /// The wanted part of a transaction; nil for nothing.
    func part(of transaction: Transaction, _ model: CompiledModel?) -> Transaction? {
        guard meetsHeader(transaction) else { return nil }
        var part = transaction
        if case .model = transaction.content {
            if asksForChanges { return nil }
        } else if asksForChanges {
            guard let changes = changes(transaction, model) else { return nil }
            part.content = .objects(changes)
        }
        if let matches, !matches.meets(part, names.beside(model)) { return nil }
        if let pattern {
            let entry = LogEntry(transaction: part, cursor: nil, model: model)
            guard ChangeText(entry: entry).everything.contains(pattern) else { return nil }
        }
        return part
    }

    private func meetsHeader(_ transaction: Transaction) -> Bool {
        if let since, transaction.time < since { return false }
        if let until, transaction.time >= until { return false }
        if !authors.isEmpty, !authors.contains(transaction.principal.author) { return false }
        let unit = transaction.principal.unit
        return units.isEmpty || units.contains { SystemdUnits.matches($0, recorded: unit) }
    }

    /// The changes of the wanted entities, if one of them is of a wanted object and property.
    private func changes(_ transaction: Transaction, _ model: CompiledModel?) -> [Change]? {
        let names = names.beside(model)
        let changes = transaction.changes.filter { change in
            entities.isEmpty || entities.contains { names.includes($0, change.object.tag) }
        }
        let isWanted = changes.contains { change -> Bool in
            let isObject = objects.contains {
                $0.number == change.object.number && names.includes($0.entity, change.object.tag)
            }
            return (objects.isEmpty || isObject)
                && (properties.isEmpty || alters(change, model, names))
        }
        return isWanted ? changes : nil
    }

    private func alters(
        _ change: Change, _ model: CompiledModel?, _ names: NewestNames
    ) -> Bool {
        guard let model, let entity = model.entity(tagged: change.object.tag) else { return false }
        return properties.contains { property in
            if let name = property.entity, !names.includes(name, entity.tag) { return false }
            guard let slot = names.slot(of: property.name, in: entity) else { return false }
            return change.kind == .delete || change.changed.contains(slot)
        }
    }

    // MARK: The daemon's part

    /// What a daemon with a model is asked; throws `usage` for names that the model has not.
    func request(_ model: CompiledModel) throws -> HistoryFilter {
        try check(model)
        var filter = HistoryFilter()
        filter.entities = entities
        // Two lists of objects or authors that differ are for here.
        let named = objects.isEmpty ? matched : objects
        filter.objects = named.flatMap { Self.everyEntity(of: $0, model) }
        filter.authors = authors.isEmpty ? (matches?.only(.author) ?? []).sorted() : authors
        for property in properties { ask(property, model, &filter) }
        filter.since = since.map { Date(timeIntervalSince1970: Double($0) / 1_000_000) }
        filter.until = until.map { Date(timeIntervalSince1970: Double($0) / 1_000_000) }
        return filter
    }

    /// The objects that all transactions have to change by their matches.
    private var matched: [ObjectID] {
        (matches?.only(.object) ?? []).sorted().compactMap { ObjectID($0) }
    }

    /// An object may be named by an entity that its own inherits from; its number is its own in any case.
    private static func everyEntity(of id: ObjectID, _ model: CompiledModel) -> [ObjectID] {
        (model.entity(named: id.entity)?.descendants ?? []).compactMap { tag in
            model.entity(tagged: tag).map { ObjectID(entity: $0.name, number: id.number) }
        }
    }

    private func ask(
        _ property: PropertyName, _ model: CompiledModel, _ filter: inout HistoryFilter
    ) {
        let owners = model.entities.filter {
            $0.slot(of: property.name) != nil && (property.entity ?? $0.name) == $0.name
        }
        for owner in owners { filter.properties[owner.name, default: []].append(property.name) }
    }
}
