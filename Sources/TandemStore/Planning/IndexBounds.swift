import TandemModel
import TandemQuery

/// The part of an index in which every object lies that meets some constraints, and which of them it takes care of.
///
/// The leading properties have one value or a few each; the first that has ranges, or nothing that is asked of it, ends that.
///
///     index (city, wins), city == "Bern" AND wins > 3   →  one range, both constraints met
///     index (city, wins), city IN {"Bern", "Wil"}       →  two ranges
///     index (city, wins), wins > 3                      →  the whole index, nothing met
struct IndexBounds {
    /// The ranges of keys, in order and apart from each other.
    private(set) var ranges: [KeyRange] = []
    /// How many leading properties have exactly one value.
    private(set) var fixed = 0
    /// How many leading properties any constraint was used for.
    private(set) var used = 0
    /// The constraints, by their place, that hold for everything in the ranges.
    private(set) var met: Set<Int> = []

    /// Beyond so many combinations of values the rest of the properties is left to the predicate.
    private static let mostCombinations = 1_024

    /// The bounds of an index by constraints, each of which may serve or not.
    init(_ index: CompiledIndex, _ constraints: [SlotConstraint]) {
        var prefixes = [StoreKey.tag(index.id)]
        var isCut = false
        var spans = [KeyRange(prefix: [])]
        for slot in index.slots {
            let here = constraints.indices.filter { constraints[$0].slot == slot }
            guard !here.isEmpty else { break }
            guard let values = ComponentValues(of: here.map { constraints[$0] }) else { break }
            // Too many combinations: the property is left to the predicate.
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
        let whole = prefixes.flatMap { prefix in spans.map { $0.behind(prefix) } }
        ranges = KeyRange.merged(whole.map { $0.cut(to: Self.longest, &isCut) })
        // What was cut leads to more than it should.
        if isCut { (met, fixed) = ([], 0) }
    }

    /// A key of an index has at most so many bytes before the object's number.
    private static let longest = 2 + StoreKey.tupleLimit
}

extension KeyRange {
    /// The range of what follows a prefix.
    fileprivate func behind(_ prefix: [UInt8]) -> KeyRange {
        KeyRange(
            lower: prefix + lower, upper: upper.map { prefix + $0 } ?? KeyRange.successor(prefix))
    }

    /// The range of keys of at most `longest` bytes in which the cut keys of everything in this one lie.
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
