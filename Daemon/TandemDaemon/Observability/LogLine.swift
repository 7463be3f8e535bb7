/// Formats a line of the log: `name: key=value key=value message="…"`.
///
/// A value is bare if it consists of letters, digits and `_ . / : @ + -`. Other values are quoted,
/// with `\"`, `\\`, `\n`, `\t`, and `\u{…}` for other scalars that must not reach a terminal. The
/// name of a client thus can't start a new line.
package enum LogLine {
    /// The length above which a value is truncated, with `…` at the end.
    static let maximumValueCharacters = 1_000

    /// Returns the line of an event.
    package static func text(
        _ event: LogEvent, _ fields: KeyValuePairs<String, any CustomStringConvertible> = [:],
        message: String? = nil
    ) -> String {
        var line = event.rawValue + ":"
        for (key, value) in fields { line += " \(key)=\(quoted(value.description))" }
        if let message { line += " message=\(quoted(message, always: true))" }
        return line
    }

    private static func quoted(_ value: String, always: Bool = false) -> String {
        guard always || value.isEmpty || !value.utf8.allSatisfy(isPlain) else {
            return value.count > maximumValueCharacters ? cut(value) : value
        }
        return "\"" + cut(value).unicodeScalars.map(escaped).joined() + "\""
    }

    private static func cut(_ value: String) -> String {
        guard value.count > maximumValueCharacters else { return value }
        return value.prefix(maximumValueCharacters) + "…"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "_./:@+-".utf8.contains(byte)
        }
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\"": "\\\""
        case "\\": "\\\\"
        case "\n": "\\n"
        case "\t": "\\t"
        default:
            scalar.isPrintable ? String(scalar) : scalar.hexEscape
        }
    }
}

/// A log with a minimum level; the fields of events below it are not evaluated.
struct DaemonLog: Sendable {
    private let level: LogLevel
    private let sink: @Sendable (LogLevel, String) -> Void

    /// Creates a log for events at or above a level.
    ///
    /// `sink` must not read the committer's counters or state, because they may be changing.
    init(level: LogLevel = .info, _ sink: @escaping @Sendable (LogLevel, String) -> Void) {
        self.level = level
        self.sink = sink
    }

    func callAsFunction(
        _ event: LogEvent,
        _ fields: @autoclosure () -> KeyValuePairs<String, any CustomStringConvertible> = [:],
        _ message: @autoclosure () -> String? = nil
    ) {
        guard isOn(event.level) else { return }
        sink(event.level, LogLine.text(event, fields(), message: message()))
    }

    /// Whether events of a level are logged.
    func isOn(_ level: LogLevel) -> Bool { level.rawValue <= self.level.rawValue }
}
