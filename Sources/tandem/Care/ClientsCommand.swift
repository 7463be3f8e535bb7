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
        printLine(keys.map { $0.uppercased().padded(to: 12) }.joined().trimmed)
        for client in clients {
            let cells = keys.map { (client[$0]?.shown ?? "").padded(to: 12) }
            printLine(cells.joined().trimmed)
        }
    }
}
