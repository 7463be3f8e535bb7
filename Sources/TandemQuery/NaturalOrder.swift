/// Texts in natural order: digits by the number that they write, so that "File 2" comes before "File 10".
///
/// What lies between the digits is compared after full Unicode case folding, by code point. Digits are those of any script
/// that write decimal numbers, in runs of any length; where digits stand among other characters is where ASCII's stand. Leading
/// zeros do not count, unless all else is equal: then fewer come first. There is no sign and no decimal point: "-2" is a hyphen
/// and a number.
///
///     names.sorted { NaturalOrder.key($0).lexicographicallyPrecedes(NaturalOrder.key($1)) }
public enum NaturalOrder {
    /// Bytes whose order is that of the texts; equal where only case or script of digits differ.
    ///
    /// Cost: a few nanoseconds a byte for ASCII.
    public static func key(_ text: String) -> [UInt8] {
        let folded = TextFolding.caseFolded(text)
        var key = NaturalKey(capacity: folded.count + 8)
        guard folded.contains(where: { $0 >= 0x80 }) else {
            for byte in folded {
                if (0x30...0x39).contains(byte) {
                    key.append(digit: byte)
                } else {
                    key.append(byte)
                }
            }
            return key.whole
        }
        for scalar in String(decoding: folded, as: UTF8.self).unicodeScalars {
            if let digit = scalar.decimalDigit {
                key.append(digit: digit)
            } else {
                for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                    key.append(byte)
                }
            }
        }
        return key.whole
    }
}

extension Unicode.Scalar {
    /// The ASCII digit of the same value; nil for what is no decimal digit.
    fileprivate var decimalDigit: UInt8? {
        if isASCII { return (0x30...0x39).contains(value) ? UInt8(value) : nil }
        guard properties.numericType == .decimal, let number = properties.numericValue else {
            return nil
        }
        return 0x30 + UInt8(number)
    }
}

/// Builds a key: the text with every run of digits as `0`, how many digits, the digits; then a zero and the counts of leading zeros.
///
/// Two keys that are equal up to the zero have as many runs, so that the counts meet those of the same runs.
private struct NaturalKey {
    private var bytes: [UInt8] = []
    /// The digits of the run under way, without leading zeros.
    private var digits: [UInt8] = []
    /// How many zeros the run under way began with.
    private var zeros = 0
    /// The leading zeros of each run.
    private var counts: [Int] = []

    init(capacity: Int) { bytes.reserveCapacity(capacity) }

    mutating func append(digit: UInt8) {
        if digits.isEmpty, digit == 0x30 { zeros += 1 } else { digits.append(digit) }
    }

    /// Appends a byte of what is no digit; zero, which ends the text, and one get a one before them.
    mutating func append(_ byte: UInt8) {
        endRun()
        if byte <= 1 { bytes.append(1) }
        bytes.append(byte <= 1 ? byte + 1 : byte)
    }

    private mutating func endRun() {
        guard zeros > 0 || !digits.isEmpty else { return }
        bytes.append(0x30)
        append(count: digits.count)
        bytes += digits
        // The last zero of a run that has no other digit is the number.
        counts.append(digits.isEmpty ? zeros - 1 : zeros)
        digits.removeAll(keepingCapacity: true)
        zeros = 0
    }

    /// Appends a number of any size so that smaller ones come first, and never a zero.
    private mutating func append(count: Int) {
        var rest = count
        while rest >= 254 {
            bytes.append(0xff)
            rest -= 254
        }
        bytes.append(UInt8(rest) + 1)
    }

    /// The key, of which nothing is left to come.
    var whole: [UInt8] {
        var copy = self
        copy.endRun()
        guard let last = copy.counts.lastIndex(where: { $0 > 0 }) else { return copy.bytes }
        copy.bytes.append(0)
        for count in copy.counts[...last] { copy.append(count: count) }
        return copy.bytes
    }
}
