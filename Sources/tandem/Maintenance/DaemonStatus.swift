import FoundationEssentials
import Tandem

/// The status of the daemon.
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

    /// The most important values, each with its label.
    var lines: [(String, String)] {
        func text(_ key: String) -> String { json[key]?.shown ?? "?" }
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
                    + "\(text("meanFlushMicroseconds")) µs on average, "
                    + "\(text("longestFlushMicroseconds")) µs at most"
            ),
            (
                "Checkpoints",
                "\(text("checkpoints")), \(text("longestCheckpointMicroseconds")) µs at most"
            ),
        ]
    }
}
