/// Keys of a table from one on, up to another.
struct KeyRange: Hashable {
    /// The first key that can be in it.
    var lower: [UInt8]
    /// The first bytes beyond it; nil for the end of the table.
    var upper: [UInt8]?

    /// The keys between two.
    init(lower: [UInt8], upper: [UInt8]?) {
        self.lower = lower
        self.upper = upper
    }

    /// The keys that begin with some bytes.
    init(prefix: [UInt8]) {
        self.init(lower: prefix, upper: KeyRange.successor(prefix))
    }

    /// Whether no key can be in it.
    var isEmpty: Bool {
        upper.map { !lower.lexicographicallyPrecedes($0) } ?? false
    }

    /// What is in both.
    func intersection(_ other: KeyRange) -> KeyRange {
        let lower = lower.lexicographicallyPrecedes(other.lower) ? other.lower : lower
        guard let mine = upper else { return KeyRange(lower: lower, upper: other.upper) }
        guard let its = other.upper else { return KeyRange(lower: lower, upper: mine) }
        return KeyRange(lower: lower, upper: its.lexicographicallyPrecedes(mine) ? its : mine)
    }

    /// Whether a key is in it.
    func contains(_ key: some Sequence<UInt8>) -> Bool {
        !key.lexicographicallyPrecedes(lower) && isBelowEnd(key)
    }

    /// Whether a key that is not before it is in it.
    func isBelowEnd(_ key: some Sequence<UInt8>) -> Bool {
        upper.map { key.lexicographicallyPrecedes($0) } ?? true
    }

    /// Calls `body` with its end, to be held against many keys.
    @inline(__always)
    func withEnd<Result, Failure: Error>(
        _ body: (KeyEnd) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let upper else { return try body(KeyEnd(nil)) }
        return try upper.withUnsafeBufferPointer { bytes throws(Failure) in
            try body(KeyEnd(UnsafeRawBufferPointer(bytes)))
        }
    }

    /// The ranges in order, with what overlaps or meets made one.
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
        return result
    }

    private func ends(before other: KeyRange) -> Bool {
        upper.map { $0.lexicographicallyPrecedes(other.lower) } ?? false
    }

    private func laterEnd(_ other: KeyRange) -> [UInt8]? {
        guard let upper, let its = other.upper else { return nil }
        return upper.lexicographicallyPrecedes(its) ? its : upper
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
