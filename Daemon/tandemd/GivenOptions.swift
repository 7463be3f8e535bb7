import ArgumentParser
import TandemDaemon

/// The flags that set keys of the configuration.
struct GivenOptions: ParsableArguments {
    @Option(
        name: .customLong("set"),
        help: ArgumentHelp(
            "Set a key of the configuration; can be repeated.", valueName: "key=value"))
    var assignments: [String] = []

    @Option(help: "Directory of store and journal; created if missing.")
    var store: String?

    @Option(help: "Path of the socket; its directory is created if missing.")
    var socket: String?

    @Option(
        help: "Acknowledged saves survive power loss (full) or only process crashes (relaxed).")
    var durability: String?

    @Option(
        help: "Minimum level to log: critical, error, warning, notice, info or debug.")
    var logLevel: String?

    @Option(help: "Size of a journal segment in mebibytes; 64 by default, 1 for small stores.")
    var segmentMebibytes: Int?

    @Option(
        help: ArgumentHelp(
            "Size in mebibytes above which the oldest unneeded segments are removed; 1024 by default.",
            valueName: "MiB"))
    var journalKeep: Int?

    @Option(
        help: ArgumentHelp(
            "Age in hours above which unneeded segments are removed; 168 by default.",
            valueName: "hours"))
    var journalHours: Int?

    @Option(
        help: ArgumentHelp(
            "Hard limit on the journal's size in mebibytes; 4096 by default. Readers that still need removed segments are expired.",
            valueName: "MiB"))
    var journalCap: Int?

    @Option(help: "Quota of the store in mebibytes; 1048576 (1 TiB) by default.")
    var mapLimitMebibytes: Int?

    @Option(help: ArgumentHelp("Size of a segment in kibibytes, for tests.", visibility: .hidden))
    var segmentKibibytes: Int?

    /// Returns the settings from the flags; if a key is set twice, the last value takes effect.
    func settings() throws -> [GivenSetting] {
        let flags: [(String, String, String?)] = [
            ("store", "--store", store), ("socket.path", "--socket", socket),
            ("durability", "--durability", durability), ("log.level", "--log-level", logLevel),
            ("journal.segmentBytes", "--segment-mebibytes", segmentMebibytes.map { "\($0) MiB" }),
            ("journal.segmentBytes", "--segment-kibibytes", segmentKibibytes.map { "\($0) KiB" }),
            ("journal.keepBytes", "--journal-keep", journalKeep.map { "\($0) MiB" }),
            ("journal.keepSeconds", "--journal-hours", journalHours.map { "\($0) h" }),
            ("journal.capBytes", "--journal-cap", journalCap.map { "\($0) MiB" }),
            ("mapBytes", "--map-limit-mebibytes", mapLimitMebibytes.map { "\($0) MiB" }),
        ]
        let named = flags.compactMap { name, flag, value in
            value.map { GivenSetting(name, [$0], from: flag) }
        }
        return try named + assignments.map(Self.setting)
    }

    private static func setting(_ assignment: String) throws -> GivenSetting {
        guard let equals = assignment.firstIndex(of: "=") else {
            throw ValidationError("--set must be KEY=VALUE, not \(assignment)")
        }
        let value = String(assignment[assignment.index(after: equals)...])
        return GivenSetting(String(assignment[..<equals]), [value], from: "--set")
    }
}
