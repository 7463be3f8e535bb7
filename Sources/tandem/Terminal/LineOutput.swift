import TandemIO

/// Buffers standard output, and writes it in pieces of 64 KiB.
///
/// On a terminal, or if the verb follows the journal, each line is written at once.
final class LineOutput {
    private static let pieceBytes = 1 << 16
    private var bytes: [UInt8] = []
    private let flushesLines: Bool
    /// Whether control characters of an unescaped format are escaped, because the output is a
    /// terminal.
    private let filtersLines: Bool
    /// Whether symbols are replaced, because the terminal or the pager's terminal can't show them.
    private let hasPlainSymbols: Bool
    private var pager: Pager?

    /// Creates the output of a verb; on a terminal, `command` is run as the pager.
    ///
    /// `isRaw` marks a machine-readable format without escapes: on a terminal, its control
    /// characters are escaped; elsewhere, the output is unchanged.
    init(flushesLines: Bool = false, pager command: String? = nil, isRaw: Bool = false) {
        let isTerminal = ThisProcess.isTerminal(StandardStream.output.descriptor)
        self.flushesLines = flushesLines || isTerminal
        filtersLines = isRaw && isTerminal
        hasPlainSymbols = PlainSymbols.areNeeded
        bytes.reserveCapacity(Self.pieceBytes + 4_096)
        // If the pager can't be started, the log is printed without it.
        if isTerminal, let command { pager = try? Pager(command) }
    }

    /// Whether the output goes to a pager.
    var hasPager: Bool { pager != nil }

    /// The width of the terminal; nil if there is none.
    var terminalWidth: Int? {
        ThisProcess.terminalSize(StandardStream.output.descriptor)?.columns
    }

    /// Whether some output has not been flushed.
    var isPending: Bool { !bytes.isEmpty }

    /// Whether the reader of the output is gone.
    var isClosed: Bool { StandardStream.output.isClosed }

    /// Updates ``isClosed`` without writing anything.
    func checkReader() { StandardStream.output.checkReader() }

    /// Appends whole lines.
    func write(_ lines: (inout [UInt8]) -> Void) {
        lines(&bytes)
        if flushesLines || bytes.count >= Self.pieceBytes { flush() }
    }

    /// Appends a line in which control characters are escaped.
    func line(_ text: String) { styledLine(text.printable) }

    /// Appends a line that may contain colours; the caller must have escaped all other text.
    func styledLine(_ text: String) {
        write { $0.put(text, "\n") }
    }

    /// Writes the buffered output.
    func flush() {
        if filtersLines { bytes = Array(Self.printableLines(bytes).utf8) }
        if hasPlainSymbols {
            StandardStream.output.write(
                PlainSymbols.replaced(String(decoding: bytes, as: UTF8.self)))
        } else {
            bytes.withUnsafeBytes { StandardStream.output.write($0) }
        }
        bytes.removeAll(keepingCapacity: bytes.capacity <= 4 * Self.pieceBytes)
    }

    /// Returns the buffered lines with escaped control characters.
    private static func printableLines(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "\n")
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { String($0).printable }.joined(separator: "\n")
    }

    /// Writes the buffered output, and waits until the user quits the pager.
    func finish() {
        flush()
        pager?.finish()
        pager = nil
    }
}

extension [UInt8] {
    /// Appends strings as UTF-8.
    mutating func put(_ texts: String...) {
        for text in texts { append(contentsOf: text.utf8) }
    }

    /// Appends an ASCII character.
    mutating func put(byte character: Unicode.Scalar) { append(UInt8(ascii: character)) }

    /// Appends a number's digits.
    mutating func put<Number: BinaryInteger>(number: Number) {
        put(String(number))
    }
}
