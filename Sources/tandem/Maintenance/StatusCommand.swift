import ArgumentParser
import Tandem

/// `tandem status`: the state of the daemon.
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
