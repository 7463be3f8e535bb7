/// The natural order of texts, in which runs of digits sort as numbers: "File 2" before "File 10".
///
/// Other characters are compared by code point after full Unicode case folding. Digits can be the
/// decimal digits of any script, in runs of any length; relative to other characters, they sort
/// like ASCII digits. Leading zeros are ignored unless everything else is equal; in that case,
/// fewer zeros sort first. Signs and decimal points are not recognised: "-2" is a hyphen and a
/// number.
///
///     names.sorted { NaturalOrder.key($0).lexicographicallyPrecedes(NaturalOrder.key($1)) }
@usableFromInline package enum NaturalOrder {
    /// Returns the sort key of a text; texts that differ only in case or in the script of digits
    /// have equal keys.
    ///
    /// Cost: a few nanoseconds per byte of ASCII.
    @usableFromInline package static func key(_ text: String) -> [UInt8] {
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
    /// The ASCII digit with the same value; nil if the character is not a decimal digit.
    fileprivate var decimalDigit: UInt8? {
        if isASCII { return (0x30...0x39).contains(value) ? UInt8(value) : nil }
        guard properties.numericType == .decimal, let number = properties.numericValue else {
            return nil
        }
        return 0x30 + UInt8(number)
    }
}

/// A builder of keys: the text, a zero byte, and the counts of leading zeros.
///
/// A run of digits is encoded as `0`, the number of digits, and the digits. Two keys that are equal
/// up to the zero byte have the same number of runs, so the counts that are compared belong to
/// corresponding runs.
private struct NaturalKey {
    private var bytes: [UInt8] = []
    /// The digits of the current run, without leading zeros.
    private var digits: [UInt8] = []
    /// The number of leading zeros of the current run.
    private var zeros = 0
    /// The number of leading zeros of each run.
    private var counts: [Int] = []

    init(capacity: Int) { bytes.reserveCapacity(capacity) }

    mutating func append(digit: UInt8) {
        if digits.isEmpty, digit == 0x30 { zeros += 1 } else { digits.append(digit) }
    }

    /// Appends a byte that is not a digit; the byte 0, which ends the text, and the byte 1 are
    /// escaped with a 1.
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
        // In a run that consists of zeros, the last zero is the number.
        counts.append(digits.isEmpty ? zeros - 1 : zeros)
        digits.removeAll(keepingCapacity: true)
        zeros = 0
    }

    /// Appends a number of any size, encoded without zero bytes so that smaller numbers sort first.
    private mutating func append(count: Int) {
        var rest = count
        while rest >= 254 {
            bytes.append(0xff)
            rest -= 254
        }
        bytes.append(UInt8(rest) + 1)
    }

    /// The complete key.
    var whole: [UInt8] {
        var copy = self
        copy.endRun()
        guard let last = copy.counts.lastIndex(where: { $0 > 0 }) else { return copy.bytes }
        copy.bytes.append(0)
        for count in copy.counts[...last] { copy.append(count: count) }
        return copy.bytes
    }
}
