/// A Swift text reduced to its code, line for line.
///
/// Comments are removed, and string literals keep only their quotes. The type handles line
/// comments, one-line and multi-line strings, raw strings and escapes; interpolations count as part
/// of their string. It works on bytes, because only ASCII characters matter here.
struct Code {
    private(set) var lines: [String] = []
    private var isInText = false
    private var hashes = 0

    private static let (quote, hash) = (UInt8(ascii: "\""), UInt8(ascii: "#"))
    private static let (slash, backslash) = (UInt8(ascii: "/"), UInt8(ascii: "\\"))

    init(_ text: String) {
        for line in Array(text.utf8).split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        {
            lines.append(String(decoding: reduced(Array(line)), as: UTF8.self))
        }
    }

    private mutating func reduced(_ line: [UInt8]) -> [UInt8] {
        // Most lines have no strings or comments.
        if !isInText && !line.contains(Self.quote) && !line.contains(Self.slash) { return line }
        var kept: [UInt8] = []
        var index = 0
        while index < line.count {
            if isInText {
                let end = close(line, quotes: 3, from: index)
                isInText = end == nil
                index = end ?? line.count
            } else if count(Self.slash, line, index) >= 2 {
                break
            } else if let opening = opening(line, index) {
                hashes = opening.hashes
                kept += [Self.quote, Self.quote]
                index = opening.end
                if opening.isMultiline {
                    isInText = true
                } else {
                    index = close(line, quotes: 1, from: index) ?? line.count
                }
            } else {
                kept.append(line[index])
                index += 1
            }
        }
        return kept
    }

    private func opening(
        _ line: [UInt8], _ start: Int
    ) -> (hashes: Int, isMultiline: Bool, end: Int)? {
        let hashes = count(Self.hash, line, start)
        let quotes = count(Self.quote, line, start + hashes)
        guard quotes > 0 else { return nil }
        return (hashes, quotes >= 3, start + hashes + (quotes >= 3 ? 3 : 1))
    }

    /// Returns the index after a closing delimiter, or nil if there is none.
    private func close(_ line: [UInt8], quotes: Int, from start: Int) -> Int? {
        var index = start
        while index < line.count {
            if hashes == 0 && line[index] == Self.backslash {
                index += 2
            } else if count(Self.quote, line, index) >= quotes
                && count(Self.hash, line, index + quotes) >= hashes
            {
                return index + quotes + hashes
            } else {
                index += 1
            }
        }
        return nil
    }

    /// Returns the number of consecutive occurrences of a byte from an index on.
    private func count(_ byte: UInt8, _ line: [UInt8], _ start: Int) -> Int {
        var index = start
        while index < line.count && line[index] == byte { index += 1 }
        return index - start
    }
}
