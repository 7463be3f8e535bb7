import Tandem
import TandemIO

/// A row of a file, before its names and values are checked.
struct ImportRow {
    /// The value of a row's field.
    enum Field: Equatable {
        case json(JSON)
        /// The text of a table's cell; nil for an empty cell.
        case text(String?)

        /// The value as shown in messages.
        var json: JSON {
            switch self {
            case .json(let json): json
            case .text(let text): text.map { .string($0) } ?? .null
            }
        }

        var isCell: Bool { if case .text = self { true } else { false } }
    }

    var line: Int
    /// The row's text in the file.
    var raw: String
    /// The entity that the row names.
    var entity: String?
    /// The id of the exported object; nil if the row was not exported.
    var id: ObjectID?
    /// Whether the row was written by `tandem export`.
    var isCopy: Bool { id != nil }
    var fields: [String: Field] = [:]
    /// The reason why the row can't be read.
    var problem: String?

    /// Returns a row that is unreadable because it is not UTF-8.
    static func notUTF8(_ bytes: [UInt8], _ line: Int) -> ImportRow {
        ImportRow(
            line: line, raw: String(decoding: bytes, as: UTF8.self), problem: notUTF8)
    }

    static let notUTF8 = "the row is not UTF-8"
}

/// A reader of the rows of a file.
protocol ImportReader {
    /// The start of the next row.
    var location: ImportLines.Location { get }
    /// The columns that contain values of an entity that is chosen for the whole file; nil if the
    /// rows may name their entities, or have names of their own.
    var columns: [String]? { get }
    /// Returns the next row whose line satisfies a predicate, readable or not, or nil after the
    /// last one.
    ///
    /// Other lines are skipped without parsing their values.
    mutating func next(where isWanted: (_ line: Int) -> Bool) throws -> ImportRow?
}

extension ImportReader {
    /// Returns the next row, readable or not, or nil after the last one.
    mutating func next() throws -> ImportRow? { try next { _ in true } }
}

/// A reader of one JSON object per line: `{"entity": …, "values": {…}}`, or the values alone.
struct NDJSONReader: ImportReader {
    private var lines: ImportLines
    var location: ImportLines.Location { lines.location }
    var columns: [String]? { nil }

    init(_ file: any File, from location: ImportLines.Location) {
        lines = ImportLines(file, from: location)
    }

    mutating func next(where isWanted: (_ line: Int) -> Bool) throws -> ImportRow? {
        while true {
            let number = lines.location.line
            guard isWanted(number) else {
                guard try lines.skip() else { return nil }
                continue
            }
            guard let line = try lines.next() else { return nil }
            guard let text = String(validating: line, as: UTF8.self) else {
                return .notUTF8(line, number)
            }
            // Blank lines between rows are ignored.
            if text.allSatisfy(\.isWhitespace) { continue }
            return Self.row(text, number)
        }
    }

    static func row(_ text: String, _ line: Int) -> ImportRow {
        var row = ImportRow(line: line, raw: text)
        guard let members = (try? JSON(parsing: text))?.object else {
            row.problem = "the row is not a JSON object"
            return row
        }
        guard let values = members["values"]?.object else {
            row.fields = members.mapValues { .json($0) }
            return row
        }
        row.fields = values.mapValues { .json($0) }
        row.id = members["id"]?.string.flatMap { ObjectID($0) }
        row.entity = members["entity"]?.string ?? row.id?.entity
        return row
    }
}

/// A reader of CSV according to RFC 4180, with the column names in the first record.
///
/// Unless the entity has properties of these names, a column `id` contains the id of the exported
/// object, and a column `entity` its entity.
struct CSVReader: ImportReader {
    private var table: CSVTable
    private let properties: Set<String>
    var location: ImportLines.Location { table.location }

    var columns: [String]? {
        if table.columns.contains("entity"), !properties.contains("entity") { return nil }
        return table.columns.filter {
            $0 != ExportWriter.idColumn && ($0 != "id" || properties.contains($0))
        }
    }

    /// Reads the header; throws ``CommandFailure`` if it has no column names.
    init(_ file: any File, from location: ImportLines.Location, properties: Set<String>) throws {
        table = try CSVTable(file, file.path)
        self.properties = properties
        if location.offset > 0 { table.go(to: location) }
    }

    mutating func next(where isWanted: (_ line: Int) -> Bool) throws -> ImportRow? {
        var next = try table.next()
        while let record = next, !isWanted(record.line) { next = try table.next() }
        guard let record = next else { return nil }
        var row = ImportRow(line: record.line, raw: record.text)
        row.problem = record.problem
        guard row.problem == nil else { return row }
        for (name, cell) in zip(table.columns, record.cells) {
            switch name {
            case ExportWriter.idColumn: row.id = cell.flatMap { ObjectID($0) }
            case "id" where !properties.contains(name):
                row.id = cell.flatMap { ObjectID($0) }
            case "entity" where !properties.contains(name): row.entity = cell
            default: row.fields[name] = .text(cell)
            }
        }
        return row
    }
}
