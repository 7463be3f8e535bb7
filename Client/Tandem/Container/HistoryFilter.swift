public import FoundationEssentials
public import TandemModel
import TandemQuery
import TandemWire

/// Which transactions of the journal are wanted; one has to meet every part that is not empty.
///
///     var filter = HistoryFilter()
///     filter.entities = ["Team"]
///     filter.properties = ["Team": ["wins"]]
///
/// The daemon looks at them, and only those that meet it travel. A model that was installed always comes along.
public struct HistoryFilter: Hashable, Sendable {
    /// What happened to objects of these, subentities included; the rest of a transaction is left out.
    public var entities: [String] = []
    /// Saved by one of these.
    public var authors: [String] = []
    /// Changing one of these objects.
    public var objects: [ObjectID] = []
    /// Changing, inserting or deleting a value of one of these properties, by entity, subentities included.
    ///
    /// What was saved under an earlier model is not judged by its properties, and given.
    public var properties: [String: [String]] = [:]
    /// Not saved before this time; clocks may go back, positions don't.
    public var since: Date?
    /// Saved before this time.
    public var until: Date?

    /// Every transaction.
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
                "a filter of the history names at most \(WireLimits.historyObjects) objects, "
                    + "\(WireLimits.names) authors and as many properties, those of subentities "
                    + "included; ask for fewer at a time")
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
                throw TandemError(.unknownProperty, "\(entity.name) has no property `\(name)`")
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
