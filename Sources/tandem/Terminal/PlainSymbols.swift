import TandemIO

/// ASCII replacements for the tool's symbols on a terminal whose locale is C or POSIX.
///
/// Each is one cell wide, as the symbol is. Elsewhere, and in files and pipes, the output is UTF-8
/// in any locale.
enum PlainSymbols {
    /// Whether standard output is such a terminal.
    static let areNeeded =
        isPlain(locale: ThisProcess.environment)
        && ThisProcess.isTerminal(StandardStream.output.descriptor)

    /// Returns whether the environment names a locale without UTF-8; false if it names none.
    static func isPlain(locale variable: (String) -> String?) -> Bool {
        let named = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty }
        return named == "C" || named == "POSIX"
    }

    private static let substitutes: [Character: Character] = [
        "→": ">", "…": "~", "▲": "^", "▼": "v", "●": "*", "µ": "u", "≤": "<", "╵": "'",
        "▁": ".", "▂": ".", "▃": ":", "▄": ":", "▅": "|", "▆": "|", "▇": "#", "█": "#",
        "▏": "|", "▎": "|", "▍": "|", "▌": "|", "▋": "#", "▊": "#", "▉": "#",
    ]

    /// Returns a text in the form that standard output can show.
    static func shown(_ text: String) -> String { areNeeded ? replaced(text) : text }

    /// Returns a text with all symbols replaced.
    static func replaced(_ text: String) -> String {
        String(text.map { substitutes[$0] ?? $0 })
    }
}
