/// Which word somebody may have meant who mistyped it.
enum NearWord {
    /// As many letters may be missing, wrong, too many, or in the other order.
    private static let mostEdits = 2

    /// The word that takes the fewest edits, the first of several; nil where none takes few, or all letters.
    ///
    ///     NearWord.nearest(to: "lgo", among: ["log", "show"])     // "log"
    static func nearest(to word: String, among words: [String]) -> String? {
        // Of what somebody pastes by mistake nothing is compared.
        guard word.count <= 32 else { return nil }
        let found = words.map { (word: $0, edits: edits(Array(word), Array($0))) }
            .min { $0.edits < $1.edits }
        guard let found, found.edits <= mostEdits, found.edits < word.count else { return nil }
        return found.word
    }

    /// How many edits lead from one to the other; two letters that changed places are one.
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
