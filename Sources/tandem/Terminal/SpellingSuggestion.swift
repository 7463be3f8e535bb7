/// Finds spelling suggestions for mistyped words.
enum SpellingSuggestion {
    /// The maximum number of edits: letters that are missing, wrong, superfluous or swapped.
    private static let mostEdits = 2

    /// Returns the first known word with the smallest number of edits.
    ///
    /// Returns nil if that number is greater than two, or not less than the number of letters.
    static func nearest(to word: String, among words: [String]) -> String? {
        // Long words, such as text pasted by mistake, are not compared.
        guard word.count <= 32 else { return nil }
        let found = words.map { (word: $0, edits: edits(Array(word), Array($0))) }
            .min { $0.edits < $1.edits }
        guard let found, found.edits <= mostEdits, found.edits < word.count else { return nil }
        return found.word
    }

    /// Returns the number of edits between two words; swapped neighbours are one edit.
    private static func edits(_ a: [Character], _ b: [Character]) -> Int {
        var rows = [Array(0...b.count)]
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                let change = rows[i][j] + (a[i] == b[j] ? 0 : 1)
                var best = min(change, rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
