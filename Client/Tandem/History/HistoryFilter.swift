public import FoundationEssentials
public import TandemModel
import TandemQuery
import TandemWire

/// Selects changes in the journal; a change has to satisfy every criterion that is set.
///
///     let wins = HistoryFilter(
///         entities: ["Team"], properties: ["Team": ["wins"]], authors: ["worldcup"])
///
/// The daemon evaluates the filter, and sends only the matching transactions. The names refer to
/// the newest model; changes saved under earlier names match as well.
public struct HistoryFilter: Hashable, Sendable {
    /// The entities whose changes are included, with their subentities; all if empty.
    package var entities: [String]
    /// The properties by entity, subentities included; all if empty.
    ///
    /// A change matches if it inserts, changes or deletes the value of one of these properties.
    package var properties: [String: [String]]
    /// The authors whose changes are included; all if empty.
    package var authors: [String]
    /// The objects whose changes are included; all if empty.
    package var objects: [ObjectID]
    /// The earliest save time.
    ///
    /// The daemon's clock may be set back, so times are not always in the order of positions.
    package var since: Date?
    /// The end of the range of save times, exclusive.
    package var until: Date?

    /// Creates a filter; without arguments, it matches every change.
    public init(
        entities: [String] = [], properties: [String: [String]] = [:], authors: [String] = [],
        objects: [ObjectID] = [], since: Date? = nil, until: Date? = nil
    ) {
        self.entities = entities
        self.properties = properties
        self.authors = authors
        self.objects = objects
        self.since = since
        self.until = until
    }

    /// Creates a filter for the changes of one class.
    ///
    /// Traps if a key path is not a single `@Managed` property.
    package init<Object: ManagedEntity>(
        _ type: Object.Type, properties: [PartialKeyPath<Object>], authors: [String]
    ) {
        let name = Object.entity.name
        let names = properties.map { HistoryValues<Object>.name(of: $0) }
        self.init(
            entities: [name], properties: names.isEmpty ? [:] : [name: names], authors: authors)
    }

    // MARK: Evaluation by the client

    /// Returns whether a single change of a matching transaction matches.
    ///
    /// The daemon does not evaluate properties under earlier models, and sends the other changes of
    /// a matching transaction as well.
    func matches(_ change: DecodedChange) -> Bool {
        guard objects.isEmpty || objects.contains(where: { $0.number == change.id.number }) else {
            return false
        }
        return properties.isEmpty
            || properties.contains { name, names in
                change.isOf(entity: name)
                    && (change.kind == .delete || names.contains(where: change.changed.contains))
            }
    }

    // MARK: Translation for the daemon

    func request(
        after number: UInt64, through end: UInt64, limit: UInt32, _ model: CompiledModel
    ) throws(TandemError) -> HistoryRequest {
        var tags: [EntityTag] = []
        for name in entities { tags += try entity(name, model).descendants }
        var condition = HistoryCondition(authors: authors, modelVersion: model.version)
        for object in objects {
            let tag = try entity(object.entity, model).tag
            condition.objects.append(ObjectReference(tag: tag, number: object.number))
        }
        for (name, names) in properties.sorted(by: { $0.key < $1.key }) {
            condition.properties += try slots(of: names, try entity(name, model), model)
        }
        try check(condition)
        condition.since = since.map(HistoryFilter.microseconds)
        condition.until = until.map(HistoryFilter.microseconds)
        return HistoryRequest(
            from: number, to: end, interests: tags, limit: limit, condition: condition)
    }

    private func check(_ condition: HistoryCondition) throws(TandemError) {
        guard condition.authors.count <= WireLimits.names,
            condition.objects.count <= WireLimits.historyObjects,
            condition.properties.count <= WireLimits.names
        else {
            throw TandemError(
                .limitExceeded,
                "a history filter can name at most \(WireLimits.historyObjects) objects, "
                    + "\(WireLimits.names) authors and as many properties, including those of "
                    + "subentities; use several filters")
        }
    }

    private func entity(_ name: String, _ model: CompiledModel) throws(TandemError)
        -> CompiledEntity
    {
        if let entity = model.entity(named: name) { return entity }
        throw model.unknownEntity(name)
    }

    private func slots(
        of names: [String], _ entity: CompiledEntity, _ model: CompiledModel
    ) throws(TandemError) -> [ObservedProperty] {
        var found: [ObservedProperty] = []
        for name in names {
            guard entity.slot(of: name) != nil else {
                throw entity.unknownProperty(name)
            }
            for tag in entity.descendants {
                guard let slot = model.entity(tagged: tag)?.slot(of: name) else { continue }
                found.append(ObservedProperty(entity: tag, slot: slot))
            }
        }
        return found
    }

    private static func microseconds(_ date: Date) -> Int64 {
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        return Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max)
    }
}
