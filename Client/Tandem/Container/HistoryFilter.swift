public import FoundationEssentials
public import TandemModel
import TandemQuery
import TandemWire

/// Selects transactions of the journal; a transaction has to satisfy every property that is set.
///
///     var filter = HistoryFilter()
///     filter.entities = ["Team"]
///     filter.properties = ["Team": ["wins"]]
///
/// The daemon evaluates the filter, and sends only the matching transactions. Model changes always
/// match.
public struct HistoryFilter: Hashable, Sendable {
    /// The entities whose changes are included, with their subentities.
    ///
    /// Changes to objects of other entities are removed from a transaction.
    public var entities: [String] = []
    /// The authors; a transaction has to be saved by one of them.
    public var authors: [String] = []
    /// The objects; a transaction has to change one of them.
    public var objects: [ObjectID] = []
    /// The properties by entity, subentities included.
    ///
    /// A transaction has to change, insert or delete a value of one of them. Transactions saved
    /// under an earlier model match without this check.
    public var properties: [String: [String]] = [:]
    /// The earliest save time.
    ///
    /// The daemon's clock may be set back, so times are not always in the order of positions.
    public var since: Date?
    /// The end of the range of save times, exclusive.
    public var until: Date?

    /// Creates a filter that matches every transaction.
    public init() {}

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
                "a filter of the history can name at most \(WireLimits.historyObjects) objects, "
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
