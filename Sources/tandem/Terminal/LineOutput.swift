import TandemIO

/// Standard output in pieces of 64 KiB; line by line where a person or a follower waits for them.
final class LineOutput {
    private static let pieceBytes = 1 << 16
    private var bytes: [UInt8] = []
    private let flushesLines: Bool
    /// Whether formats for programs, whose bytes are those of the store, pass a terminal.
    private let filtersLines: Bool
    /// Whether a terminal, or a pager on one, shows it that knows no symbols.
    private let hasPlainSymbols: Bool
    private var pager: Pager?

    /// Output for a verb; a line for the shell that starts a pager is used on a terminal only.
    ///
    /// `isRaw` is for formats for programs that have no escapes: on a terminal they show only what may reach it, elsewhere all.
    init(flushesLines: Bool = false, pager command: String? = nil, isRaw: Bool = false) {
        let isTerminal = ThisProcess.isTerminal(StandardStream.output.descriptor)
        self.flushesLines = flushesLines || isTerminal
        filtersLines = isRaw && isTerminal
        hasPlainSymbols = PlainSymbols.areNeeded
        bytes.reserveCapacity(Self.pieceBytes + 4_096)
        // Without its pager the log is still worth reading.
        if isTerminal, let command { pager = try? Pager(command) }
    }

    /// Whether a pager shows it.
    var hasPager: Bool { pager != nil }

    /// The columns of the terminal that it goes to; nil where there is none.
    var terminalWidth: Int? {
        ThisProcess.terminalSize(StandardStream.output.descriptor)?.columns
    }

    /// Whether something that was written waits to be flushed.
    var isPending: Bool { !bytes.isEmpty }

    /// Whether the reader is gone.
    var isClosed: Bool { StandardStream.output.isClosed }

    /// Notices that the reader went away although there is nothing to write.
    func noticeReader() { StandardStream.output.noticeReader() }

    /// Appends whole lines.
    func write(_ lines: (inout [UInt8]) -> Void) {
        lines(&bytes)
        if flushesLines || bytes.count >= Self.pieceBytes { flush() }
    }

    /// Appends a line, with only what may reach a terminal.
    func line(_ text: String) { styledLine(text.printable) }

    /// Appends a line that may have colours, whose texts the caller has made printable.
    func styledLine(_ text: String) {
        write { $0.put(text, "\n") }
    }

    /// Hands over what was written so far.
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

    /// The same lines with only what may reach a terminal.
    private static func printableLines(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "\n")
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { String($0).printable }.joined(separator: "\n")
    }

    /// Hands over the rest, and waits for the reader of a pager.
    func finish() {
        flush()
        pager?.finish()
        pager = nil
    }
}

extension [UInt8] {
    /// Appends texts as UTF-8.
    mutating func put(_ texts: String...) {
        for text in texts { append(contentsOf: text.utf8) }
    }

    /// Appends a character of ASCII.
    mutating func put(byte character: Unicode.Scalar) { append(UInt8(ascii: character)) }

    /// Appends a number's digits.
    mutating func put<Number: BinaryInteger>(number: Number) {
        put(String(number))
    }
}
