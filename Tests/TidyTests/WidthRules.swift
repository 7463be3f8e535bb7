/// The rules on the width of comments and pages.
enum WidthRules {
    static let comment = 100
    static let page = 120

    /// The files that may still have wide comments; the set may only get smaller.
    static let remaining: Set<String> = []

    /// Returns a finding for each comment line that is too wide.
    ///
    /// Rows of tables, code samples and lines with an address may be wide.
    static func comments(_ file: SourceFile) -> [Finding] {
        guard !remaining.contains(file.path) else { return [] }
        return file.texts.filter { $0.kind != .literal }.flatMap { text in
            text.lines.enumerated().compactMap { offset, content -> Finding? in
                let number = text.line + offset
                // A code sample has four spaces besides the one after the slashes.
                guard isTooWide(file.lines[number - 1], comment), !content.hasPrefix("     ")
                else { return nil }
                return finding(file, number, comment)
            }
        }
    }

    /// Returns a finding for each line of a page that is too wide.
    ///
    /// Rows of tables, code blocks and lines with an address may be wide.
    static func lines(_ file: SourceFile) -> [Finding] {
        var isFenced = false
        return file.lines.enumerated().compactMap { index, line in
            if line.hasPrefix("```") { isFenced.toggle() }
            guard !isFenced, !line.hasPrefix("    "), isTooWide(line, page) else { return nil }
            return finding(file, index + 1, page)
        }
    }

    private static func isTooWide(_ line: String, _ limit: Int) -> Bool {
        // Counting characters takes longer than counting bytes.
        guard line.utf8.count > limit, line.count > limit, !line.contains("://") else {
            return false
        }
        let text = line.drop { " /".contains($0) }
        return !text.hasPrefix("|")
    }

    private static func finding(_ file: SourceFile, _ line: Int, _ limit: Int) -> Finding {
        Finding(
            path: file.path, line: line,
            message: "is \(file.lines[line - 1].count) columns wide, more than \(limit)")
    }
}
