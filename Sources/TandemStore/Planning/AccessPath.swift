import TandemModel
import TandemQuery

/// The source of a fetch's candidates.
enum AccessPath {
    /// All objects of the entities.
    case scan
    /// The members of a to-many relationship: the inverse of a to-one relationship in the
    /// predicate.
    case members(of: ObjectReference, link: UInt16, name: String)
    /// The objects with given unique values.
    case unique(UniqueKeys)
    /// The entries of an index in key ranges.
    case index(CompiledIndex, ranges: [KeyRange])
    /// The objects whose to-many relationship has a given member.
    case holders(RequiredMember)
    /// The objects found by any of several paths.
    indirect case union([AccessPath])
    /// The objects whose relationship refers to an object found by another fetch.
    indirect case related(RelatedCondition, CompiledRequest, FetchPlan)
}

extension AccessPath {
    /// Returns the union of paths.
    ///
    /// Ranges of the same index are merged, as are keys of the same uniqueness constraint.
    static func any(of paths: [AccessPath]) -> AccessPath {
        assert(!paths.isEmpty, "A disjunction has alternatives.")
        var parts: [AccessPath] = []
        for path in paths {
            assert(path.isCollected, "A union has neither unions nor scans as parts.")
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

    /// Returns both paths as one; nil unless they use the same index or uniqueness constraint.
    private func joined(with other: AccessPath) -> AccessPath? {
        switch (self, other) {
        case (.index(let index, let ranges), .index(let its, let more)) where index.id == its.id:
            .index(index, ranges: KeyRange.merged(ranges + more))
        case (.unique(let keys), .unique(let more)) where keys.constraint.id == more.constraint.id:
            .unique(keys.union(more))
        default: nil
        }
    }

    /// Whether the path can be part of a union; scans and other unions can't.
    private var isCollected: Bool {
        switch self {
        case .scan, .union: false
        case .members, .unique, .index, .holders, .related: true
        }
    }

    /// The parts of a union; for other paths, the path itself.
    var parts: [AccessPath] { if case .union(let parts) = self { parts } else { [self] } }
}
