import ArgumentParser

/// How `tandem log` prints a transaction.
enum LogFormat: String, ExpressibleByArgument, CaseIterable {
    case short
    case shortISO = "short-iso"
    case verbose
    case json
    case jsonPretty = "json-pretty"
    case csv
    case export
    case cat

    /// The format of a name; throws for a name that none has.
    static func named(_ name: String) throws -> LogFormat {
        guard let format = LogFormat(rawValue: name) else {
            throw ValidationError("known are " + allCases.map(\.rawValue).joined(separator: ", "))
        }
        return format
    }

    /// Whether it takes `--output-fields`.
    var takesFields: Bool {
        switch self {
        case .short, .shortISO, .cat: false
        case .verbose, .json, .jsonPretty, .csv, .export: true
        }
    }

    /// Whether remarks stand between the transactions as objects, not on standard error.
    var isJSON: Bool { self == .json || self == .jsonPretty }

    /// Whether it is for people, with remarks between the transactions.
    var isText: Bool { [.short, .shortISO, .verbose, .cat].contains(self) }

    /// Whether it contains names and values unchanged, without escapes.
    var isRaw: Bool { self == .csv || self == .export }

    /// What writes it.
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

/// What a person may choose about any format.
struct LogLook {
    var style = Style()
    var isUTC = false
    /// The columns of a terminal that lines of the log are cut to; nil for whole lines.
    var width: Int?
    /// The keys that are shown; nil for all.
    var fields: Set<String>?
    /// What an object is called, where it has an obvious name.
    var nameOf: (ObjectName) -> String? = { _ in nil }
}

/// Writes transactions one after the other.
protocol EntryFormat {
    /// What stands before the first, as the names of columns do.
    func begin(into bytes: inout [UInt8])
    /// Appends a transaction, whole lines of it.
    mutating func append(_ entry: LogEntry, to bytes: inout [UInt8])
}

extension EntryFormat {
    func begin(into bytes: inout [UInt8]) {}
}
