import TandemModel

/// Checks that every row has its index entries and unique keys, and that there are no others.
struct IndexChecker {
    private let graph: CheckedGraph

    init(_ graph: CheckedGraph) { self.graph = graph }

    /// Checks that a row has its index entries and unique keys.
    func checkKeys(
        of row: Row, _ object: ObjectReference, _ entity: CompiledEntity,
        _ report: inout StoreReport
    ) throws(StoreError) {
        for index in entity.indexes {
            let key = StoreKey.index(index.id, StoreKey.tuple(index, row, entity), object.number)
            guard try graph.get(.indexes, key) != StoreKey.tag(object.tag) else { continue }
            report.add(
                StoreFinding(
                    .missingIndexEntry, .indexes, key, object: graph.id(object),
                    property: Self.names(index), "the object is not in the index",
                    [.put(.indexes, key: key, value: StoreKey.tag(object.tag))]))
        }
        for index in entity.uniqueness {
            guard let key = StoreKey.unique(index, row, entity) else { continue }
            let value = StoreKey.tag(object.tag) + StoreKey.number(object.number)
            let held = try graph.get(.unique, key)
            guard held != value else { continue }
            if let held, let other = try holder(held, of: key, index) {
                report.add(
                    StoreFinding(
                        .duplicateUnique, .unique, key, object: graph.id(object),
                        property: Self.names(index),
                        "\(graph.id(other)?.description ?? "?") has the same values"))
            } else {
                report.add(
                    StoreFinding(
                        .missingUniqueKey, .unique, key, object: graph.id(object),
                        property: Self.names(index), "the object does not have its unique key",
                        [.put(.unique, key: key, value: value)]))
            }
        }
    }

    func checkIndex(
        _ key: [UInt8], _ value: [UInt8], _ report: inout StoreReport
    ) throws(StoreError) {
        guard key.count >= 10, value.count == 2 else {
            return reportStray(
                .badKey, .indexes, key, nil, nil, "the key is not an index entry", &report)
        }
        let (id, number, tag) = (
            key.withUnsafeBytes { $0.bigEndian(0, as: UInt16.self) },
            key.withUnsafeBytes { $0.bigEndian(key.count - 8, as: UInt64.self) },
            value.withUnsafeBytes { $0.bigEndian(0, as: UInt16.self) }
        )
        let object = ObjectReference(tag: tag, number: number)
        guard let entity = graph.model?.entity(tagged: tag),
            let index = entity.indexes.first(where: { $0.id == id })
        else {
            let message = "the model has no such index"
            return reportStray(.strayIndexEntry, .indexes, key, object, nil, message, &report)
        }
        if let row = try graph.row(object),
            StoreKey.index(id, StoreKey.tuple(index, row, entity), number) == key
        {
            return
        }
        reportStray(
            .strayIndexEntry, .indexes, key, object, Self.names(index),
            "no such object has these values", &report)
    }

    func checkUnique(
        _ key: [UInt8], _ value: [UInt8], _ report: inout StoreReport
    ) throws(StoreError) {
        guard key.count == 18, value.count == 10 else {
            return reportStray(
                .badKey, .unique, key, nil, nil, "the key is not a unique key", &report)
        }
        let id = key.withUnsafeBytes { $0.bigEndian(0, as: UInt16.self) }
        let object = Self.reference(value)
        guard let entity = graph.model?.entity(tagged: object.tag),
            let index = entity.uniqueness.first(where: { $0.id == id })
        else {
            let message = "the model has no such uniqueness constraint"
            return reportStray(.strayUniqueKey, .unique, key, object, nil, message, &report)
        }
        guard try holder(value, of: key, index) == nil else { return }
        reportStray(
            .strayUniqueKey, .unique, key, object, Self.names(index),
            "no such object has these values", &report)
    }

    /// Returns the object to which a unique key refers, or nil if its row doesn't have the key's
    /// values.
    private func holder(
        _ value: [UInt8], of key: [UInt8], _ index: CompiledIndex
    ) throws(StoreError) -> ObjectReference? {
        guard value.count == 10 else { return nil }
        let object = Self.reference(value)
        guard let entity = graph.model?.entity(tagged: object.tag),
            entity.uniqueness.contains(index),
            let row = try graph.row(object), StoreKey.unique(index, row, entity) == key
        else { return nil }
        return object
    }

    private func reportStray(
        _ kind: StoreFinding.Kind, _ table: StoreTable, _ key: [UInt8],
        _ object: ObjectReference?, _ property: String?, _ message: String,
        _ report: inout StoreReport
    ) {
        report.add(
            StoreFinding(
                kind, table, key, object: object.flatMap { graph.id($0) }, property: property,
                message, [.delete(table, key: key)]))
    }

    private static func reference(_ value: [UInt8]) -> ObjectReference {
        value.withUnsafeBytes {
            ObjectReference(
                tag: $0.bigEndian(0, as: UInt16.self), number: $0.bigEndian(2, as: UInt64.self))
        }
    }

    private static func names(_ index: CompiledIndex) -> String {
        "(\(index.properties.joined(separator: ", ")))"
    }
}
