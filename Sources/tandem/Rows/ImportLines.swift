import TandemIO

/// Reads the lines of a file from any offset, with their numbers.
struct ImportLines {
    /// The start of a line in the file.
    struct Location: Hashable {
        var offset: UInt64 = 0
        /// The number of the line, counted from 1.
        var line = 1
    }

    /// The longest line that can be a row, in bytes; a longer row would not fit into a transaction.
    static let longest = 32 << 20
    private let file: any File
    private let longest: Int
    private var bytes: [UInt8] = []
    private var start = 0
    /// The start of the next line.
    private(set) var location: Location

    /// Reads the lines starting at a location; a line of more than `longest` bytes is an error.
    init(_ file: any File, from location: Location = Location(), longest: Int = Self.longest) {
        self.file = file
        self.longest = longest
        self.location = location
        filled = location.offset
    }

    private var filled: UInt64
    /// Whether the last line ended with a carriage return, which is content only within a quoted
    /// cell.
    private(set) var endedInReturn = false

    private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

    /// Returns the next line without its line break, or nil after the last one.
    ///
    /// Throws ``CommandFailure`` for a line that is too long.
    mutating func next() throws -> [UInt8]? {
        guard let (end, ending) = try nextEnd() else { return nil }
        return consume(through: end, ending: ending)
    }

    /// Skips the next line; returns false after the last one.
    mutating func skip() throws -> Bool {
        guard let (end, ending) = try nextEnd() else { return false }
        pass(end, ending: ending)
        return true
    }

    /// Fills the buffer up to the end of the next line; returns the end's offset and the length of
    /// the line break, or nil after the last line.
    private mutating func nextEnd() throws -> (end: Int, ending: Int)? {
        var searched = start
        while true {
            if let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) { return (end, 1) }
            searched = bytes.count - start
            bytes.removeSubrange(..<start)
            start = 0
            guard bytes.count <= longest else {
                throw CommandFailure(
                    "\(file.path) line \(location.line) is longer than \(longest >> 20) MiB, the most "
                        + "that a row can have; split or remove the line, or check the file's line endings"
                )
            }
            var more = try file.read(count: 1 << 16, at: filled)[...]
            filled += UInt64(more.count)
            if location.offset == 0, bytes.isEmpty, more.starts(with: Self.byteOrderMark) {
                more = more.dropFirst(3)
                location.offset = 3
            }
            bytes += more
            if more.isEmpty { return bytes.isEmpty ? nil : (bytes.count, 0) }
        }
    }

    private mutating func consume(through end: Int, ending: Int) -> [UInt8] {
        var line = Array(bytes[start..<end])
        endedInReturn = line.last == UInt8(ascii: "\r")
        if endedInReturn { line.removeLast() }
        pass(end, ending: ending)
        return line
    }

    private mutating func pass(_ end: Int, ending: Int) {
        location.offset += UInt64(end + ending - start)
        location.line += 1
        start = min(end + ending, bytes.count)
    }
}
