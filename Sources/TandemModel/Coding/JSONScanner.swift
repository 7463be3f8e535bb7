/// A parser for common JSON texts, many times faster than Foundation's decoder.
///
/// ``scan(_:)`` returns the value that Foundation's decoder would return. It returns nil if the
/// text has to be passed to that decoder, because it has a rare form or is not JSON. Rare forms are
/// deep nesting, repeated keys, integers beyond 64 bits, and large numbers with a fraction or an
/// exponent.
struct JSONScanner {
    /// The deepest nesting that is parsed here; Foundation's decoder, which has its own limit,
    /// parses deeper values.
    private static let deepest = 64
    /// The bound below which a whole number with a fraction or exponent is exact as a double.
    private static let exactDoubles = 9_007_199_254_740_992.0

    private let text: UnsafeBufferPointer<UInt8>
    private var index = 0
    private var depth = 0

    private init(_ text: UnsafeBufferPointer<UInt8>) { self.text = text }

    /// Parses a text that is valid UTF-8.
    static func scan(_ text: UnsafeBufferPointer<UInt8>) -> JSON? {
        var scanner = JSONScanner(text)
        guard let value = scanner.value() else { return nil }
        scanner.skipSpace()
        return scanner.index == text.count ? value : nil
    }

    // MARK: Bytes

    private var next: UInt8? { index < text.count ? text[index] : nil }

    private mutating func skipSpace() {
        while index < text.count {
            switch text[index] {
            case 0x20, 0x0a, 0x0d, 0x09: index += 1
            default: return
            }
        }
    }

    /// Skips white space, and consumes the next byte if it is the expected one.
    private mutating func consume(_ byte: UInt8) -> Bool {
        skipSpace()
        guard next == byte else { return false }
        index += 1
        return true
    }

    private mutating func consume(_ word: StaticString) -> Bool {
        let end = index + word.utf8CodeUnitCount
        guard end <= text.count else { return false }
        let isNext = word.withUTF8Buffer { text[index..<end].elementsEqual($0) }
        if isNext { index = end }
        return isNext
    }

    // MARK: Values

