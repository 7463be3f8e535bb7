import TandemModel
import TandemQuery

/// Where the candidates of a fetch come from.
enum AccessPath {
    /// All objects of the entities.
    case scan
    /// The members of the inverse of a to-one relationship.
    case members(of: ObjectReference, link: UInt16, name: String)
    /// The holder of a unique value.
    case unique(CompiledIndex, Value)
    /// The entries of an index in some ranges.
    case index(CompiledIndex, ranges: [KeyRange])
    /// The objects from which a relationship to many leads to one.
    case holders(RequiredMember)
    /// What any of some others leads to.
    indirect case union([AccessPath])
    /// The objects that a relationship leads back to from those that another fetch finds.
    indirect case related(RelatedCondition, CompiledRequest, FetchPlan)
}

extension AccessPath {
    /// What any of some paths leads to; ranges of one index are put together.
    static func any(of paths: [AccessPath]) -> AccessPath {
        var parts: [AccessPath] = []
        for path in paths {
            let place = parts.firstIndex { $0.indexID != nil && $0.indexID == path.indexID }
            if let place, case .index(let index, let more) = path,
                case .index(_, let ranges) = parts[place]
            {
                parts[place] = .index(index, ranges: KeyRange.merged(ranges + more))
            } else {
                parts.append(path)
            }
        }
        return parts.count == 1 ? parts[0] : .union(parts)
    }

    private var indexID: UInt16? { if case .index(let index, _) = self { index.id } else { nil } }

    /// Whether it leads to one object at most.
    var isUnique: Bool { if case .unique = self { true } else { false } }

    /// The parts of a union; of the others, itself.
    var parts: [AccessPath] { if case .union(let parts) = self { parts } else { [self] } }
}

extension AccessPath: CustomStringConvertible {
    /// What `tandem explain` shows.
    var description: String {
        switch self {
        case .scan: "scan"
        case .members(_, _, let name): "inverse of \(name)"
        case .unique(let index, _): "unique (\(index.properties.joined(separator: ", ")))"
        case .index(let index, _): "index (\(index.properties.joined(separator: ", ")))"
        case .holders(let member): "inverse of \(member.name)"
        case .union(let parts): "any of " + parts.map(\.description).joined(separator: ", ")
        case .related(let condition, let request, let plan):
            "related by \(condition.name): \(request.entity.name) by \(plan.access)"
        }
    }
}
