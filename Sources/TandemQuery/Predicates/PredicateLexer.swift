import TandemModel

/// A lexer that splits a predicate's text into tokens, one at a time.
struct PredicateLexer {
    private let bytes: [UInt8]
    private(set) var offset = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Returns the next token, or `.end` after the last one.
    mutating func next() throws(TandemError) -> PredicateToken {
        while let byte = peek(), [0x20, 0x09, 0x0a, 0x0d].contains(byte) { offset += 1 }
        let start = offset
        guard let byte = peek() else { return PredicateToken(kind: .end, offset: start) }
        return PredicateToken(kind: try kind(byte), offset: start)
    }

    private mutating func kind(_ byte: UInt8) throws(TandemError) -> PredicateToken.Kind {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return .text(try quoted(byte))
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(number())
        case UInt8(ascii: "%"): return .argument(try argument())
        case UInt8(ascii: "$"): return .variable(try identifier("a variable's name after `$`"))
        case UInt8(ascii: "#"): return .name(try identifier("a name after `#`"))
        case UInt8(ascii: "@"): return .aggregate(try identifier("an operator's name after `@`"))
        case _ where PredicateLexer.isName(byte): return .word(name())
        default: return .sign(try sign(byte))
        }
    }

    // MARK: Names

    static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x5f, 0x80...: true
        default: false
        }
    }

    private mutating func identifier(_ expected: String) throws(TandemError) -> String {
        offset += 1
        let text = name()
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else {
            throw PredicateLexer.error(offset, "expected \(expected)")
        }
        return text
    }

    private mutating func name() -> String {
        let start = offset
        while let byte = peek(), PredicateLexer.isName(byte) { offset += 1 }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    // MARK: Literals

    /// Reads digits with an optional fraction and an optional exponent.
    private mutating func number() -> String {
        let start = offset
        digits()
        if peek() == UInt8(ascii: "."), isDigit(at: offset + 1) {
            offset += 1
            digits()
        }
        if let byte = peek(), byte | 0x20 == UInt8(ascii: "e") {
            let isSigned = [0x2b, 0x2d].contains(at(offset + 1) ?? 0)
            if isDigit(at: offset + (isSigned ? 2 : 1)) {
                offset += isSigned ? 2 : 1
                digits()
            }
        }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private mutating func digits() { while isDigit(at: offset) { offset += 1 } }

    private func isDigit(at index: Int) -> Bool { (0x30...0x39).contains(at(index) ?? 0) }

    private mutating func quoted(_ quote: UInt8) throws(TandemError) -> String {
        let start = offset
        offset += 1
        var content: [UInt8] = []
        while let byte = peek(), byte != quote {
            if byte == UInt8(ascii: "\\") {
                try escape(&content)
            } else {
                content.append(byte)
                offset += 1
            }
        }
        guard peek() == quote else {
            throw PredicateLexer.error(start, "expected a closing quote for this text")
        }
        offset += 1
        return String(decoding: content, as: UTF8.self)
    }

    private mutating func escape(_ content: inout [UInt8]) throws(TandemError) {
        guard let letter = at(offset + 1) else {
            throw PredicateLexer.error(offset, "expected a character after `\\`")
        }
        switch letter {
        case UInt8(ascii: "n"): content.append(0x0a)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "r"): content.append(0x0d)
        case UInt8(ascii: "u"): return try unicode(&content)
        case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"): content.append(letter)
        default:
            // `\*` and `\?` keep their backslash, which LIKE needs.
            content.append(UInt8(ascii: "\\"))
            content.append(letter)
        }
        offset += 2
    }

    private mutating func unicode(_ content: inout [UInt8]) throws(TandemError) {
        let end = offset + 6
        guard end <= bytes.count,
            let value = UInt32(
                String(decoding: bytes[(offset + 2)..<end], as: UTF8.self), radix: 16),
            let scalar = Unicode.Scalar(value)
        else {
            throw PredicateLexer.error(offset, "expected a character's four hex digits after `\\u`")
        }
        content.append(contentsOf: String(scalar).utf8)
        offset = end
    }

    // MARK: Signs

    private mutating func argument() throws(TandemError) -> UInt8 {
        let start = offset
        offset += 1
        while peek() == UInt8(ascii: "l") || peek() == UInt8(ascii: "q") { offset += 1 }
        guard let letter = peek(), "@KdiufgDU".utf8.contains(letter) else {
            throw PredicateLexer.error(start, "expected %@, %K, %d, %i, %u or %f")
        }
        offset += 1
        return letter
    }

    private static let signs = [
        "&&", "||", "==", "!=", "<=", ">=", "=<", "=>", "<>", "(", ")", "{", "}", "[", "]", ",",
        ".", "+", "-", "*", "/", "=", "<", ">", "!",
    ]

    private mutating func sign(_ byte: UInt8) throws(TandemError) -> String {
        for sign in PredicateLexer.signs where bytes[offset...].starts(with: sign.utf8) {
            offset += sign.utf8.count
            return sign
        }
        let shown = String(Character(Unicode.Scalar(byte)))
        throw PredicateLexer.error(
            offset, "expected a name, a value or an operator, found `\(shown)`")
    }

    private func peek() -> UInt8? { at(offset) }

    private func at(_ index: Int) -> UInt8? { index < bytes.count ? bytes[index] : nil }

    static func error(_ offset: Int, _ message: String) -> TandemError {
        TandemError(.invalidPredicate, "\(message) (at offset \(offset))", offset: offset)
    }
}
