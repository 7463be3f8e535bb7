import TandemModel
import TandemQuery

/// The ranges of an index that contain all objects satisfying some constraints.
///
/// Leading properties are used as long as each is limited to one or a few values. A property with
/// ranges is the last one used. A constraint is *met* if it holds for all keys in the ranges.
///
///     index (city, wins), city == "Bern" AND wins > 3   →  one range, both constraints met
///     index (city, wins), city IN {"Bern", "Wil"}       →  two ranges
///     index (city, wins), wins > 3                      →  the whole index, nothing met
struct IndexBounds {
    /// The ranges of keys, in ascending order and disjoint.
    private(set) var ranges: [KeyRange] = []
    /// The number of leading properties with exactly one value.
    private(set) var fixed = 0
    /// The number of leading properties for which a constraint was used.
    private(set) var used = 0
    /// The indexes of the constraints that hold for all keys in the ranges.
    private(set) var met: Set<Int> = []

    /// The maximum number of combinations of the values of several properties.
    private static let mostCombinations = 1_024

    /// Creates the bounds of an index from constraints, any of which may remain unused.
    init(_ index: CompiledIndex, _ constraints: [SlotConstraint]) {
        var prefixes = [StoreKey.tag(index.id)]
        var isCut = false
        var spans = [KeyRange(prefix: [])]
        for slot in index.slots {
            let here = constraints.indices.filter { constraints[$0].slot == slot }
            guard !here.isEmpty else { break }
            guard let values = ComponentValues(of: here.map { constraints[$0] }) else { break }
            // If there were too many combinations, the property is not used, and the predicate
            // checks it.
            if case .points(let points) = values, prefixes.count > 1,
                points.count * prefixes.count > Self.mostCombinations
            {
                break
            }
            used += 1
            met.formUnion(here.filter { constraints[$0].isExact })
            guard case .points(let points) = values,
                points.count * prefixes.count <= Self.mostCombinations
            else {
                spans = values.spans
                break
            }
            if fixed == used - 1, points.count == 1 { fixed += 1 }
            prefixes = prefixes.flatMap { prefix in points.map { prefix + $0 } }
            guard !prefixes.contains(where: { $0.count > Self.longest }) else {
                isCut = true
                break
            }
        }
        let whole = prefixes.flatMap { prefix in spans.map { $0.prefixed(with: prefix) } }
        ranges = KeyRange.merged(whole.map { $0.cut(to: Self.longest, &isCut) })
        // Ranges with truncated bounds also contain objects that do not satisfy the constraints.
        if isCut { (met, fixed) = ([], 0) }
        assert(
            fixed <= used && used <= index.slots.count,
            "Only used properties have exactly one value.")
    }

    /// The maximum size of an index key before the object's number, in bytes.
    private static let longest = 2 + StoreKey.tupleLimit
}

extension KeyRange {
    /// Returns the range of the keys that consist of `prefix` followed by a key of this range.
    fileprivate func prefixed(with prefix: [UInt8]) -> KeyRange {
        KeyRange(
            lower: prefix + lower, upper: upper.map { prefix + $0 } ?? KeyRange.successor(prefix))
    }

    /// Returns the range that contains the keys of this range after truncation to `longest` bytes.
    fileprivate func cut(to longest: Int, _ isCut: inout Bool) -> KeyRange {
        var result = self
        if lower.count > longest {
            isCut = true
            result.lower = Array(lower.prefix(longest))
        }
        if let upper, upper.count > longest {
            isCut = true
            result.upper = KeyRange.successor(Array(upper.prefix(longest)))
        }
        return result
    }
}
