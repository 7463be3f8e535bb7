import Testing

/// Samples for the rules on tables.
@Suite struct TableRuleTests {
    @Test func `a row with a cell too many or too few is found`() {
        let text = """
            | law | text |
            |---|---|
            | 1 | `a \\| b` |
            | 2 | a | b |
            | 3 |

            | one |
            |---|
            | cell |
            ```
            | a | b
            | c |
            ```
            """
        #expect(
            messages(TableRules.cells(file("README.md", text))) == [
                "README.md:4: the row has 3 cells, but the header has 2",
                "README.md:5: the row has 1 cells, but the header has 2",
            ])
    }
}
