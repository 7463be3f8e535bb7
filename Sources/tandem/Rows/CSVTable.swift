import Tandem
import TandemIO

/// A table in the format of RFC 4180: the first record contains the column names, and each other
/// record is a row.
struct CSVTable {
    /// A row of the table.
    struct Record {
        /// The number of the record's first line.
        var line: Int
        /// The record's bytes in the file.
        var bytes: [UInt8]
        /// One cell for each column; nil for an empty cell that is not quoted.
        var cells: [String?] = []
        /// The reason why the record can't be read.
        var problem: String?

        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    /// The column names in the first record.
    let columns: [String]
    private let file: any File
    private let delimiter: UInt8
    private var lines: ImportLines
    /// The start of the next record.
    var location: ImportLines.Location { lines.location }

    /// Reads the first record; throws ``CommandFailure`` if it has no column names.
    init(_ file: any File, _ name: String, delimiter: UInt8 = UInt8(ascii: ",")) throws {
        self.file = file
        self.delimiter = delimiter
        lines = ImportLines(file)
        guard let (bytes, _) = try Self.record(&lines, delimiter),
            String(validating: bytes, as: UTF8.self) != nil,
            let cells = CSVCells.split(bytes, delimiter)
        else { throw CommandFailure("the first line of \(name) has no column names", code: 2) }
        columns = cells.map { $0 ?? "" }
        guard Set(columns).count == columns.count, !columns.contains("") else {
            throw CommandFailure(
                "two columns have the same name in the first line of \(name); rename one", code: 2)
        }
    }

    /// Continues at a location between two records.
    mutating func go(to location: ImportLines.Location) {
        lines = ImportLines(file, from: location)
    }

    /// Returns the next record, readable or not, or nil after the last one.
    mutating func next() throws -> Record? {
        while let (bytes, line) = try Self.record(&lines, delimiter) {
            if bytes.isEmpty { continue }
            var record = Record(line: line, bytes: bytes)
            record.problem = read(&record)
            return record
        }
        return nil
    }

    /// Splits a record into its cells; returns the problem if that fails.
    private func read(_ record: inout Record) -> String? {
        guard String(validating: record.bytes, as: UTF8.self) != nil else {
            return ImportRow.notUTF8
        }
        guard let cells = CSVCells.split(record.bytes, delimiter) else {
            return "a quotation mark is missing"
        }
        record.cells = cells
        guard cells.count != columns.count else { return nil }
        let count = "\(cells.count) cell\(cells.count == 1 ? "" : "s")"
        let columns = "\(columns.count) column\(columns.count == 1 ? "" : "s")"
        return "the row has \(count), but the first line has \(columns)"
    }

    /// Returns the bytes of the next record, and the number of its first line.
    ///
    /// The record continues on the next line while a quoted cell is open, unless the record is
    /// already longer than a row can be.
    private static func record(
        _ lines: inout ImportLines, _ delimiter: UInt8
    ) throws -> ([UInt8], Int)? {
        let number = lines.location.line
        guard var bytes = try lines.next() else { return nil }
        guard bytes.contains(UInt8(ascii: "\"")) else { return (bytes, number) }
        var state = CSVState.atCell
        for byte in bytes { state.consume(byte, delimiter) }
        while state == .quoted, bytes.count < ImportLines.longest {
            let end = Array((lines.endedInReturn ? "\r\n" : "\n").utf8)
            guard let more = try lines.next() else { break }
            for byte in more { state.consume(byte, delimiter) }
            bytes += end + more
        }
        return (bytes, number)
    }
}

/// The state of a parser within a record.
private enum CSVState {
    case atCell, plain, quoted, atQuote

    /// Processes a byte; a quotation mark opens a quoted cell only at the beginning of a cell.
    mutating func consume(_ byte: UInt8, _ delimiter: UInt8) {
        switch (self, byte) {
        case (.atCell, UInt8(ascii: "\"")), (.atQuote, UInt8(ascii: "\"")): self = .quoted
        case (.quoted, UInt8(ascii: "\"")): self = .atQuote
        case (.quoted, _): break
        case (_, delimiter): self = .atCell
        default: self = .plain
        }
    }
}

/// Splits records into cells.
enum CSVCells {
    private static let mark = UInt8(ascii: "\"")

    /// Returns the cells of a record in UTF-8, or nil if a quoted cell is not closed.
    ///
    /// A cell is nil if it is empty and not quoted.
    static func split(_ bytes: [UInt8], _ delimiter: UInt8 = UInt8(ascii: ",")) -> [String?]? {
        bytes.withUnsafeBufferPointer { bytes in
            var cells: [String?] = []
            var start = 0
            while true {
                let isQuoted = start < bytes.count && bytes[start] == mark
                let end: Int
                if isQuoted {
                    guard let (cell, next) = quoted(bytes, start + 1) else { return nil }
                    guard next == bytes.count || bytes[next] == delimiter else { return nil }
                    cells.append(cell)
                    end = next
                } else {
                    end = bytes[start...].firstIndex(of: delimiter) ?? bytes.count
                    cells.append(
                        end == start ? nil : String(decoding: bytes[start..<end], as: UTF8.self))
                }
                if end == bytes.count { return cells }
                start = end + 1
            }
        }
    }

    /// Returns the quoted cell whose content begins at `start`, and the offset after its closing
    /// quotation mark; two marks in the content stand for one.
    private static func quoted(
        _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int
    ) -> (String, Int)? {
        var cell: [UInt8] = []
        var at = start
        while let end = bytes[at...].firstIndex(of: mark) {
            cell += bytes[at..<end]
            guard end + 1 < bytes.count, bytes[end + 1] == mark else {
                return (String(decoding: cell, as: UTF8.self), end + 1)
            }
            cell.append(mark)
            at = end + 2
        }
        return nil
    }
}
