/// A text of Swift reduced to its code, line for line.
///
/// Comments go, string literals keep only their quotes. It knows line comments, one-line and
/// multi-line strings, raw strings and escapes; interpolations count as part of their string.
struct Code {
    private(set) var lines: [String] = []
    private var isInText = false
    private var hashes = 0

    init(_ text: String) {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            lines.append(reduced(Array(line)))
        }
    }

    private mutating func reduced(_ line: [Character]) -> String {
        var kept = ""
        var index = 0
        while index < line.count {
            if isInText {
                let end = close(line, "\"\"\"", from: index)
                isInText = end == nil
                index = end ?? line.count
            } else if starts(line, "//", index) {
                break
            } else if let opening = opening(line, index) {
                hashes = opening.hashes
                kept += "\"\""
                index = opening.end
                if opening.isMultiline {
                    isInText = true
                } else {
                    index = close(line, "\"", from: index) ?? line.count
                }
            } else {
                kept.append(line[index])
                index += 1
            }
        }
        return kept
    }

    private func opening(
        _ line: [Character], _ start: Int
    ) -> (hashes: Int, isMultiline: Bool, end: Int)? {
        var index = start
        while index < line.count && line[index] == "#" { index += 1 }
        guard index < line.count && line[index] == "\"" else { return nil }
        let isMultiline = starts(line, "\"\"\"", index)
        return (index - start, isMultiline, index + (isMultiline ? 3 : 1))
    }

    /// Where the text goes on behind a closing delimiter; nil when there is none.
    private func close(_ line: [Character], _ quotes: String, from start: Int) -> Int? {
        var index = start
        let delimiter = quotes + String(repeating: "#", count: hashes)
        while index < line.count {
            if hashes == 0 && line[index] == "\\" {
                index += 2
            } else if starts(line, delimiter, index) {
                return index + delimiter.count
            } else {
                index += 1
            }
        }
        return nil
    }

    private func starts(_ line: [Character], _ text: String, _ index: Int) -> Bool {
        line[index...].starts(with: text)
    }
}
