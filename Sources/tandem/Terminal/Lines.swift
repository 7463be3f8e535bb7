import Tandem
import TandemIO

/// Writes a line to standard output, with only what may reach a terminal.
func printLine(_ text: String) {
    StandardStream.output.write(PlainSymbols.shown(text.printable) + "\n")
}

/// Writes a line to standard error, after the name of the program, with only what may reach a terminal.
func printRemark(_ text: String) {
    StandardStream.error.write("tandem: \(text.printable)\n")
}

extension JSON {
    /// A string without quotes, anything else as JSON.
    var plain: String { string ?? text }

    /// The same in a line that people read: without what could pass for another line or move a terminal's cursor.
    var shown: String { plain.printable }
}

extension String {
    /// The text with spaces up to a width.
    func padded(to width: Int) -> String {
        count >= width ? self + " " : self + String(repeating: " ", count: width - count)
    }

    /// The text without spaces at its end.
    var trimmed: String { String(reversed().drop { $0 == " " }.reversed()) }
}
