/// Bars of the characters that terminals have for them, an eighth of a cell exact.
enum Bar {
    private static let lying = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
    private static let standing: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// A bar from the left over a share of so many cells; what is not nothing is seen.
    static func horizontal(_ share: Double, cells: Int) -> String {
        guard share > 0 else { return "" }
        let eighths = max(1, Int((min(share, 1) * Double(cells * 8)).rounded()))
        return String(repeating: "█", count: eighths / 8) + lying[eighths % 8]
    }

    /// A column of one cell over a share of its height; what is not nothing is seen.
    static func vertical(_ share: Double) -> Character {
        guard share > 0 else { return " " }
        return standing[max(0, min(7, Int((share * 8).rounded(.up)) - 1))]
    }
}
