/// The table as plain values, to be displayed, compared and printed.
struct TableText: Equatable {
    /// The row of a team.
    struct Row: Equatable {
        var number: UInt64
        var name: String
        var wins: Int
    }

    /// A zone and its teams.
    struct Zone: Equatable {
        var name: String
        var rows: [Row]
    }

    var zones: [Zone]

    /// The number of teams.
    var count: Int { zones.reduce(0) { $0 + $1.rows.count } }

    /// All lines without marks, for the comparison at the end of the demo.
    var text: String { lines(marks: [:]).map { $0 + "\n" }.joined() }

    /// Returns the lines; `marks` maps the numbers of teams to marks printed before their names.
    func lines(marks: [UInt64: String], emphasis: (String) -> String = { $0 }) -> [String] {
        guard !zones.isEmpty else { return ["no teams yet"] }
        var lines: [String] = []
        for zone in zones {
            if !lines.isEmpty { lines.append("") }
            lines.append(zone.name)
            for row in zone.rows {
                let line = Self.padded(row.name, 26) + Self.leading("\(row.wins)", 3)
                let mark = marks[row.number]
                lines.append((mark ?? " ") + " " + (mark == nil ? line : emphasis(line)))
            }
        }
        return lines
    }

    /// Arranges lines in columns, each of at most `rows` lines if the width allows it.
    static func columns(_ lines: [String], width: Int, rows: Int) -> [String] {
        let columnWidth = 38
        let wanted = (lines.count + max(rows, 1) - 1) / max(rows, 1)
        let count = max(1, min(wanted, (width + 2) / columnWidth))
        let height = (lines.count + count - 1) / count
        return (0..<height).map { row in
            (0..<count).map { column in
                let index = column * height + row
                let line = index < lines.count ? lines[index] : ""
                return column == count - 1 ? line : padded(line, columnWidth)
            }.joined()
        }
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - visibleCount(text)))
    }

    private static func leading(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    /// Returns the number of terminal columns of a text, without its colour sequences.
    private static func visibleCount(_ text: String) -> Int {
        var count = 0
        var inSequence = false
        for character in text {
            if character == "\u{1b}" { inSequence = true }
            if !inSequence { count += 1 }
            if inSequence && character.isLetter { inSequence = false }
        }
        return count
    }
}
