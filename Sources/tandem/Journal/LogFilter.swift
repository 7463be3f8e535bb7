import FoundationEssentials
import Tandem
import TandemIO

/// A filter for transactions and their changes.
///
/// The daemon evaluates the conditions of ``HistoryFilter``, and sends only transactions that
/// satisfy them. The filter evaluates all conditions again, so that the result is the same for a
/// directory and for a daemon.
struct LogFilter {
    /// Only changes to objects of these entities and their subentities; other changes are removed.
    var entities: [String] = []
    /// Only transactions that change one of these objects.
    var objects: [ObjectID] = []
    /// Only transactions that change one of these properties, with or without an entity's name.
    var properties: [PropertyName] = []
    /// Only transactions saved by one of these authors.
    var authors: [String] = []
    /// Only transactions saved by a process of one of these units.
    var units: [String] = []
    /// Only transactions saved at this time or later, in microseconds since 1970.
    var since: Int64?
    /// Only transactions saved before this time, in microseconds since 1970.
    var until: Int64?
    var matches: MatchGroups?
    /// A pattern to find in ``ChangeText/everything``.
    var pattern: Regex<AnyRegexOutput>?
    /// The current names, which also apply to transactions from before a rename.
    var names = TransactionNames()

    /// The name of a property, as `wins` or `Team.wins`.
    struct PropertyName {
        var entity: String?
        var name: String

        init(_ text: String) {
            let parts = text.split(separator: ".", maxSplits: 1)
            entity = parts.count == 2 ? String(parts[0]) : nil
            name = String(parts.last ?? "")
        }

        /// Creates the name of a property of any entity.
        init(whole name: String) { self.name = name }
    }

    /// Whether the filter selects changes, and so excludes model installations.
    private var asksForChanges: Bool {
        !entities.isEmpty || !objects.isEmpty || !properties.isEmpty
    }

    /// Whether the filter contains names of entities or properties.
    var usesNames: Bool { asksForChanges || matches != nil }

    /// Returns the transaction reduced to the selected changes, or nil if it does not match.
    func filtered(_ transaction: Transaction, _ model: CompiledModel?) -> Transaction? {
        guard meetsHeader(transaction) else { return nil }
        var part = transaction
        if case .model = transaction.content {
            if asksForChanges { return nil }
        } else if asksForChanges {
            guard let changes = changes(transaction, model) else { return nil }
            part.content = .objects(changes)
        }
        if let matches, !matches.matches(part, names.with(model)) { return nil }
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

    /// Returns the changes of the selected entities, or nil if none of them changes a selected
    /// object and property.
    private func changes(_ transaction: Transaction, _ model: CompiledModel?) -> [Change]? {
        let names = names.with(model)
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
        _ change: Change, _ model: CompiledModel?, _ names: TransactionNames
    ) -> Bool {
        guard let model, let entity = model.entity(tagged: change.object.tag) else { return false }
        return properties.contains { property in
            if let name = property.entity, !names.includes(name, entity.tag) { return false }
            guard let slot = names.slot(of: property.name, in: entity) else { return false }
            return change.kind == .delete || change.changed.contains(slot)
        }
    }

    // MARK: The daemon's filter

    /// Returns the filter for a daemon that has the given model.
    ///
    /// Throws `unknownEntity` or `unknownProperty` if the model lacks one of the names.
    func request(_ model: CompiledModel) throws -> HistoryFilter {
        try check(model)
        var filter = HistoryFilter()
        filter.entities = entities
        // In the request, options take precedence over matches; ``filtered(_:_:)`` evaluates both.
        let named = objects.isEmpty ? matched : objects
        filter.objects = named.flatMap { Self.everyEntity(of: $0, model) }
        filter.authors = authors.isEmpty ? (matches?.only(.author) ?? []).sorted() : authors
        for property in properties { ask(property, model, &filter) }
        filter.since = since.map { Date(timeIntervalSince1970: Double($0) / 1_000_000) }
        filter.until = until.map { Date(timeIntervalSince1970: Double($0) / 1_000_000) }
        return filter
    }

    /// The objects named by matches; a transaction must change at least one of them.
    private var matched: [ObjectID] {
        (matches?.only(.object) ?? []).sorted().compactMap { ObjectID($0) }
    }

    /// Returns the id with each subentity's name, because the given id may name a superentity.
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
