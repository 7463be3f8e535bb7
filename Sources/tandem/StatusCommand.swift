import ArgumentParser
import FoundationEssentials
import Tandem

/// `tandem status`: where the daemon stands.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Shows where the daemon stands.",
        discussion: "Exits with 1 when the daemon takes no saves, after saying why.")

    @OptionGroup var global: GlobalOptions

    @Option(name: .shortAndLong, help: "short or json.")
    var output: OutputFormat = .short

    func run() throws {
        let status = try DaemonStatus(global)
        if output == .json {
            printLine(status.json.text)
        } else {
            for (label, value) in status.lines { printLine("\(label.padded(to: 12)) \(value)") }
        }
        if status.isReadOnly { throw CommandFailure("the daemon takes no saves") }
    }
}

/// `tandem clients`: who is connected, and how far behind.
struct ClientsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clients", abstract: "Lists the connected clients.",
        discussion: "With --disconnect, for admins, it ends the connection of one of them.")

    @OptionGroup var global: GlobalOptions

    @Option(name: .shortAndLong, help: "short or json.")
    var output: OutputFormat = .short

    @Option(help: ArgumentHelp("End the connection of the client with this ID.", valueName: "id"))
    var disconnect: UInt64?

    func run() throws {
        if let disconnect {
            guard try global.container().disconnect(client: disconnect) else {
                throw CommandFailure("there is no other client \(disconnect)")
            }
            return
        }
        let clients = try DaemonStatus(global).json["clients"]?.array ?? []
        if output == .json { return clients.forEach { printLine($0.text) } }
        let keys = ["id", "pid", "uid", "role", "position", "lag", "queuedBytes", "author", "unit"]
        printLine(keys.map { $0.uppercased().padded(to: 12) }.joined().trimmed)
        for client in clients {
            let cells = keys.map { (client[$0]?.plain ?? "").padded(to: 12) }
            printLine(cells.joined().trimmed)
        }
    }
}

/// The daemon's answer about itself.
struct DaemonStatus {
    let json: JSON

    init(_ global: GlobalOptions) throws {
        json = try JSON(parsing: try global.container().status())
    }

    /// Whether the daemon refuses saves.
    var isReadOnly: Bool { json["readOnly"]?.bool ?? false }

    private var since: String {
        guard let seconds = json["readOnlySince"]?.number else { return "?" }
        return Date(timeIntervalSince1970: seconds).formatted(.iso8601)
    }

    /// What people want to know first.
    var lines: [(String, String)] {
        func text(_ key: String) -> String { json[key]?.plain ?? "?" }
        return [
            (
                "State",
                isReadOnly ? "read-only since \(since): \(text("readOnlyReason"))" : "running"
            ),
            ("Position", text("cursor")), ("Checkpoint", text("checkpoint")),
            ("Journal", "from \(text("journalFirst"))"), ("Store", text("store")),
            ("Used", "\(text("usedBytes")) of \(text("mapBytes")) bytes"),
            ("Model", text("model")), ("PID", text("pid")),
            ("Uptime", "\(text("uptimeSeconds")) s"),
            ("Clients", "\(json["clients"]?.array?.count ?? 0), \(text("refused")) refused"),
            (
                "Saves",
                "\(text("transactions")) in \(text("batches")) batches, flush "
                    + "\(text("meanFlushMicroseconds")) us on average, "
                    + "\(text("longestFlushMicroseconds")) us at most"
            ),
            (
                "Checkpoints",
                "\(text("checkpoints")), \(text("longestCheckpointMicroseconds")) us at most"
            ),
        ]
    }
}

extension JSON {
    /// A string without quotes, anything else as JSON.
    var plain: String { string ?? text }
}

extension String {
    /// The text with spaces up to a width.
    func padded(to width: Int) -> String {
        count >= width ? self + " " : self + String(repeating: " ", count: width - count)
    }

    /// The text without spaces at its end.
    var trimmed: String { String(reversed().drop { $0 == " " }.reversed()) }
}
