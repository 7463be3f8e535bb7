import TandemIO

/// ASCII replacements for the tool's symbols on a terminal whose locale is C or POSIX.
///
/// A replacement has the width of its symbol. Files and pipes get UTF-8 in any locale.
enum PlainSymbols {
    /// Whether standard output is a terminal in the locale C or POSIX.
    static let areNeeded =
        isPlain(locale: ThisProcess.environment)
        && ThisProcess.isTerminal(StandardStream.output.descriptor)

    /// Returns whether the environment names the locale C or POSIX; false if it names no locale.
    static func isPlain(locale variable: (String) -> String?) -> Bool {
        let named = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty }
        return named == "C" || named == "POSIX"
    }

    private static let substitutes: [Character: Character] = [
        "→": ">", "…": "~", "▲": "^", "▼": "v", "●": "*", "µ": "u", "≤": "<", "╵": "'",
        "▁": ".", "▂": ".", "▃": ":", "▄": ":", "▅": "|", "▆": "|", "▇": "#", "█": "#",
        "▏": "|", "▎": "|", "▍": "|", "▌": "|", "▋": "#", "▊": "#", "▉": "#",
    ]

    /// Returns a string with its symbols replaced if ``areNeeded``, otherwise the string itself.
    static func shown(_ text: String) -> String { areNeeded ? replaced(text) : text }

    /// Returns a string with all symbols replaced.
    static func replaced(_ text: String) -> String {
        String(text.map { substitutes[$0] ?? $0 })
    }
}
