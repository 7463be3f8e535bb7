import Testing

@testable import tandem

/// Tables on a terminal: columns stay below their headings, whatever the width of the values.
@Suite(.ownThread) struct TextTableTests {
    @Test func `a column is as wide as its widest value`() {
        let table = TextTable(
            headings: ["ID", "AUTHOR", "NAME"],
            rows: [["1", "an author with a long name", "x"], ["100", "日本", ""]])
        #expect(
            table.lines == [
                "ID   AUTHOR                      NAME", "1    an author with a long name  x",
                "100  日本",
            ])
        #expect(TextTable(headings: ["A", "B"], rows: []).lines == ["A  B"])
    }

    @Test func `a coloured line is truncated by its visible width`() {
        let style = Style(isOn: true)
        let line = style.paint("abc", .position) + " " + style.paint("日本語", .name) + " end"
        #expect(line.cutPainted(toCells: 14) == line)
        #expect(
            line.cutPainted(toCells: 8)
                == "\u{1b}[2mabc\u{1b}[0m \u{1b}[1m日…\u{1b}[0m")
        #expect("plain text".cutPainted(toCells: 6) == "plain…")
        #expect("plain text".cutPainted(toCells: 10) == "plain text")
        for width in 1...14 {
            let plain = line.cutPainted(toCells: width).replacing(#/\u{1b}\[[0-9]*m/#, with: "")
            #expect(plain.cells <= width)
        }
    }
}
