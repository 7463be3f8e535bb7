/// A Swift text separated into its code, line for line, and the texts in it: comments and string
/// literals.
///
/// Comments are removed, and string literals keep only their quotes. The type handles line
/// comments, one-line and multi-line strings, raw strings and escapes; interpolations count as part
/// of their string. It works on bytes, because only ASCII characters matter here.
struct Code {
    /// A block of comment lines, or a string literal.
    struct Text: Equatable {
        enum Kind { case documentation, comment, literal }

        var kind: Kind
        /// The number of its first line.
        var line: Int
        /// Its lines without slashes or quotes, with a `_` in backticks for an interpolation and a
        /// space for an escape.
        var lines: [String]
        /// Whether it is a comment that may continue on the next line.
        var isBlock = false
    }

    private(set) var lines: [String] = []
    private(set) var texts: [Text] = []
    /// Whether a multi-line string literal is open.
    private var isInLiteral = false
    private var hashes = 0
    private var number = 0
    /// The content of the open literal.
    private var literal: [UInt8] = []
    private var literalLine = 0

    private static let (quote, hash) = (UInt8(ascii: "\""), UInt8(ascii: "#"))
    private static let (slash, backslash) = (UInt8(ascii: "/"), UInt8(ascii: "\\"))
    private static let (newline, space) = (UInt8(ascii: "\n"), UInt8(ascii: " "))
    private static let (open, close) = (UInt8(ascii: "("), UInt8(ascii: ")"))

    init(_ text: String) {
        for line in Array(text.utf8).split(
            separator: Self.newline, omittingEmptySubsequences: false)
        {
            number += 1
            lines.append(String(decoding: reduced(Array(line)), as: UTF8.self))
        }
    }

    private mutating func reduced(_ line: [UInt8]) -> [UInt8] {
        // Most lines have no strings or comments.
        if !isInLiteral && !line.contains(Self.quote) && !line.contains(Self.slash) { return line }
        var kept: [UInt8] = []
        var index = 0
        while index < line.count {
            if isInLiteral {
                index = finish(line, quotes: 3, from: index)
            } else if count(Self.slash, line, index) >= 2 {
                addComment(line, at: index, isWholeLine: kept.allSatisfy { $0 == Self.space })
                break
            } else if let opening = opening(line, index) {
                hashes = opening.hashes
                literalLine = number
                literal = []
                kept += [Self.quote, Self.quote]
                index = opening.end
                isInLiteral = opening.isMultiline
                index = finish(line, quotes: opening.isMultiline ? 3 : 1, from: index)
            } else {
                kept.append(line[index])
                index += 1
            }
        }
        if isInLiteral { literal.append(Self.newline) }
        return kept
    }

    private mutating func addComment(_ line: [UInt8], at start: Int, isWholeLine: Bool) {
        let slashes = min(count(Self.slash, line, start), 3)
        let text = String(decoding: line[(start + slashes)...], as: UTF8.self)
        let kind = slashes == 3 ? Text.Kind.documentation : .comment
        if isWholeLine, let last = texts.last, last.isBlock, last.kind == kind,
            last.line + last.lines.count == number
        {
            texts[texts.count - 1].lines.append(text)
        } else {
            texts.append(Text(kind: kind, line: number, lines: [text], isBlock: isWholeLine))
        }
    }

    private func opening(
        _ line: [UInt8], _ start: Int
    ) -> (hashes: Int, isMultiline: Bool, end: Int)? {
        let hashes = count(Self.hash, line, start)
        let quotes = count(Self.quote, line, start + hashes)
        guard quotes > 0 else { return nil }
        return (hashes, quotes >= 3, start + hashes + (quotes >= 3 ? 3 : 1))
    }

    /// Reads the literal up to its closing delimiter or the end of the line, and returns the index
    /// after that.
    private mutating func finish(_ line: [UInt8], quotes: Int, from start: Int) -> Int {
        var index = start
        while index < line.count {
            let byte = line[index]
            if byte == Self.backslash && count(Self.hash, line, index + 1) >= hashes {
                let next = index + 1 + hashes
                if next < line.count && line[next] == Self.open {
                    index = endOfInterpolation(line, next)
                    literal += "`_`".utf8
                } else {
                    index = next + 1
                    literal.append(Self.space)
                }
            } else if byte == Self.quote && count(Self.quote, line, index) >= quotes
                && count(Self.hash, line, index + quotes) >= hashes
            {
                index += quotes + hashes
                isInLiteral = false
                break
            } else {
                literal.append(byte)
                index += 1
            }
        }
        if !isInLiteral && !literal.isEmpty {
            let lines = literal.split(separator: Self.newline, omittingEmptySubsequences: false)
            texts.append(
                Text(
                    kind: .literal, line: literalLine,
                    lines: lines.map { String(decoding: $0, as: UTF8.self) }))
        }
        return min(index, line.count)
    }

    /// Returns the index after the parenthesis that closes the one at an index, or the line's end.
    private func endOfInterpolation(_ line: [UInt8], _ start: Int) -> Int {
        var depth = 0
        var index = start
        repeat {
            if line[index] == Self.open { depth += 1 }
            if line[index] == Self.close { depth -= 1 }
            index += 1
        } while index < line.count && depth > 0
        return index
    }

    /// Returns the number of consecutive occurrences of a byte from an index on.
    private func count(_ byte: UInt8, _ line: [UInt8], _ start: Int) -> Int {
        var index = start
        while index < line.count && line[index] == byte { index += 1 }
        return index - start
    }
}
