import ArgumentParser
import Tandem
import TandemIO

/// The options for the range of the journal.
struct LogRangeOptions: ParsableArguments {
    // A time may begin with a dash.
    @Option(
        name: [.customShort("S"), .long], parsing: .unconditional,
        help: ArgumentHelp(
            "Not older: today, -1h, '2026-11-22 02:30', @SECONDS.", valueName: "time"))
    var since: String?

    @Option(
        name: [.customShort("U"), .long], parsing: .unconditional,
        help: ArgumentHelp("Older than this.", valueName: "time"))
    var until: String?

    @Option(help: ArgumentHelp("From this position on.", valueName: "position"))
    var from: UInt64?

    @Option(help: ArgumentHelp("Up to this position.", valueName: "position"))
    var to: UInt64?

    @Option(name: .shortAndLong, help: ArgumentHelp("From this cursor on.", valueName: "cursor"))
    var cursor: String?

    @Option(help: ArgumentHelp("From behind it.", valueName: "cursor"))
    var afterCursor: String?

    @Option(
        help: ArgumentHelp("Behind the one in a file, and keeps the new one.", valueName: "file"))
    var cursorFile: String?

    func validate() throws {
        let starts = [cursor, afterCursor, cursorFile, from.map { "\($0)" }].compactMap { $0 }
        guard starts.count <= 1 else {
            throw ValidationError(
                "give one of --from, --cursor, --after-cursor and --cursor-file")
        }
    }
}

/// The options that select transactions.
struct LogMatchOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "FIELD=VALUE, + between alternatives; or: show POSITION",
            valueName: "match"))
    var matches: [String] = []

    @Option(
        name: [.customShort("E"), .long], parsing: .singleValue,
        help: "Only changes of this entity and its subentities.")
    var entity: [String] = []

    @Option(
        name: [.customShort("O"), .long], parsing: .singleValue,
        help: ArgumentHelp("Changing this object, as Team/3.", valueName: "id"))
    var object: [String] = []

    @Option(
        name: .shortAndLong, parsing: .singleValue,
        help: ArgumentHelp("Changing this property: wins or Team.wins.", valueName: "name"))
    var property: [String] = []

    @Option(
        name: [.customShort("t"), .long], parsing: .singleValue,
        help: "Saved by this author.")
    var author: [String] = []

    @Option(name: .shortAndLong, parsing: .singleValue, help: "Saved by this systemd unit.")
    var unit: [String] = []

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Matching; ignores case if it is in small letters.",
            valueName: "pattern"))
    var grep: String?

    /// Whether the arguments are `show P` instead of matches.
    var isShow: Bool { matches.first == "show" }

    /// Returns the filter of the options.
    func filter(_ range: LogRangeOptions, isUTC: Bool) throws -> LogFilter {
        var filter = LogFilter()
        filter.entities = entity
        filter.objects = try object.map(Self.object)
        filter.properties = property.map { LogFilter.PropertyName($0) }
        filter.authors = author
        filter.units = unit
        let now = SystemClock().wallMicroseconds
        filter.since = try range.since.map { try Self.time($0, now, isUTC) }
        filter.until = try range.until.map { try Self.time($0, now, isUTC) }
        if !matches.isEmpty, !isShow { filter.matches = try MatchGroups(matches) }
        filter.pattern = try grep.map(Self.expression)
        return filter
    }

    /// Parses an object's id; throws ``CommandFailure`` if it is not one.
    static func object(_ text: String) throws -> ObjectID {
        guard let id = ObjectID(text) else {
            throw CommandFailure("`\(text)` is no object; give ENTITY/NUMBER", code: 2)
        }
        return id
    }

    private static func time(_ text: String, _ now: Int64, _ isUTC: Bool) throws -> Int64 {
        guard let time = TimeArgument(text, now: now, isUTC: isUTC) else {
            throw CommandFailure("`\(text)` is no time; give \(TimeArgument.forms)", code: 2)
        }
        return time.microseconds
    }

    private static func expression(_ text: String) throws -> Regex<AnyRegexOutput> {
        do {
            let expression = try Regex(text)
            return text.contains(where: \.isUppercase) ? expression : expression.ignoresCase()
        } catch {
            throw CommandFailure("`\(text)` is no regular expression: \(error)", code: 2)
        }
    }
}
