/// A pattern of `LIKE`: `?` matches one character (code point), `*` any number of characters, and a
/// backslash escapes the next character.
///
/// The parts between stars are searched in order, and each is matched at its first occurrence, so
/// matching never backtracks. Parts without `?` are found in linear time. A part with `?` may have
/// at most ``maximumWildPart`` characters; a pattern with a longer part matches nothing.
struct LikePattern: Sendable {
    /// The maximum length of a part between stars that has a `?`.
    static let maximumWildPart = 64

    /// The part between two stars.
    private struct Part {
        /// The bytes to match; nil for any one character.
        var elements: [UInt8?] = []
        var isWild = false

        var literal: [UInt8] { elements.compactMap(\.self) }
    }

    private var parts: [Part] = [Part()]
    /// Whether every part with a `?` is short enough to be searched.
    var isWithinLimits: Bool {
        parts.allSatisfy { !$0.isWild || $0.elements.count <= Self.maximumWildPart }
    }

    /// Parses a pattern; every text is a valid pattern.
    init(_ pattern: [UInt8]) {
        var place = 0
        while place < pattern.count {
            switch pattern[place] {
            // A star after another star is ignored, because otherwise the empty part between them
            // would be searched for.
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

    /// Returns whether the whole text matches.
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

    /// Returns the end of a part that begins at `start`; nil if the part does not occur there.
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

    /// Returns the start of a part that ends at `end`; nil if the part does not occur there.
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

    /// Returns the end of the first occurrence of a part; nil if there is none.
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

    /// Returns the offset after the code point at `at`.
    private static func next(_ text: UnsafeRawBufferPointer, _ at: Int) -> Int {
        var end = at + 1
        while end < text.count, text[end] & 0xc0 == 0x80 { end += 1 }
        return end
    }
}
