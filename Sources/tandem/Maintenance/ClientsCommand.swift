import ArgumentParser
import Tandem

/// `tandem clients`: lists the connected clients and their lag.
struct ClientsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clients", abstract: "List the connected clients.",
        discussion: """
            --disconnect ends the connection of a client. --cancel ends all requests of a client, or the one \
            whose number is in the column REQUEST. A batch that is being carried out ends only with its connection. \
            Both options need the role admin.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    @Option(help: ArgumentHelp("End the connection of the client with this ID.", valueName: "id"))
    var disconnect: UInt64?

    @Option(
        help: ArgumentHelp(
            "End the requests of the client with this ID, or one of them.",
            valueName: "id[:request]"))
    var cancel: RequestOfClient?

    func validate() throws {
        guard cancel != nil, disconnect != nil else { return }
        throw ValidationError("--cancel and --disconnect cannot be combined")
    }

    func run() throws {
        if let cancel {
            let container = global.container()
            guard try container.cancel(request: cancel.request, ofClient: cancel.client) else {
                throw CommandFailure(
                    "no request of another client matches \(cancel); see `tandem clients`"
                )
            }
            return
        }
        if let disconnect {
            guard try global.container().disconnect(client: disconnect) else {
                throw CommandFailure("there is no other client \(disconnect); see `tandem clients`")
            }
            return
        }
        let clients = try DaemonStatus(global).json["clients"]?.array ?? []
        if output == .json { return clients.forEach { printLine($0.text) } }
        let keys = [
            "id", "pid", "uid", "role", "position", "lag", "queuedBytes", "author", "unit",
            "request",
        ]
        let rows = clients.map { client in
            keys.map { key in
                client[key].flatMap { $0 == .null ? nil : $0.shown } ?? ""
            }
        }
        TextTable(headings: keys.map { $0.uppercased() }, rows: rows).lines.forEach(printLine)
    }
}

/// A request of a client as `CLIENT:REQUEST`, or `CLIENT` for all of its requests.
struct RequestOfClient: ExpressibleByArgument, CustomStringConvertible {
    let client: UInt64
    /// The request's number; 0 for all.
    let request: UInt32

    init?(argument: String) {
        let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let client = UInt64(parts[0]) else { return nil }
        guard parts.count == 2 else {
            (self.client, request) = (client, 0)
            return
        }
        guard let request = UInt32(parts[1]), request > 0 else { return nil }
        (self.client, self.request) = (client, request)
    }

    var description: String { request == 0 ? "\(client)" : "\(client):\(request)" }
}
