import TandemModel
import TandemQuery

/// Where the candidates of a fetch come from.
enum AccessPath {
    /// All objects of the entities.
    case scan
    /// The members of the inverse of a to-one relationship.
    case members(of: ObjectReference, link: UInt16, name: String)
    /// The holders of unique values.
    case unique(UniqueKeys)
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
    /// What any of some paths leads to; ranges of one index are put together, and keys of one uniqueness constraint.
    static func any(of paths: [AccessPath]) -> AccessPath {
        var parts: [AccessPath] = []
        for path in paths {
            let joined = parts.indices.lazy.compactMap { place in
                parts[place].joined(with: path).map { (place, $0) }
            }
            if let (place, both) = joined.first {
                parts[place] = both
            } else {
                parts.append(path)
            }
        }
        return parts.count == 1 ? parts[0] : .union(parts)
    }

    /// Both as one path; nil where they are over different things.
    private func joined(with other: AccessPath) -> AccessPath? {
        switch (self, other) {
        case (.index(let index, let ranges), .index(let its, let more)) where index.id == its.id:
            .index(index, ranges: KeyRange.merged(ranges + more))
        case (.unique(let keys), .unique(let more)) where keys.constraint.id == more.constraint.id:
            .unique(keys.union(more))
        default: nil
        }
    }

    /// How many unique values it looks up; nil for what leads elsewhere.
    var lookups: Int? { if case .unique(let unique) = self { unique.keys.count } else { nil } }

    /// The parts of a union; of the others, itself.
    var parts: [AccessPath] { if case .union(let parts) = self { parts } else { [self] } }
}

extension AccessPath: CustomStringConvertible {
    /// What `tandem explain` shows.
    var description: String {
        switch self {
        case .scan: "scan"
        case .members(_, _, let name): "inverse of \(name)"
        case .unique(let keys): "unique (\(keys.constraint.properties.joined(separator: ", ")))"
        case .index(let index, _): "index (\(index.properties.joined(separator: ", ")))"
        case .holders(let member): "inverse of \(member.name)"
        case .union(let parts): "any of " + parts.map(\.description).joined(separator: ", ")
        case .related(let condition, let request, let plan):
            "related by \(condition.name): \(request.entity.name) by \(plan.access)"
        }
    }
}
