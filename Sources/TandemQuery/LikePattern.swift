/// A pattern of `LIKE`: `?` is one character (code point), `*` any number, a backslash takes the next one literally.
///
/// The parts between stars are found one after the other, each at the first place where it is: so no text makes it go back. Parts without `?` are
/// found in a time that grows with the lengths and not with their product; those with `?` may have ``maximumWildPart`` characters, else nothing matches.
struct LikePattern: Sendable {
    /// The most characters of a part between stars that has a `?`.
    static let maximumWildPart = 64

    /// What stands between two stars.
    private struct Part {
        /// Bytes; nil for any one character.
        var elements: [UInt8?] = []
        var isWild = false

        var literal: [UInt8] { elements.compactMap(\.self) }
    }

    private var parts: [Part] = [Part()]
    /// Whether every part with a `?` is short enough to be looked for.
    var isWithinLimits: Bool {
        parts.allSatisfy { !$0.isWild || $0.elements.count <= Self.maximumWildPart }
    }

    /// Reads a pattern; every text is one.
    init(_ pattern: [UInt8]) {
        var place = 0
        while place < pattern.count {
            switch pattern[place] {
            // One star behind another is none: each would be looked for in every text.
            case UInt8(ascii: "*") where parts.count > 1 && parts[parts.count - 1].elements.isEmpty:
                break
            case UInt8(ascii: "*"): parts.append(Part())
            case UInt8(ascii: "?"):
                parts[parts.count - 1].elements.append(nil)
                parts[parts.count - 1].isWild = true
            case UInt8(ascii: "\\") where place + 1 < pattern.count:
                place += 1
                parts[parts.count - 1].elements.append(pattern[place])
            case let byte: parts[parts.count - 1].elements.append(byte)
            }
            place += 1
        }
    }

    /// Whether all of the text matches.
    func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        guard isWithinLimits, let first = parts.first, let last = parts.last,
            var at = Self.end(of: first, at: 0, in: text)
        else { return false }
        if parts.count == 1 { return at == text.count }
        guard let end = Self.start(of: last, before: text.count, in: text) else { return false }
        for part in parts.dropFirst().dropLast() {
            guard let next = Self.find(part, from: at, in: text) else { return false }
            at = next
        }
        return at <= end
    }

    /// The place behind a part that begins at some place; nil if it does not.
    private static func end(
        of part: Part, at start: Int, in text: UnsafeRawBufferPointer
    ) -> Int? {
        var at = start
        for element in part.elements {
            guard at < text.count else { return nil }
            if let element {
                guard text[at] == element else { return nil }
                at += 1
            } else {
                at = next(text, at)
            }
        }
        return at
    }

    /// The place where a part begins that ends at some place; nil if it does not.
    private static func start(
        of part: Part, before end: Int, in text: UnsafeRawBufferPointer
    ) -> Int? {
        var at = end
        for element in part.elements.reversed() {
            guard at > 0 else { return nil }
            at -= 1
            if let element {
                guard text[at] == element else { return nil }
            } else {
                while at > 0, text[at] & 0xc0 == 0x80 { at -= 1 }
            }
        }
        return at
    }

    /// The place behind the first occurrence of a part; nil if there is none.
    private static func find(
        _ part: Part, from start: Int, in text: UnsafeRawBufferPointer
    ) -> Int? {
        if part.elements.isEmpty { return start }
        if !part.isWild {
            let rest = UnsafeRawBufferPointer(rebasing: text[start...])
            return TextSearch.end(of: part.literal, in: rest).map { start + $0 }
        }
        var at = start
        while at < text.count {
            if let end = end(of: part, at: at, in: text) { return end }
            at = next(text, at)
        }
        return nil
    }

    /// The place after the code point at `at`.
    private static func next(_ text: UnsafeRawBufferPointer, _ at: Int) -> Int {
        var end = at + 1
        while end < text.count, text[end] & 0xc0 == 0x80 { end += 1 }
        return end
    }
}
