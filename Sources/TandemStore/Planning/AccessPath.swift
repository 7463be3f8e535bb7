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
    /// The objects that a relationship leads back to from those that another fetch finds.
    indirect case related(RelatedCondition, CompiledRequest, FetchPlan)
}

extension AccessPath: CustomStringConvertible {
    /// What `tandem explain` shows.
    var description: String {
        switch self {
        case .scan: "scan"
        case .members(_, _, let name): "inverse of \(name)"
        case .unique(let index, _): "unique (\(index.properties.joined(separator: ", ")))"
        case .index(let index, _): "index (\(index.properties.joined(separator: ", ")))"
        case .related(let condition, let request, let plan):
            "related by \(condition.name): \(request.entity.name) by \(plan.access)"
        }
    }
}