    private mutating func value() -> JSON? {
        skipSpace()
        switch next {
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "{"): return nested { scanner in scanner.object() }
        case UInt8(ascii: "["): return nested { scanner in scanner.array() }
        case UInt8(ascii: "t"): return consume("true") ? .bool(true) : nil
        case UInt8(ascii: "f"): return consume("false") ? .bool(false) : nil
        case UInt8(ascii: "n"): return consume("null") ? .null : nil
        default: return number()
        }
    }

    private mutating func nested(_ body: (inout JSONScanner) -> JSON?) -> JSON? {
        guard depth < Self.deepest else { return nil }
        depth += 1
        defer { depth -= 1 }
        index += 1
        return body(&self)
    }

    private mutating func object() -> JSON? {
        var members: [String: JSON] = [:]
        if consume(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\""), let name = string(), consume(UInt8(ascii: ":")),
                let value = value(), members.updateValue(value, forKey: name) == nil
            else { return nil }
        } while consume(UInt8(ascii: ","))
        return consume(UInt8(ascii: "}")) ? .object(members) : nil
    }

    private mutating func array() -> JSON? {
        var elements: [JSON] = []
        if consume(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            guard let value = value() else { return nil }
            elements.append(value)
        } while consume(UInt8(ascii: ","))
        return consume(UInt8(ascii: "]")) ? .array(elements) : nil
    }

    // MARK: Strings

    /// Parses a string that begins at the next byte.
    private mutating func string() -> String? {
        let start = index + 1
        var end = start
        while end < text.count {
            switch text[end] {
            case UInt8(ascii: "\""):
                index = end + 1
                return String(decoding: text[start..<end], as: UTF8.self)
            case UInt8(ascii: "\\"): return escapedString(from: start, escape: end)
            case ..<0x20: return nil
            default: end += 1
            }
        }
        return nil
    }

    /// Parses a string from its first byte, with the first escape at `escape`.
    private mutating func escapedString(from start: Int, escape: Int) -> String? {
        var bytes = Array(text[start..<escape])
        index = escape
        while let byte = next {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"): guard unescape(into: &bytes) else { return nil }
            case ..<0x20: return nil
            default: bytes.append(byte)
            }
        }
        return nil
    }

    /// Appends the character of an escape whose backslash is already consumed; returns false if the
    /// escape is invalid.
    private mutating func unescape(into bytes: inout [UInt8]) -> Bool {
        guard let byte = next else { return false }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(byte)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0c)
        case UInt8(ascii: "n"): bytes.append(0x0a)
        case UInt8(ascii: "r"): bytes.append(0x0d)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"):
            guard let scalar = scalar() else { return false }
            bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        default: return false
        }
        return true
    }

    /// Parses the digits of `\u0041`, or of the two escapes of a surrogate pair.
    private mutating func scalar() -> Unicode.Scalar? {
        guard let first = hexUnit() else { return nil }
        guard UTF16.isLeadSurrogate(first) else { return Unicode.Scalar(first) }
        guard consume("\\u"), let second = hexUnit(), UTF16.isTrailSurrogate(second) else {
            return nil
        }
        return UTF16.decode(UTF16.EncodedScalar([first, second]))
    }

    private mutating func hexUnit() -> UInt16? {
        guard index + 4 <= text.count else { return nil }
        var unit: UInt16 = 0
        for byte in text[index..<index + 4] {
            guard let digit = Self.hexDigit(byte) else { return nil }
            unit = unit << 4 | digit
        }
        index += 4
        return unit
    }

    private static func hexDigit(_ byte: UInt8) -> UInt16? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    // MARK: Numbers

    private mutating func number() -> JSON? {
        let start = index
        let isNegative = consumeByte(UInt8(ascii: "-"))
        let digits = index
        guard let magnitude = digitsValue() else { return nil }
        // A leading zero is only valid as the only digit.
        guard index == digits + 1 || text[digits] != UInt8(ascii: "0") else { return nil }
        var isWhole = true
        if consumeByte(UInt8(ascii: ".")) {
            isWhole = false
            guard skipDigits() else { return nil }
        }
        if consumeByte(UInt8(ascii: "e")) || consumeByte(UInt8(ascii: "E")) {
            isWhole = false
            _ = consumeByte(UInt8(ascii: "+")) || consumeByte(UInt8(ascii: "-"))
            guard skipDigits() else { return nil }
        }
        if isWhole {
            // Integers have no negative zero, so it is parsed as a double.
            if isNegative, magnitude == 0 { return .double(-0.0) }
            return magnitude.map { .int(isNegative ? -$0 : $0) }
        }
        return double(text[start..<index])
    }

    /// Parses a number with a fraction or an exponent; whole numbers become integers, as in
    /// Foundation's decoder.
    private func double(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> JSON? {
        guard let value = Double(String(decoding: digits, as: UTF8.self)), value.isFinite else {
            return nil
        }
        guard value != 0 else {
            // A number that was rounded to zero is left to Foundation's decoder.
            let significand = digits.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
            let isZero = !significand.contains { (UInt8(ascii: "1")...UInt8(ascii: "9")) ~= $0 }
            return isZero ? (value.sign == .minus ? .double(value) : .int(0)) : nil
        }
        guard value.rounded() == value else { return .double(value) }
        return value.magnitude < Self.exactDoubles ? .int(Int64(value)) : nil
    }

    private mutating func consumeByte(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        index += 1
        return true
    }

    /// Consumes one or more digits; returns whether there were any.
    private mutating func skipDigits() -> Bool {
        let start = index
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { index += 1 }
        return index > start
    }

    /// Consumes digits; returns nil if there are none, and `.some(nil)` if they exceed 64 bits.
    private mutating func digitsValue() -> Int64?? {
        let start = index
        guard skipDigits() else { return nil }
        var value: Int64 = 0
        for byte in text[start..<index] {
            let (tens, isLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = tens.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
            if isLarge || isLarger { return .some(nil) }
            value = sum
        }
        return value
    }
}
