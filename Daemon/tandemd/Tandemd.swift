import ArgumentParser
import TandemDaemon
import TandemIO

/// The daemon's executable: arguments in, ``Daemon`` out.
@main
struct Tandemd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tandemd",
        abstract: "Keeps one object graph in step across all processes of this machine.",
        discussion: """
            Without --store and --socket the directories of --name are used: for root \
            /var/lib/tandem/NAME and /run/tandem/NAME.sock, for others below XDG_STATE_HOME and \
            XDG_RUNTIME_DIR. Under systemd the socket is taken from its socket unit.
            """,
        version: "0.1.0")

    @Option(help: "The directory of store and journal; made if missing.")
    var store: String?

    @Option(help: "The path of the socket; its directory is made if missing.")
    var socket: String?

    @Option(help: "The name that store and socket have by default.")
    var name: String?

    @Option(help: "full: an answered save survives power loss; relaxed: the death of processes.")
    var durability: DurabilityArgument = .full

    @Option(
        help: "What goes to the log: critical, error, warning, notice, info or debug.",
        transform: { name in
            guard let level = LogLevel(name: name) else {
                throw ValidationError("there is no log level \(name)")
            }
            return level
        })
    var logLevel: LogLevel = .info

    @Option(help: "Mebibytes of a journal segment; 64 by default, 1 for small stores.")
    var segmentMebibytes: Int?

    @Option(
        help: ArgumentHelp(
            "Mebibytes of journal to keep; above it the oldest segments go that nobody needs.",
            valueName: "MiB"))
    var journalKeep: Int?

    @Option(
        help: ArgumentHelp(
            "Hours of journal to keep; older segments go that nobody needs.", valueName: "hours"))
    var journalHours: Int?

    @Option(
        help: ArgumentHelp(
            "Mebibytes that the journal never exceeds; who needs what has to go is expired.",
            valueName: "MiB"))
    var journalCap: Int?

    @Option(help: "Mebibytes that the store's map may grow to; 1 Ti by default.")
    var mapLimitMebibytes: Int?

    @Option(help: ArgumentHelp("Kibibytes of a segment, for tests.", visibility: .hidden))
    var segmentKibibytes: Int?

    func validate() throws {
        guard (8...1_024).contains(segmentKibibytes ?? 8) else {
            throw ValidationError("--segment-kibibytes is between 8 and 1024.")
        }
        for (name, value) in [
            ("--journal-keep", journalKeep), ("--journal-hours", journalHours),
            ("--journal-cap", journalCap),
        ] {
            guard (1...1 << 30).contains(value ?? 1) else {
                throw ValidationError("\(name) is at least 1.")
            }
        }
        guard (journalKeep ?? 1) <= (journalCap ?? Int.max) else {
            throw ValidationError("--journal-cap is at least --journal-keep.")
        }
        guard (1...(1 << 27)).contains(mapLimitMebibytes ?? 1) else {
            throw ValidationError("--map-limit-mebibytes is between 1 and 134217728.")
        }
        guard (1...1_024).contains(segmentMebibytes ?? 1) else {
            throw ValidationError("--segment-mebibytes is between 1 and 1024.")
        }
    }

    /// What is wrong with the arguments is one line and exit code 2.
    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch let code as ExitCode {
            exit(withError: code)
        } catch {
            guard exitCode(for: error) != .success else { exit(withError: error) }
            StandardStream.error.write("tandemd: \(message(for: error)); see tandemd --help\n")
            exit(withError: ExitCode(2))
        }
    }

    func run() throws {
        do {
            let signals = try SignalSource()
            let daemon = try Daemon.open(
                configuration, adopting: UnixListener.systemdListeners().first)
            try daemon.run(signals: signals)
        } catch let error as DaemonError {
            LogLevel.critical.print(
                LogLine.text(.failed, ["code": error.exitCode], message: error.message))
            throw ExitCode(error.exitCode)
        } catch let error as IOError {
            let code: Int32 = error.isOutOfSpace ? 75 : 78
            LogLevel.critical.print(
                LogLine.text(.failed, ["code": code], message: error.description))
            throw ExitCode(code)
        }
    }

    private var configuration: DaemonConfiguration {
        let paths = DaemonPaths(name: name ?? ThisProcess.environment("TANDEM_NAME") ?? "default")
        var configuration = DaemonConfiguration(
            store: store ?? ThisProcess.environment("TANDEM_STORE") ?? paths.store,
            socket: socket ?? ThisProcess.environment("TANDEM_SOCKET") ?? paths.socket,
            log: { level, line in level.print(line) })
        configuration.maximumMapBytes = mapLimitMebibytes.map { $0 << 20 }
        configuration.segmentBytes =
            segmentKibibytes.map { $0 << 10 } ?? segmentMebibytes.map { $0 << 20 }
        configuration.retention = RetentionPolicy(
            keepBytes: journalKeep.map { UInt64($0) << 20 },
            keepSeconds: journalHours.map { UInt64($0) * 3_600 },
            capBytes: journalCap.map { UInt64($0) << 20 })
        configuration.durability = durability == .full ? .full : .relaxed
        configuration.isSupervised = true
        configuration.logLevel = logLevel
        return configuration
    }
}

extension DaemonError {
    /// 75 may be better at the next start, which systemd makes; 78 only after a person looked.
    var exitCode: Int32 {
        switch code {
        case .inUse: 1
        case .noSpace: 75
        case .storage, .system: 78
        }
    }
}

/// The argument of `--durability`.
enum DurabilityArgument: String, ExpressibleByArgument, CaseIterable {
    case full
    case relaxed
}

extension LogLevel {
    /// Writes a line to standard error; journald takes the priority from its beginning.
    func print(_ line: String) {
        let prefix =
            StandardStream.error.isJournal ? "<\(rawValue)>" : "tandemd: "
        StandardStream.error.write(prefix + line + "\n")
    }
}
