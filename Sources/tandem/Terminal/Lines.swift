import Tandem
import TandemIO

/// Writes a line to standard output, with escaped control characters.
func printLine(_ text: String) {
    StandardStream.output.write(PlainSymbols.shown(text.printable) + "\n")
}

/// Writes a line to standard error, after the program's name, with escaped control characters.
func printRemark(_ text: String) {
    StandardStream.error.write("tandem: \(text.printable)\n")
}

extension JSON {
    /// A string without quotation marks, or any other value as JSON.
    var plain: String { string ?? text }

    /// The plain text, in which control characters such as line breaks are escaped.
    var shown: String { plain.printable }
}

extension String {
    /// Returns the text padded with trailing spaces to a width.
    ///
    /// A text that already fills the width gets one space.
    func padded(to width: Int) -> String {
        count >= width ? self + " " : self + String(repeating: " ", count: width - count)
    }

    /// The text without trailing spaces.
    var trimmed: String { String(reversed().drop { $0 == " " }.reversed()) }
}
