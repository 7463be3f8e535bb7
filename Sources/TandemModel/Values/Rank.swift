/// The sort key of a member of an ordered to-many relationship, compared byte by byte.
///
/// A rank is a binary fraction between 0 and 1 without trailing zeros, of at most ``byteLimit``
/// bytes. Another rank exists between any two. Members of equal rank are sorted by number. New
/// ranks are computed by ``between(_:_:count:limit:)``.
///
///     let ranks = Rank.between(nil, nil, count: 2)        // of a list that was empty
///     let middle = Rank.between(ranks?[0], ranks?[1])     // of a member inserted between the two
package struct Rank: Hashable, Comparable, Sendable {
    /// The maximum size of a rank in bytes.
    package static let byteLimit = 24

    /// The bytes: at least one, the last of which is not zero.
    package let bytes: [UInt8]

    /// Creates a rank from its bytes; returns nil if they are not a rank.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count <= Self.byteLimit, let last = Array(bytes).last, last != 0 else {
            return nil
        }
        self.bytes = Array(bytes)
    }

    /// Creates a rank from a fraction's digits; returns nil for zero or for too many digits.
    fileprivate init?(digits: [UInt8]) {
        guard let last = digits.lastIndex(where: { $0 != 0 }) else { return nil }
        self.init(digits[...last])
    }

    /// Compares byte by byte; a prefix sorts before its continuations.
    package static func < (a: Rank, b: Rank) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }

}

extension Rank: CustomStringConvertible {
    /// The rank as hexadecimal digits.
    package var description: String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

// MARK: Choosing

extension Rank {
    /// The distance between ranks at the ends of a list, as a number in their first four bytes.
    private static let step: UInt64 = 16

    /// Returns ascending ranks, evenly spread between two others.
    ///
    /// If `low` or `high` is nil, the ranks extend that end of the list. The result is nil if there
    /// are not enough ranks of at most `limit` bytes, or if `low` is not below `high`. Cost: linear
    /// in `count` and in the length of the common prefix.
    package static func between(
        _ low: Rank?, _ high: Rank?, count: Int = 1, limit: Int = byteLimit
    ) -> [Rank]? {
        if count == 0 { return [] }
        if let low, let high, low >= high { return nil }
        if let counted = counted(low, high, count) { return counted }
        for width in 1...max(1, min(limit, byteLimit)) {
            if let spread = spread(low, high, count, width) { return spread }
        }
        return nil
    }

    /// Returns ranks that extend an end of the list in steps; nil if neither end is nil, or if the
    /// end has no room.
    private static func counted(_ low: Rank?, _ high: Rank?, _ count: Int) -> [Rank]? {
        guard low == nil || high == nil, let count = UInt32(exactly: count) else { return nil }
        let all = UInt64(count) * step
        let start: UInt64
        switch (low, high) {
        case (let low?, _): start = low.head + step
        case (_, let high?):
            guard high.head > all else { return nil }
            start = high.head - all
        default: start = 0x8000_0000
        }
        guard start + all <= UInt64(UInt32.max) else { return nil }
        return (0..<UInt64(count)).compactMap { index in
            withUnsafeBytes(of: UInt32(start + index * step).bigEndian) { Rank(digits: Array($0)) }
        }
    }

    /// The first four bytes as a number.
    private var head: UInt64 {
        (0..<4).reduce(0) { $0 << 8 | UInt64($1 < bytes.count ? bytes[$1] : 0) }
    }

    /// Returns equidistant ranks of at most `width` bytes; nil if there is no room.
    private static func spread(_ low: Rank?, _ high: Rank?, _ count: Int, _ width: Int) -> [Rank]? {
        let start = Digits(low, width)
        let gap = Digits(high, width, ifNone: 1).minus(start)
        let distance = gap.divided(by: UInt64(count) + 1)
        guard !distance.isZero else { return nil }
        var next = start
        return (0..<count).compactMap { _ in
            next = next.plus(distance)
            return Rank(digits: next.fraction)
        }
    }
}

/// A number in base 256 with one integer digit and a fixed number of fractional digits.
private struct Digits {
    /// The digits, most significant first.
    private var digits: [UInt8]

    /// Creates the number from the first digits of a rank; without a rank, the integer digit is
    /// `whole`.
    init(_ rank: Rank?, _ width: Int, ifNone whole: UInt8 = 0) {
        let known = rank.map { Array($0.bytes.prefix(width)) } ?? []
        digits = [rank == nil ? whole : 0] + known
        digits += [UInt8](repeating: 0, count: width - known.count)
    }

    /// The fractional digits.
    var fraction: [UInt8] { Array(digits.dropFirst()) }

    var isZero: Bool { digits.allSatisfy { $0 == 0 } }

    func plus(_ other: Digits) -> Digits {
        var sum = self
        var carry = 0
        for index in digits.indices.reversed() {
            let digit = Int(digits[index]) + Int(other.digits[index]) + carry
            sum.digits[index] = UInt8(truncatingIfNeeded: digit)
            carry = digit >> 8
        }
        return sum
    }

    /// Returns the difference, or zero if the other number is greater.
    func minus(_ other: Digits) -> Digits {
        var difference = self
        var borrow = 0
        for index in digits.indices.reversed() {
            let digit = Int(digits[index]) - Int(other.digits[index]) - borrow
            difference.digits[index] = UInt8(truncatingIfNeeded: digit)
            borrow = digit < 0 ? 1 : 0
        }
        if borrow > 0 { difference.digits = digits.map { _ in 0 } }
        return difference
    }

    func divided(by divisor: UInt64) -> Digits {
        var quotient = self
        var rest: UInt64 = 0
        for index in digits.indices {
            let part = rest << 8 | UInt64(digits[index])
            quotient.digits[index] = UInt8(part / divisor)
            rest = part % divisor
        }
        return quotient
    }
}

// MARK: Coding

extension ByteWriter {
    /// Appends a rank.
    package mutating func rank(_ rank: Rank) { blob(rank.bytes) }
}

extension ByteReader {
    /// Reads a rank or throws `CodingError`.
    package mutating func rank() throws(CodingError) -> Rank {
        let start = offset
        guard let rank = Rank(try blob()) else {
            throw CodingError(
                expected: "a rank of 1 to \(Rank.byteLimit) bytes that does not end with 0",
                offset: start)
        }
        return rank
    }
}
