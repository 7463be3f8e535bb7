import Tandem
import TandemIO

/// A row of a file, not yet of any entity.
struct ImportRow {
    /// What stands in a row under a name.
    enum Field: Equatable {
        case json(JSON)
        /// A cell of a table; nil for an empty one.
        case text(String?)
    }

    var line: Int
    /// The text as it stands in the file.
    var raw: String
    /// The entity that it says it is of.
    var entity: String?
    var fields: [String: Field] = [:]
    /// Why it can't be read.
    var problem: String?

    /// A row in another coding of text.
    static func notUTF8(_ bytes: [UInt8], _ line: Int) -> ImportRow {
        ImportRow(
            line: line, raw: String(decoding: bytes, as: UTF8.self), problem: "it is not in UTF-8")
    }
}

/// Reads the rows of a file one after the other.
protocol ImportReader {
    /// Where the next row begins.
    var place: ImportLines.Place { get }
    /// The next row, also one that can't be read; nil behind the last.
    mutating func next() throws -> ImportRow?
}

/// One JSON object a line: `{"entity": …, "values": {…}}`, or the values alone.
struct NDJSONReader: ImportReader {
    private var lines: ImportLines
    var place: ImportLines.Place { lines.place }

    init(_ file: any File, from place: ImportLines.Place) {
        lines = ImportLines(file, from: place)
    }

    mutating func next() throws -> ImportRow? {
        while true {
            let number = lines.place.line
            guard let line = try lines.next() else { return nil }
            guard let text = String(validating: line, as: UTF8.self) else {
                return .notUTF8(line, number)
            }
            // Lines between rows are no rows.
            if text.allSatisfy(\.isWhitespace) { continue }
            return Self.row(text, number)
        }
    }

    static func row(_ text: String, _ line: Int) -> ImportRow {
        var row = ImportRow(line: line, raw: text)
        guard let members = (try? JSON(parsing: text))?.object else {
            row.problem = "it is no JSON object"
            return row
        }
        guard let values = members["values"]?.object else {
            row.fields = members.mapValues { .json($0) }
            return row
        }
        row.fields = values.mapValues { .json($0) }
        row.entity =
            members["entity"]?.string
            ?? members["id"]?.string.flatMap { ObjectID($0)?.entity }
        return row
    }
}

/// RFC 4180: the names of the columns in the first record.
struct CSVReader: ImportReader {
    private var lines: ImportLines
    private let columns: [String]
    var place: ImportLines.Place { lines.place }

    /// Reads the header; throws ``CommandFailure`` where that names no columns.
    init(_ file: any File, from place: ImportLines.Place) throws {
        var first = ImportLines(file)
        guard let (bytes, _) = try Self.record(&first),
            let text = String(validating: bytes, as: UTF8.self), let cells = Self.cells(text)
        else {
            throw CommandFailure("\(file.path) has no names of columns in its first line", code: 2)
        }
        columns = cells.map { $0 ?? "" }
        guard Set(columns).count == columns.count, !columns.contains("") else {
            throw CommandFailure(
                "\(file.path): each column needs a name of its own in the first line", code: 2)
        }
        lines = place.offset == 0 ? first : ImportLines(file, from: place)
    }

    mutating func next() throws -> ImportRow? {
        while let (bytes, line) = try Self.record(&lines) {
            if bytes.isEmpty { continue }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                return .notUTF8(bytes, line)
            }
            var row = ImportRow(line: line, raw: text)
            guard let cells = Self.cells(text) else {
                row.problem = "a quotation mark is missing"
                return row
            }
            guard cells.count == columns.count else {
                row.problem = "it has \(cells.count) cells, the first line \(columns.count)"
                return row
            }
            for (name, cell) in zip(columns, cells) where name != "id" {
                if name == "entity" { row.entity = cell } else { row.fields[name] = .text(cell) }
            }
            return row
        }
        return nil
    }

    /// The lines of a record, which goes on while a quotation is open, and the number of the first.
    private static func record(_ lines: inout ImportLines) throws -> ([UInt8], Int)? {
        let number = lines.place.line
        guard var bytes = try lines.next() else { return nil }
        var state = CSVState.atCell
        for byte in bytes { state.take(byte) }
        while state == .quoted, bytes.count < longest {
            let end = Array((lines.endedInReturn ? "\r\n" : "\n").utf8)
            guard let more = try lines.next() else { break }
            for byte in more { state.take(byte) }
            bytes += end + more
        }
        return (bytes, number)
    }

    /// A quotation that goes on for longer was never ended.
    private static let longest = 32 << 20

    /// The cells of a record: nil for an empty one that is not quoted; nil as a whole where a quotation does not end.
    static func cells(_ text: String) -> [String?]? {
        var cells: [String?] = []
        var rest = Array(text.unicodeScalars)[...]
        while true {
            let (cell, isQuoted) = takeCell(&rest)
            guard let cell else { return nil }
            cells.append(cell.isEmpty && !isQuoted ? nil : cell)
            guard rest.first == "," else { return rest.isEmpty ? cells : nil }
            rest = rest.dropFirst()
        }
    }

    private static func takeCell(
        _ rest: inout ArraySlice<Unicode.Scalar>
    ) -> (cell: String?, isQuoted: Bool) {
        var cell = String.UnicodeScalarView()
        guard rest.first == "\"" else {
            while let next = rest.first, next != "," { cell.append(rest.removeFirst()) }
            return (String(cell), false)
        }
        rest = rest.dropFirst()
        while let next = rest.popFirst() {
            if next != "\"" {
                cell.append(next)
            } else if rest.first == "\"" {
                cell.append(rest.removeFirst())
            } else {
                return (String(cell), true)
            }
        }
        return (nil, true)
    }
}

/// Where in a record of a table one is.
private enum CSVState {
    case atCell, plain, quoted, atQuote

    /// A quotation mark is one where a cell begins, and else a character like others.
    mutating func take(_ byte: UInt8) {
        switch (self, byte) {
        case (.atCell, UInt8(ascii: "\"")), (.atQuote, UInt8(ascii: "\"")): self = .quoted
        case (.quoted, UInt8(ascii: "\"")): self = .atQuote
        case (.quoted, _): break
        case (_, UInt8(ascii: ",")): self = .atCell
        default: self = .plain
        }
    }
}
