import ArgumentParser
import Tandem
import TandemIO
import TandemJournal
import TandemStore
import TandemWire

/// The admin command; each verb has its own file.
///
/// Exit codes: 0 done, 1 found a problem, 2 usage, 3 no daemon answers, 4 denied, 5 history
/// expired.
@main
struct TandemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tandem",
        abstract: "Read the journal and administer a Tandem daemon.",
        discussion: """
            ENVIRONMENT:
              TANDEM_SOCKET: path of the daemon's socket, used if --socket is not given
              TANDEM_NAME: name of the daemon, used if --name is not given
              TANDEM_STORE: directory of a store, used if -D is not given and, by verbs that can use a daemon, if none is \
              named
              TANDEM_PAGER, PAGER: pager of `log` on a terminal
              NO_COLOR: no colours unless --color always
              LC_ALL, LC_CTYPE, LANG: C or POSIX for ASCII symbols on a terminal
              TZ: time zone
              TMPDIR: directory for temporary files
              XDG_RUNTIME_DIR, XDG_STATE_HOME: directories of the sockets and stores of a user's daemons

            EXIT CODES:
              0: done
              1: found a problem
              2: usage
              3: no daemon answers, because none runs or the running one hangs
              4: denied
              5: history expired
            """,
        version: Versions.text,
        subcommands: [
            LogCommand.self,
            BlameCommand.self,
            HistoryCommand.self,
            ShowCommand.self,
            DiffCommand.self,
            StatusCommand.self,
            ClientsCommand.self,
            ConsumersCommand.self,
            SubscriptionsCommand.self,
            ConfigCommand.self,
            ReloadCommand.self,
            DiskUsageCommand.self,
            VacuumCommand.self,
            HealthCommand.self,
            MetricsCommand.self,
            FetchCommand.self,
            CountCommand.self,
            ExplainCommand.self,
            SchemaCommand.self,
            WaitCommand.self,
            WatchCommand.self,
            TopCommand.self,
            InsertCommand.self,
            UpdateCommand.self,
            DeleteCommand.self,
            RevertCommand.self,
            ExportCommand.self,
            ImportCommand.self,
            BridgeCommand.self,
            CheckCommand.self,
            VerifyCommand.self,
            DumpCommand.self,
            RebuildCommand.self,
            BackupCommand.self,
            RestoreCommand.self,
            SalvageCommand.self,
            ManualCommand.self,
        ])

    @MainActor static func main() async {
        StandardStream.ignoreBrokenPipes()
        StandardStream.reserveDescriptors()
        BusErrors.end(
            with: 1,
            saying:
                "tandem: the store's data.mdb is truncated, or its disk cannot be read (SIGBUS); stop the "
                + "daemon, check the disk, move that file away and run `tandem rebuild`")
        do {
            var command = try parseAsRoot(
                ShortOptions.separated(Array(CommandLine.arguments.dropFirst())))
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            checkOutput()
        } catch let error as TandemError {
            CommandFailure(error).exit()
        } catch let error as CommandFailure {
            error.exit()
        } catch let code as ExitCode {
            exit(withError: code)
        } catch {
            usage(error)
        }
    }

    /// Exits with a failure if some output could not be written.
    private static func checkOutput() {
        if let failure = StandardStream.output.failure { CommandFailure("\(failure)").exit() }
    }

    /// Prints help or version and exits with 0; reports any other parser error as a usage error.
    private static func usage(_ error: any Error) -> Never {
        let words = CommandLine.arguments.dropFirst()
        guard exitCode(for: error) != .success else {
            // The verb `help` accepts any word as the name of a verb.
            if words.first == "help", let wrong = wrongVerb(words.dropFirst()) { refuse(wrong) }
            StandardStream.output.write(fullMessage(for: error) + "\n")
            checkOutput()
            exit(withError: ExitCode.success)
        }
        var text = message(for: error).split(separator: "\n").joined(separator: " ")
        if text.hasPrefix("Missing value for '-D") || text.hasPrefix("Missing value for '--dir") {
            text +=
                ": the directory of a store, such as /var/lib/tandem/NAME; `tandem status` prints it"
        }
        if let wrong = wrongVerb(words) { refuse(wrong) }
        // The usage line names the verb: "Usage: tandem backup …".
        let usage = fullMessage(for: error).split(separator: "\n").first { $0.hasPrefix("Usage: ") }
        let help = (["tandem"] + verb(usage) + ["--help"]).joined(separator: " ")
        if text.hasSuffix(".") { text.removeLast() }
        CommandFailure("\(text); see `\(help)`", code: 2).exit()
    }

    private static func refuse(_ wrong: (text: String, known: [String])) -> Never {
        let verb = (["tandem"] + wrong.known).joined(separator: " ")
        CommandFailure(
            "\(wrong.text); see `\(verb) --help`", code: 2
        ).exit()
    }

    /// Returns the words of a verb in a usage line; its arguments follow in brackets.
    private static func verb(_ usage: Substring?) -> [String] {
        (usage ?? "").split(separator: " ").dropFirst(2).prefix { $0.first?.isLetter ?? false }
            .map(String.init)
    }

    /// Returns the message for an unknown verb, and the known words before it.
    ///
    /// Returns nil if no verb is expected, or if the word in its place is an option or `help`.
    private static func wrongVerb(
        _ arguments: ArraySlice<String>
    ) -> (text: String, known: [String])? {
        var (command, known): (any ParsableCommand.Type, [String]) = (Self.self, [])
        for word in arguments {
            if let next = command.subcommand(named: word) {
                command = next
                known.append(word)
                continue
            }
            let verbs = command.configuration.subcommands.map { $0._commandName }
            guard !verbs.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            let near = SpellingSuggestion.nearest(to: word, among: verbs)
            let text =
                "there is no verb `\((known + [word.printable]).joined(separator: " "))`"
                + (near.map { "; did you mean `\((known + [$0]).joined(separator: " "))`?" } ?? "")
            return (text, known)
        }
        return nil
    }
}

/// The output of `--version`.
enum Versions {
    static let text =
        "0.1.0 (store format \(Store.format), journal format \(Journal.format), "
        + "protocol \(WireLimits.protocolVersion))"
}

extension CommandFailure {
    func exit() -> Never {
        printRemark(message)
        TandemCommand.exit(withError: ExitCode(code))
    }
}

extension ParsableCommand {
    /// Returns the direct subcommand with this name.
    fileprivate static func subcommand(named name: String) -> (any ParsableCommand.Type)? {
        configuration.subcommands.first { $0._commandName == name }
    }
}
