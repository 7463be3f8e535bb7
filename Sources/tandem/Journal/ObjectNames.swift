import Tandem

/// Finds the display names of objects: the value of a property such as `name` or `title`.
final class ObjectNames {
    private let source: any LogSource
    private var known: [ObjectName: String?] = [:]
    private static let properties = ["name", "title", "label", "displayName"]
    private static let longest = 60
    /// The maximum number of objects to look up.
    private static let most = 32
    /// The maximum number of positions to search for each object.
    private static let farthest: UInt64 = 100_000

    init(_ source: any LogSource) { self.source = source }

    /// Returns the name of an object at a position.
    ///
    /// Returns nil if the object has no name, or if its last change is too far before the position.
    func name(_ object: ObjectName) -> String? {
        if let name = known[object] { return name }
        guard known.count < Self.most else { return nil }
        let name = try? found(object)
        known[object] = name
        return name
    }

    /// Searches the journal backwards, because the name in the store may be newer than the
    /// position.
    private func found(_ wanted: ObjectName) throws -> String? {
        guard let model = try source.newestModel(),
            let entity = model.entity(tagged: wanted.object.tag),
            let property = Self.properties.first(where: { entity.slot(of: $0) != nil })
        else { return nil }
        var filter = LogFilter()
        filter.objects = [model.id(of: wanted.object)]
        filter.names = TransactionNames(newest: model)
        let near = wanted.position - min(wanted.position, Self.farthest)
        let floor = max(near, try source.bounds().first - 1)
        var name: String?
        try LogReader(source: source, filter: filter).backwards(
            after: floor, through: wanted.position
        ) { entry, _ in
            guard
                let change = entry.transaction.changes.first(where: { $0.object == wanted.object }),
                let entity = entry.entity(of: change), let row = change.row ?? change.deleted,
                let slot = filter.names.slot(of: property, in: entity)
            else { return true }
            if case .string(let text) = row.uncheckedValue(slot, in: entity) { name = text }
            return false
        }
        return name.map { $0.count > Self.longest ? $0.prefix(Self.longest - 1) + "…" : $0 }
            .map { JSON.string($0).text }
    }
}
