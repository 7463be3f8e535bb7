import ArgumentParser
import Dispatch
import Tandem
import TandemIO

/// The example app: a table of teams that stays up to date in all processes on a machine.
@main
struct WorldCup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worldcup",
        abstract: "Show the World Cup of 2022 as a live table in several processes.",
        discussion: """
            Open two terminals: `worldcup table` in one, `worldcup play --delay 300` or \
            `worldcup score Morocco` in the other.
            """,
        version: "0.1.0",
        subcommands: [Table.self, Score.self, Add.self, Play.self, Final.self, Demo.self])

    /// Runs the verb: asynchronous verbs on the main actor, the demo on the main thread.
    static func main() {
        StandardStream.ignoreBrokenPipes()
        do {
            var command = try parseAsRoot()
            if command is any AsyncParsableCommand {
                Task { @MainActor in await runAwaiting() }
                dispatchMain()
            }
            try command.run()
        } catch {
            exit(withError: error)
        }
    }

    @MainActor private static func runAwaiting() async {
        do {
            // Parsed again, because a command can't be sent to another actor.
            guard var verb = try parseAsRoot() as? any AsyncParsableCommand else { return }
            try await verb.run()
            exit()
        } catch {
            exit(withError: error)
        }
    }
}

/// The option for the daemon's socket, which every verb except `demo` has.
struct SocketOptions: ParsableArguments {
    @Option(
        help: "Path of the socket (TANDEM_SOCKET); by default, the socket of the daemon `default`.")
    var socket: String?

    /// Creates a container for this process, with the author `worldcup VERB`.
    func container(_ verb: String) -> PersistentContainer {
        var limits = ClientLimits()
        // The demo starts the daemon together with its clients.
        limits.absentMilliseconds = limits.connectMilliseconds
        return PersistentContainer(
            entities: [Team.self], socket: socket, author: "worldcup \(verb)", limits: limits)
    }
}

extension ParsableCommand {
    /// Runs `work`; prints an error as one line on standard error, and throws the exit code for it.
    @MainActor func reporting(_ work: @MainActor () async throws -> Void) async throws {
        do {
            try await work()
        } catch let error as TandemError {
            printError(error.message)
            throw ExitCode(error.code == .disconnected ? 3 : error.code == .denied ? 4 : 1)
        } catch let error as IOError {
            printError(error.description)
            throw ExitCode(1)
        }
    }

    func printError(_ message: String) {
        StandardStream.error.write("worldcup: \(message)\n")
    }
}

/// Writes a line to standard output.
func say(_ line: String) {
    StandardStream.output.write(line + "\n")
}
