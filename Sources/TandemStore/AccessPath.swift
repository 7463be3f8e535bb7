import TandemModel
import TandemQuery

/// How the candidates of a fetch are found: by the narrowest index that its predicate allows, else by a scan.
enum AccessPath: Hashable, CustomStringConvertible {
    /// All objects of the entities.
    case scan
    /// The members of the inverse of a to-one relationship.
    case members(of: ObjectReference, link: UInt16, name: String)
    /// The holder of a unique value.
    case unique(CompiledIndex, Value)
    /// The entries of an index between two keys.
    case index(CompiledIndex, ranges: [KeyRange])

    /// The keys from `lower` on that begin with `prefix`, up to `upper`.
    struct KeyRange: Hashable {
        var lower: [UInt8]
        /// The first bytes beyond the range; nil for the end of the index.
        var upper: [UInt8]?
    }

    /// What `tandem explain` shows.
    var description: String {
        switch self {
        case .scan: "scan"
        case .members(_, _, let name): "inverse of \(name)"
        case .unique(let index, _): "unique (\(index.properties.joined(separator: ", ")))"
        case .index(let index, _): "index (\(index.properties.joined(separator: ", ")))"
        }
    }

    /// The path for a request.
    init(_ request: CompiledRequest) {
        let entity = request.entity
        for constraint in request.constraints {
            if let path = AccessPath.single(constraint, entity, request.model) {
                self = path
                return
            }
        }
        for constraint in request.constraints {
            guard let index = entity.indexes.first(where: { $0.slots.first == constraint.slot }),
                let ranges = AccessPath.ranges(constraint.condition, index.id)
            else { continue }
            self = .index(index, ranges: ranges)
            return
        }
        self = .scan
    }

    private static func single(
        _ constraint: SlotConstraint, _ entity: CompiledEntity, _ model: CompiledModel
    ) -> AccessPath? {
        guard case .equals(let value) = constraint.condition, !value.isNull else { return nil }
        let property = entity.properties[constraint.slot]
        if let relationship = property.relationship, let target = value.reference {
            guard relationship.inverseToMany,
                let inverse = model.entity(tagged: relationship.destination)?
                    .properties[relationship.inverseSlot].relationship
            else { return nil }
            return .members(of: target, link: inverse.linkID, name: property.name)
        }
        return entity.uniqueness.first { $0.slots == [constraint.slot] }.map { .unique($0, value) }
    }

    private static func ranges(
        _ condition: SlotConstraint.Condition, _ id: UInt16
    ) -> [KeyRange]? {
        switch condition {
        case .equals(let value): return [equal(value, id)]
        case .anyOf(let values): return values.map { equal($0, id) }
        case .prefix(let text):
            // The key of a text without its end mark is the prefix of the keys of its continuations.
            let key = key(.string(text), id).dropLast(2)
            return [KeyRange(lower: Array(key), upper: successor(Array(key)))]
        case .range(let lower, let upper):
            let start = lower.map { key($0.value, id) } ?? (StoreKey.tag(id) + [1])
            let end = upper.map { key($0.value, id) } ?? StoreKey.tag(id)
            return [KeyRange(lower: start, upper: successor(end))]
        }
    }

    private static func equal(_ value: Value, _ id: UInt16) -> KeyRange {
        let key = key(value, id)
        return KeyRange(lower: key, upper: successor(key))
    }

    private static func key(_ value: Value, _ id: UInt16) -> [UInt8] {
        var encoder = KeyEncoder()
        encoder.append(value)
        return StoreKey.tag(id) + encoder.bytes.prefix(StoreKey.tupleLimit)
    }

    /// The smallest bytes above everything that begins with `key`.
    static func successor(_ key: [UInt8]) -> [UInt8]? {
        var key = key
        while let last = key.popLast() {
            if last < 0xff { return key + [last + 1] }
        }
        return nil
    }
}
