import ArgumentParser

/// The format in which `tandem log` prints transactions.
enum LogFormat: String, ExpressibleByArgument, CaseIterable {
    case short
    case shortISO = "short-iso"
    case verbose
    case json
    case jsonPretty = "json-pretty"
    case csv
    case export
    case cat

    /// Returns the format with this name; throws if there is none.
    static func named(_ name: String) throws -> LogFormat {
        guard let format = LogFormat(rawValue: name) else {
            throw ValidationError(
                "the formats are " + allCases.map(\.rawValue).joined(separator: ", "))
        }
        return format
    }

    /// Whether the format accepts `--output-fields`.
    var takesFields: Bool {
        switch self {
        case .short, .shortISO, .cat: false
        case .verbose, .json, .jsonPretty, .csv, .export: true
        }
    }

    /// Whether remarks are printed as JSON objects between transactions, instead of on standard
    /// error.
    var isJSON: Bool { self == .json || self == .jsonPretty }

    /// Whether the format is human-readable.
    var isText: Bool { [.short, .shortISO, .verbose, .cat].contains(self) }

    /// Whether names and values are printed unchanged, without escapes.
    var isRaw: Bool { self == .csv || self == .export }

    /// Returns the writer of the format.
    func writer(_ logStyle: LogStyle) -> any EntryFormat {
        switch self {
        case .short, .shortISO:
            ShortFormat(
                style: logStyle.style, clock: WallClock(isUTC: logStyle.isUTC),
                isISO: self == .shortISO,
                width: logStyle.width)
        case .verbose: VerboseFormat(logStyle)
        case .json: JSONFormat(fields: logStyle.fields)
        case .jsonPretty: JSONPrettyFormat(line: JSONFormat(fields: logStyle.fields))
        case .csv: CSVFormat(fields: logStyle.fields)
        case .export: ExportFormat(fields: logStyle.fields)
        case .cat: CatFormat(style: logStyle.style)
        }
    }
}

/// The options that every format uses.
struct LogStyle {
    var style = Style()
    var isUTC = false
    /// The width of the terminal to which lines are cut; nil for whole lines.
    var width: Int?
    /// The keys to print; nil for all.
    var fields: Set<String>?
    /// Returns the display name of an object, or nil if it has none.
    var nameOf: (ObjectName) -> String? = { _ in nil }
}

/// A format that prints transactions one by one.
protocol EntryFormat {
    /// Appends the text that precedes the first transaction, such as column names.
    func begin(into bytes: inout [UInt8])
    /// Appends a transaction as whole lines.
    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8])
}

extension EntryFormat {
    func begin(into bytes: inout [UInt8]) {}
}
