import ArgumentParser
import Tandem

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
        let rows = clients.map { client in keys.map { client[$0]?.shown ?? "" } }
        TextTable(headings: keys.map { $0.uppercased() }, rows: rows).lines.forEach(printLine)
    }
}
