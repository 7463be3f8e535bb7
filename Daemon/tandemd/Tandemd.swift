import ArgumentParser
import TandemDaemon
import TandemIO
import TandemModel

/// The daemon's executable: parses the arguments and runs a ``Daemon``.
@main
struct Tandemd: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tandemd",
        abstract: "Keep one object graph in sync across all processes on this machine.",
        discussion: """
            Without --store and --socket, the paths follow from --name: /var/lib/tandem/NAME and \
            /run/tandem/NAME.sock for root and system services; for other users, paths below \
            XDG_STATE_HOME and XDG_RUNTIME_DIR. Under systemd the socket unit provides the socket.

            Each key below can be set by --set KEY=VALUE, by its variable (journal.keepBytes: \
            TANDEMD_JOURNAL_KEEP_BYTES) or in the configuration file, in this order of precedence. \
            The file is YAML with one level for each dot: /etc/tandem/NAME.yaml for root and system \
            services; for other users, a path below XDG_CONFIG_HOME.

            EXIT CODES:
              0: stopped by SIGTERM or SIGINT
              1: another daemon holds the store or the socket
              2: wrong arguments or configuration
              75: no space or memory to start; a later attempt may succeed
              78: journal or store damaged, or the system failed; find the cause before the next start

            KEYS:
            \(Tandemd.keys)
            """,
        version: "0.1.0 (\(Daemon.versions))")

    @OptionGroup var given: GivenOptions

    @Option(help: "Name of the daemon, which determines the default paths (TANDEM_NAME).")
    var name: String?

    @Option(help: "Path of the configuration file (TANDEMD_CONFIG).")
    var config: String?

    @Flag(help: "Print every setting with its origin, or all problems, and exit.")
    var checkConfig = false

    /// Parses the arguments and runs the daemon.
    ///
    /// Invalid arguments are reported in one line, with exit code 2.
    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch let code as ExitCode {
            exit(withError: code)
        } catch {
            guard exitCode(for: error) != .success else { exit(withError: error) }
            StandardStream.error.write(
                "tandemd: \(message(for: error).printable); see tandemd --help\n")
            exit(withError: ExitCode(2))
        }
    }

    func run() throws {
        let configuration = try configured()
        ThisProcess.keepFreedMemory(bytes: DaemonLimits.keptMemoryBytes)
        let store = configuration.store + "/store/data.mdb"
        BusErrors.end(
            with: 78,
            saying: LogLevel.critical.prefix
                + LogLine.text(
                    .failed, ["code": 78],
                    message:
                        "\(store) is truncated, or its disk cannot be read (SIGBUS); check the disk, "
                        + "move that file away and run `tandem rebuild -D \(configuration.store)`"))
        do {
            let signals = try SignalSource()
            let daemon = try Daemon.open(
                configuration, adopting: UnixListener.systemdListeners().first)
            try daemon.run(signals: signals) { () throws(TandemError) in try reread() }
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

    /// Returns the configuration from all sources.
    ///
    /// Throws exit code 2 if the configuration is invalid, and exit code 0 after printing it for
    /// `--check-config`.
    private func configured() throws -> DaemonConfiguration {
        let assembly = try assembled()
        guard assembly.problems.isEmpty else {
            for problem in assembly.problems { LogLevel.critical.print(problem) }
            throw ExitCode(2)
        }
        if checkConfig {
            StandardStream.output.write(
                assembly.lines.map(\.printable).joined(separator: "\n") + "\n")
            throw ExitCode.success
        }
        var configuration = assembly.configuration
        configuration.isSupervised = true
        return configuration
    }

    /// Reads the same sources again and returns the current configuration.
    ///
    /// Throws `usage` if the configuration is invalid.
    private func reread() throws(TandemError) -> DaemonConfiguration {
        let assembly: SettingAssembly
        do {
            assembly = try assembled()
        } catch {
            throw TandemError(.usage, "\(error)")
        }
        guard assembly.problems.isEmpty else {
            throw TandemError(.usage, assembly.problems.joined(separator: "; "))
        }
        return assembly.configuration
    }

    /// Returns the configuration assembled from all sources, together with all problems.
    private func assembled() throws -> SettingAssembly {
        let name = name ?? ThisProcess.environment("TANDEM_NAME") ?? "default"
        let paths = DaemonPaths(name: name)
        var assembly = SettingAssembly(
            DaemonConfiguration(
                store: paths.store, socket: paths.socket,
                log: { level, line in level.print(line) }))
        var sources = ConfigurationSources(
            flags: try given.settings(), environment: ConfigurationSources.environmentSettings())
        for problem in ConfigurationSources.unknownVariables() { assembly.addProblem(problem) }
        if name.isEmpty || name.contains("/") || name.hasPrefix(".") {
            assembly.addProblem(
                "`\(name)` is not a valid daemon name; a name has no `/` and does not begin "
                    + "with `.`")
        }
        do {
            sources.file = try fileSettings(paths)
        } catch {
            assembly.addProblem(error.message)
        }
        sources.fill(&assembly)
        return assembly
    }

    /// Returns the settings of the configuration file.
    ///
    /// The default file may be missing; a file named by `--config` or TANDEMD_CONFIG must exist.
    private func fileSettings(
        _ paths: DaemonPaths
    ) throws(ConfigurationFile.Unreadable) -> [GivenSetting] {
        let named = config ?? ThisProcess.environment("TANDEMD_CONFIG")
        if let settings = try ConfigurationFile.read(named ?? paths.configuration) {
            return settings
        }
        guard let named else { return [] }
        throw ConfigurationFile.Unreadable(message: "there is no configuration file \(named)")
    }

    /// The table of keys in the help text.
    private static var keys: String {
        let defaults = DaemonConfiguration(store: "of NAME", socket: "of NAME")
        return Setting.all.map { setting in
            let value = setting.value(in: defaults)
            return "  \(setting.name): \(setting.summary) "
                + "(\(value.isEmpty ? "none" : value); \(setting.expected))"
        }.joined(separator: "\n")
    }
}

extension DaemonError {
    /// The exit code; systemd restarts the daemon after 1 and 75, but not after 78, which needs an
    /// administrator.
    var exitCode: Int32 {
        switch code {
        case .inUse: 1
        case .noSpace: 75
        case .storage, .system: 78
        }
    }
}

extension LogLevel {
    /// Writes a prefixed line to standard error; under journald, the prefix is the line's priority.
    func print(_ line: String) {
        StandardStream.error.write(prefix + line.printable + "\n")
    }

    /// The priority in angle brackets under journald, otherwise the name of the program.
    fileprivate var prefix: String {
        StandardStream.error.isJournal ? "<\(rawValue)>" : "tandemd: "
    }
}
