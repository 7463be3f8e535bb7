/// Bars made of block characters, with a resolution of an eighth of a cell.
enum Bar {
    private static let horizontalBlocks = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
    private static let verticalBlocks: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// Returns a horizontal bar that fills a share of `cells`.
    ///
    /// A share above zero is always visible.
    static func horizontal(_ share: Double, cells: Int) -> String {
        guard share > 0 else { return "" }
        let eighths = max(1, Int((min(share, 1) * Double(cells * 8)).rounded()))
        return String(repeating: "█", count: eighths / 8) + horizontalBlocks[eighths % 8]
    }

    /// Returns a vertical bar of one cell; a share above zero is always visible.
    static func vertical(_ share: Double) -> Character {
        guard share > 0 else { return " " }
        return verticalBlocks[max(0, min(7, Int((share * 8).rounded(.up)) - 1))]
    }
}
