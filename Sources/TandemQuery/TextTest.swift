import TandemModel

/// A comparison with a constant text, made on UTF-8 without decoding it.
struct TextTest: Sendable {
    let op: Comparison.Operator
    let options: Comparison.Options
    /// The text, folded.
    let needle: [UInt8]

    init(_ op: Comparison.Operator, _ options: Comparison.Options, _ text: String) {
        self.op = op
        self.options = options
        needle = TextFolding.fold(text, options)
    }

    func holds(_ text: String) -> Bool {
        var copy = text
        return copy.withUTF8 { holds(utf8: UnsafeRawBufferPointer($0)) }
    }

    func holds(utf8 bytes: UnsafeRawBufferPointer) -> Bool {
        if options.isEmpty { return test(bytes) }
        return TextFolding.fold(utf8: bytes, options).withUnsafeBytes(test)
    }

    /// Whether it holds for a text of which only the beginning is here; nil when that doesn't tell.
    func holds(_ text: TextReference) -> Bool? {
        guard options.isEmpty else { return nil }
        let beginning = text.beginning
        let isSplit = !beginning.elementsEqual(needle.prefix(beginning.count))
        switch op {
        case .equal: return isSplit || needle.count != text.length ? false : nil
        case .notEqual: return isSplit || needle.count != text.length ? true : nil
        case .beginsWith where isSplit: return beginning.starts(with: needle)
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            return isSplit ? beginning.withUnsafeBytes(test) : nil
        default: return nil
        }
    }

    private func test(_ bytes: UnsafeRawBufferPointer) -> Bool {
        switch op {
        case .equal: bytes.elementsEqual(needle)
        case .notEqual: !bytes.elementsEqual(needle)
        case .less: compare(bytes) < 0
        case .lessOrEqual: compare(bytes) <= 0
        case .greater: compare(bytes) > 0
        case .greaterOrEqual: compare(bytes) >= 0
        case .beginsWith: bytes.starts(with: needle)
        case .endsWith: bytes.reversed().starts(with: needle.reversed())
        case .contains: contains(bytes)
        case .like: TextPattern.matches(bytes, needle)
        case .between, .in: false
        }
    }

    private func compare(_ bytes: UnsafeRawBufferPointer) -> Int {
        ValueOrder.compare(bytes: bytes, needle)
    }

    private func contains(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = needle.first else { return true }
        guard bytes.count >= needle.count else { return false }
        if bytes.count > BlobReference.inlineLimit { return TextSearch.contains(bytes, needle) }
        for start in 0...(bytes.count - needle.count) where bytes[start] == first {
            if bytes[start...].starts(with: needle) { return true }
        }
        return false
    }
}

/// Patterns of `LIKE`: `?` is one character (code point), `*` any number, a backslash takes the next one literally.
enum TextPattern {
    /// Whether all of the text matches.
    ///
    /// Cost: at worst the product of both lengths.
    static func matches(_ text: UnsafeRawBufferPointer, _ pattern: [UInt8]) -> Bool {
        var at = 0
        var place = 0
        var retry: (text: Int, pattern: Int)?
        while at < text.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                place += 1
                retry = (at, place)
            } else if let step = step(text, at, pattern, place) {
                (at, place) = step
            } else if let last = retry {
                at = next(text, last.text)
                place = last.pattern
                retry = (at, place)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
    }

    /// Both places after one character that matches.
    private static func step(
        _ text: UnsafeRawBufferPointer, _ at: Int, _ pattern: [UInt8], _ place: Int
    ) -> (Int, Int)? {
        guard place < pattern.count else { return nil }
        if pattern[place] == UInt8(ascii: "?") { return (next(text, at), place + 1) }
        let isEscape = pattern[place] == UInt8(ascii: "\\") && place + 1 < pattern.count
        let literal = isEscape ? place + 1 : place
        return text[at] == pattern[literal] ? (at + 1, literal + 1) : nil
    }

    /// The place after the code point at `at`.
    private static func next(_ text: UnsafeRawBufferPointer, _ at: Int) -> Int {
        var end = at + 1
        while end < text.count, text[end] & 0xc0 == 0x80 { end += 1 }
        return end
    }
}
