import ArgumentParser
import Tandem
import TandemIO

extension ConsumersCommand {
    /// `tandem consumers info`.
    struct Info: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a consumer's owner and needed transactions.")

        @OptionGroup var consumer: ConsumerName

        @Flag(help: "Print times in UTC.")
        var utc = false

        @Option(name: .shortAndLong, help: "The output format.")
        var output: OutputFormat = .short

        func run() throws {
            let state = try ConsumerState(consumer)
            let source = DaemonSource(consumer.global.container())
            let time = state.isExpired ? nil : try source.time(from: state.acknowledged + 1)
            if output == .json {
                var members = state.json.object ?? [:]
                members["next"] = time.map { .double(Double($0) / 1_000_000) } ?? .null
                return printLine(JSON.object(members).text)
            }
            for (label, value) in state.lines(next: time, isUTC: utc) {
                printLine("\(label.padded(to: 13))\(value)")
            }
        }
    }
}

/// A consumer in the daemon's status.
struct ConsumerState {
    let json: JSON
    let name: String
    let acknowledged: UInt64
    let lag: UInt64
    let isExpired: Bool
    private let last: UInt64

    /// Finds a consumer in the daemon's current status; throws ``CommandFailure`` if there is none.
    init(_ consumer: ConsumerName) throws {
        try self.init(consumer.name, in: try DaemonStatus(consumer.global).json)
    }

    /// Finds a consumer in a status; throws ``CommandFailure`` if there is none.
    init(_ name: String, in status: JSON) throws {
        // Compare bytes: canonically equivalent names belong to different consumers.
        let found = status["consumers"]?.array?.first {
            $0["name"]?.string.map { Array($0.utf8) == Array(name.utf8) } ?? false
        }
        guard let found else { throw Self.noConsumer(name) }
        func number(_ json: JSON?) -> UInt64 { UInt64(clamping: json?.int ?? 0) }
        json = found
        self.name = name
        acknowledged = number(found["acknowledged"])
        lag = number(found["lag"])
        isExpired = found["expired"]?.bool ?? false
        last = number(status["position"])
    }

    /// The failure of a verb for a consumer that does not exist.
    static func noConsumer(_ name: String) -> CommandFailure {
        CommandFailure("there is no consumer \(name); see `tandem consumers`")
    }

    /// A description of the transactions that the consumer needs.
    var need: String {
        if isExpired { return "removed transactions" }
        if lag == 0 { return "nothing yet" }
        let count = Quantity.count(Int(clamping: lag), "transaction")
        return "\(count) from \(acknowledged + 1) on"
    }

    /// Returns the question to ask before a reset, which describes the effect of the reset.
    func question(to position: UInt64) -> String {
        let change =
            position < acknowledged
            ? "it will read \(Quantity.count(Int(clamping: acknowledged - position), "transaction")) again"
            : position == acknowledged || isExpired
                ? "it continues from there"
                : "it will skip \(Quantity.count(Int(clamping: position - acknowledged), "transaction"))"
        return "move \(name) from \(acknowledged) to \(position): \(change)?"
    }

    /// Returns human-readable lines with labels; `next` is the time of the first transaction that
    /// the consumer needs.
    func lines(next: Int64?, isUTC: Bool) -> [(String, String)] {
        var clock = WallClock(isUTC: isUTC)
        let uid = json["uid"]?.int.flatMap(UInt32.init(exactly:)) ?? 0
        let user = ThisProcess.userName(uid).map { "\($0) (uid \(uid))" } ?? "uid \(uid)"
        var lines = [
            ("Consumer", name), ("Owner", user), ("Acknowledged", "\(acknowledged) of \(last)"),
            ("Needs", need),
        ]
        if let next { lines.append(("Since", clock.iso(next))) }
        return lines
    }
}
