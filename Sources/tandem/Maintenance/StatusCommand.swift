import ArgumentParser
import Tandem

/// `tandem status`: prints the state of the daemon.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the daemon's status.",
        discussion: "Exits with 1 if the daemon is read-only; the reason is printed.")

    @OptionGroup var global: GlobalOptions

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    func run() throws {
        let status = try DaemonStatus(global)
        if output == .json {
            printLine(status.json.text)
        } else {
            for (label, value) in status.lines { printLine("\(label.padded(to: 12)) \(value)") }
        }
        if status.isReadOnly { throw CommandFailure("the daemon is read-only") }
    }
}
