import Algorithms
import TandemIO
import TandemModel
import TandemQuery

/// The keys of a uniqueness constraint that a request's constraints allow.
///
/// Every matching object has one of the keys. Each property of the uniqueness constraint must be
/// limited to one or a few values.
///
///     unique (country, code), country == "CH" AND code IN {3, 5}   →  two keys
///     unique (country, code), country == "CH"                      →  none; not usable
struct UniqueKeys {
    /// The uniqueness constraint.
    let constraint: CompiledIndex
    /// The distinct keys, in ascending order.
    let keys: [[UInt8]]

    /// The maximum number of combinations of the values of several properties.
    static let mostCombinations = 1_024

    /// Creates the keys from constraints, any of which may remain unused.
    ///
    /// The result is nil if a property may have any value, or may be nil, because tuples with nil
    /// have no unique key. It is also nil if there are more than `most` keys.
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
        assert(
            !Invariants.walk(keys.count)
                || zip(self.keys, self.keys.dropFirst()).allSatisfy {
                    $0.lexicographicallyPrecedes($1)
                },
            "The keys are distinct and ascending.")
    }

    private static func ordered(_ keys: [[UInt8]]) -> [[UInt8]] {
        guard keys.count > 1 else { return keys }
        return Set(keys).sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Returns the union of two sets of keys of the same uniqueness constraint.
    func union(_ other: UniqueKeys) -> UniqueKeys {
        assert(constraint.id == other.constraint.id, "Both sets have the same constraint.")
        return UniqueKeys(constraint, keys + other.keys)
    }

    /// Returns whether a key is in the set.
    func contains(_ key: [UInt8]) -> Bool {
        let at = keys.partitioningIndex { !$0.lexicographicallyPrecedes(key) }
        return at < keys.count && keys[at] == key
    }
}
