import TandemIO

/// A half-open range of keys in a table.
struct KeyRange: Hashable {
    /// The inclusive lower bound.
    var lower: [UInt8]
    /// The exclusive upper bound; nil for the end of the table.
    var upper: [UInt8]?

    /// Creates a range from its bounds.
    init(lower: [UInt8], upper: [UInt8]?) {
        self.lower = lower
        self.upper = upper
    }

    /// Creates the range of keys with a prefix.
    init(prefix: [UInt8]) {
        self.init(lower: prefix, upper: KeyRange.successor(prefix))
    }

    /// Whether no key can be in the range.
    var isEmpty: Bool {
        upper.map { !lower.lexicographicallyPrecedes($0) } ?? false
    }

    /// Returns the range of keys that are in both ranges.
    func intersection(_ other: KeyRange) -> KeyRange {
        let lower = lower.lexicographicallyPrecedes(other.lower) ? other.lower : lower
        guard let mine = upper else { return KeyRange(lower: lower, upper: other.upper) }
        guard let its = other.upper else { return KeyRange(lower: lower, upper: mine) }
        return KeyRange(lower: lower, upper: its.lexicographicallyPrecedes(mine) ? its : mine)
    }

    /// Returns whether the range contains a key.
    func contains(_ key: some Sequence<UInt8>) -> Bool {
        !key.lexicographicallyPrecedes(lower) && isBelowEnd(key)
    }

    /// Returns whether a key is below the upper bound.
    func isBelowEnd(_ key: some Sequence<UInt8>) -> Bool {
        upper.map { key.lexicographicallyPrecedes($0) } ?? true
    }

    /// Calls `body` with the upper bound, prepared for comparison with many keys.
    @inline(__always)
    func withEnd<Result, Failure: Error>(
        _ body: (RangeUpperBound) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let upper else { return try body(RangeUpperBound(nil)) }
        return try upper.withUnsafeBufferPointer { bytes throws(Failure) in
            try body(RangeUpperBound(UnsafeRawBufferPointer(bytes)))
        }
    }

    /// Returns the ranges in order, with overlapping and adjacent ones merged.
    static func merged(_ ranges: [KeyRange]) -> [KeyRange] {
        var result: [KeyRange] = []
        let sorted = ranges.filter { !$0.isEmpty }
            .sorted { $0.lower.lexicographicallyPrecedes($1.lower) }
        for range in sorted {
            guard let last = result.last, !last.ends(before: range) else {
                result.append(range)
                continue
            }
            result[result.count - 1].upper = last.laterEnd(range)
        }
        assert(
            !Invariants.walk(result.count)
                || result.allSatisfy { !$0.isEmpty }
                    && zip(result, result.dropFirst()).allSatisfy { $0.ends(before: $1) },
            "The merged ranges are in order and not empty, and neither overlap nor adjoin.")
        return result
    }

    private func ends(before other: KeyRange) -> Bool {
        upper.map { $0.lexicographicallyPrecedes(other.lower) } ?? false
    }

    private func laterEnd(_ other: KeyRange) -> [UInt8]? {
        guard let upper, let its = other.upper else { return nil }
        return upper.lexicographicallyPrecedes(its) ? its : upper
    }

    /// Returns the smallest byte string above all that begin with `key`, or nil if there is none.
    static func successor(_ key: [UInt8]) -> [UInt8]? {
        var key = key
        while let last = key.popLast() {
            if last < 0xff { return key + [last + 1] }
        }
        return nil
    }
}
