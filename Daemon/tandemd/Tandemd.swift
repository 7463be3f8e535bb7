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

    @Option(help: "Mebibytes of a journal segment; 64 by default, 1 for small stores.")
    var segmentMebibytes: Int?

    @Option(help: ArgumentHelp("Kibibytes of a segment, for tests.", visibility: .hidden))
    var segmentKibibytes: Int?

    func validate() throws {
        guard (8...1_024).contains(segmentKibibytes ?? 8) else {
            throw ValidationError("--segment-kibibytes is between 8 and 1024.")
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
            LogLevel.notice.print("ready: \(configuration.store)")
            Notify.ready(status: "serving \(configuration.store)")
            try daemon.run(signals: signals)
        } catch let error as DaemonError {
            LogLevel.critical.print(error.message)
            throw ExitCode(error.code == .inUse ? 1 : 78)
        } catch let error as IOError {
            LogLevel.critical.print(error.description)
            throw ExitCode(78)
        }
    }

    private var configuration: DaemonConfiguration {
        let paths = DaemonPaths(name: name ?? ThisProcess.environment("TANDEM_NAME") ?? "default")
        var configuration = DaemonConfiguration(
            store: store ?? ThisProcess.environment("TANDEM_STORE") ?? paths.store,
            socket: socket ?? ThisProcess.environment("TANDEM_SOCKET") ?? paths.socket,
            log: { level, line in level.print(line) })
        configuration.segmentBytes =
            segmentKibibytes.map { $0 << 10 } ?? segmentMebibytes.map { $0 << 20 }
        configuration.durability = durability == .full ? .full : .relaxed
        return configuration
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
            ThisProcess.environment("JOURNAL_STREAM") == nil ? "tandemd: " : "<\(rawValue)>"
        StandardStream.error.write(prefix + line + "\n")
    }
}
