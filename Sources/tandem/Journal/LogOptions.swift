import ArgumentParser
import Tandem
import TandemIO

/// The options for the range of the journal.
struct LogRangeOptions: ParsableArguments {
    // A time may begin with a dash.
    @Option(
        name: [.customShort("S"), .long], parsing: .unconditional,
        help: ArgumentHelp(
            "Since: today, -1h, '2026-11-22 02:30', @SECONDS.", valueName: "time"))
    var since: String?

    @Option(
        name: [.customShort("U"), .long], parsing: .unconditional,
        help: ArgumentHelp("Before this time.", valueName: "time"))
    var until: String?

    @Option(help: ArgumentHelp("From this position.", valueName: "position"))
    var from: UInt64?

    @Option(help: ArgumentHelp("Up to this position.", valueName: "position"))
    var to: UInt64?

    @Option(name: .shortAndLong, help: ArgumentHelp("From this cursor.", valueName: "cursor"))
    var cursor: String?

    @Option(help: ArgumentHelp("From the entry after this cursor.", valueName: "cursor"))
    var afterCursor: String?

    @Option(
        help: ArgumentHelp("Continue after the cursor in FILE, and update it.", valueName: "file"))
    var cursorFile: String?

    func validate() throws {
        let starts = [cursor, afterCursor, cursorFile, from.map { "\($0)" }].compactMap { $0 }
        guard starts.count <= 1 else {
            throw ValidationError(
                "--from, --cursor, --after-cursor and --cursor-file cannot be combined")
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
        help: "Changes to objects of this entity or its subentities.")
    var entity: [String] = []

    @Option(
        name: [.customShort("O"), .long], parsing: .singleValue,
        help: ArgumentHelp("Changes to this object, such as Team/3.", valueName: "id"))
    var object: [String] = []

    @Option(
        name: .shortAndLong, parsing: .singleValue,
        help: ArgumentHelp("Changes to this property: wins or Team.wins.", valueName: "name"))
    var property: [String] = []

    @Option(
        name: [.customShort("t"), .long], parsing: .singleValue,
        help: "Saves of this author.")
    var author: [String] = []

    @Option(name: .shortAndLong, parsing: .singleValue, help: "Saves of this systemd unit.")
    var unit: [String] = []

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "A regular expression; lower case matches any case.",
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

    /// Parses an object's id; throws ``CommandFailure`` if the argument is not an id.
    static func object(_ text: String) throws -> ObjectID {
        guard let id = ObjectID(text) else {
            throw CommandFailure.notAnObject(text)
        }
        return id
    }

    private static func time(_ text: String, _ now: Int64, _ isUTC: Bool) throws -> Int64 {
        guard let time = TimeArgument(text, now: now, isUTC: isUTC) else {
            throw CommandFailure("`\(text)` is not a time; give \(TimeArgument.forms)", code: 2)
        }
        return time.microseconds
    }

    private static func expression(_ text: String) throws -> Regex<AnyRegexOutput> {
        do {
            let expression = try Regex(text)
            return text.contains(where: \.isUppercase) ? expression : expression.ignoresCase()
        } catch {
            throw CommandFailure("`\(text)` is not a regular expression: \(error)", code: 2)
        }
    }
}
