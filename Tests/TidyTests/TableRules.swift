/// The rules on tables in pages, whose stray cells a renderer drops silently.
enum TableRules {
    /// Returns a finding for each row of a table with more or fewer cells than the table's header.
    static func cells(_ file: SourceFile) -> [Finding] {
        var (isFenced, header) = (false, 0)
        return file.lines.enumerated().compactMap { index, line in
            if line.hasPrefix("```") { isFenced.toggle() }
            guard !isFenced, line.hasPrefix("|") else {
                header = 0
                return nil
            }
            let count = separators(in: line) - 1
            if header == 0 { header = count }
            guard count != header else { return nil }
            return Finding(
                path: file.path, line: index + 1,
                message: "the row has \(count) cells, but the header has \(header)")
        }
    }

    /// Returns the number of bars in a row that separate cells; `\|` is part of a cell.
    private static func separators(in line: String) -> Int {
        var (count, isEscaped) = (0, false)
        for character in line.utf8 {
            if character == UInt8(ascii: "|"), !isEscaped { count += 1 }
            isEscaped = character == UInt8(ascii: "\\") && !isEscaped
        }
        return count
    }
}
