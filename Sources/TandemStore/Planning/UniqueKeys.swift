import TandemModel
import TandemQuery

/// The keys of a uniqueness constraint that some constraints leave: whoever holds to these, holds one of those.
///
/// Every property of it has one value or a few.
///
///     unique (country, code), country == "CH" AND code IN {3, 5}   →  two keys
///     unique (country, code), country == "CH"                      →  none; it leads nowhere
struct UniqueKeys {
    /// The uniqueness constraint.
    let constraint: CompiledIndex
    /// The keys, in order, each once.
    let keys: [[UInt8]]

    /// Beyond so many combinations of the values of several properties it leads nowhere.
    static let mostCombinations = 1_024

    /// The keys by constraints, each of which may serve or not; nil where a property may have any value, or nil, which equals nothing.
    ///
    /// Nil too where there are more than `most`.
    init?(
        _ constraint: CompiledIndex, _ constraints: [SlotConstraint], atMost most: Int = .max
    ) {
        var tuples: [[UInt8]] = [[]]
        for slot in constraint.slots {
            let here = constraints.filter { $0.slot == slot }
            guard case .points(let points)? = ComponentValues(of: here),
                !points.contains(ComponentValues.null)
            else { return nil }
            let count = tuples.count * points.count
            let isProduct = tuples.count > 1 && points.count > 1
            guard count <= (isProduct ? min(most, Self.mostCombinations) : most) else {
                return nil
            }
            tuples = tuples.flatMap { tuple in points.map { tuple + $0 } }
        }
        let keys = tuples.map { StoreKey.unique(constraint.id, $0) }
        self.init(constraint, keys)
    }

    private init(_ constraint: CompiledIndex, _ keys: [[UInt8]]) {
        self.constraint = constraint
        self.keys = Self.ordered(keys)
    }

    private static func ordered(_ keys: [[UInt8]]) -> [[UInt8]] {
        guard keys.count > 1 else { return keys }
        return Set(keys).sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// The keys of both, which are of one constraint.
    func union(_ other: UniqueKeys) -> UniqueKeys {
        UniqueKeys(constraint, keys + other.keys)
    }

    /// Whether a key is among them.
    func contains(_ key: [UInt8]) -> Bool {
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle].lexicographicallyPrecedes(key) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low < keys.count && keys[low] == key
    }
}
