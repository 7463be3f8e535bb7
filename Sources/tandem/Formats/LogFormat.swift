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

    /// Returns the format with a name; throws if there is none.
    static func named(_ name: String) throws -> LogFormat {
        guard let format = LogFormat(rawValue: name) else {
            throw ValidationError("known are " + allCases.map(\.rawValue).joined(separator: ", "))
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

    /// Whether remarks between transactions are printed as objects, not on standard error.
    var isJSON: Bool { self == .json || self == .jsonPretty }

    /// Whether the format is for people, with remarks between the transactions.
    var isText: Bool { [.short, .shortISO, .verbose, .cat].contains(self) }

    /// Whether names and values are printed unchanged, without escapes.
    var isRaw: Bool { self == .csv || self == .export }

    /// Returns the writer of the format.
    func writer(_ look: LogLook) -> any EntryFormat {
        switch self {
        case .short, .shortISO:
            ShortFormat(
                style: look.style, clock: WallClock(isUTC: look.isUTC), isISO: self == .shortISO,
                width: look.width)
        case .verbose: VerboseFormat(look)
        case .json: JSONFormat(fields: look.fields)
        case .jsonPretty: JSONPrettyFormat(line: JSONFormat(fields: look.fields))
        case .csv: CSVFormat(fields: look.fields)
        case .export: ExportFormat(fields: look.fields)
        case .cat: CatFormat(style: look.style)
        }
    }
}

/// The formatting options that apply to any format.
struct LogLook {
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
    /// Appends the text before the first transaction, such as column names.
    func begin(into bytes: inout [UInt8])
    /// Appends a transaction as whole lines.
    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8])
}

extension EntryFormat {
    func begin(into bytes: inout [UInt8]) {}
}
