import ArgumentParser
import Tandem

/// `tandem consumers`: who has the journal kept for them.
struct ConsumersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "consumers",
        abstract: "Lists the consumers of the journal, registers, moves and removes them.",
        discussion: """
            What a consumer did not acknowledge is kept for it, up to the journal's cap. To register takes the role \
            writer; for another user's consumer only admins speak.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(name: .shortAndLong, help: "short or json.")
    var output: OutputFormat = .short

    @Option(help: ArgumentHelp("Keep the journal for a name from --at on.", valueName: "name"))
    var register: String?

    @Option(help: ArgumentHelp("Give up what a name needs up to --at.", valueName: "name"))
    var acknowledge: String?

    @Option(help: ArgumentHelp("Keep nothing for a name any more.", valueName: "name"))
    var remove: String?

    @Option(
        help: ArgumentHelp("A number or a position; the end if not given.", valueName: "position"))
    var at: String?

    func validate() throws {
        let actions = [register, acknowledge, remove].compactMap { $0 }.count
        guard actions <= 1 else {
            throw ValidationError("give one of --register, --acknowledge and --remove")
        }
        guard at == nil || register != nil || acknowledge != nil else {
            throw ValidationError("--at goes with --register or --acknowledge")
        }
    }

    func run() throws {
        let container = global.container()
        if let register {
            let start = try position(container)
            printLine(try container.registerConsumer(register, at: start).description)
        } else if let acknowledge {
            let end = try position(container) ?? container.end()
            printLine(try container.acknowledge(end, asConsumer: acknowledge).description)
        } else if let remove {
            guard try container.removeConsumer(remove) else {
                throw CommandFailure("there is no consumer \(remove)")
            }
        } else {
            try list()
        }
    }

    private func position(_ container: PersistentContainer) throws -> Position? {
        guard let at else { return nil }
        if let position = Position(at) { return position }
        guard let number = UInt64(at) else {
            throw CommandFailure(
                "`\(at)` is no position; give NUMBER or NUMBER@EPOCH-LOG", code: 2)
        }
        let end = try container.end()
        return Position(log: end.log, epoch: end.epoch, number: number)
    }

    private func list() throws {
        let consumers = try DaemonStatus(global).json["consumers"]?.array ?? []
        if output == .json { return consumers.forEach { printLine($0.text) } }
        let keys = ["acknowledged", "lag", "expired", "uid"]
        let header = keys.map { $0.uppercased().padded(to: 14) }.joined()
        printLine(header + "NAME")
        for consumer in consumers {
            let cells = keys.map { (consumer[$0]?.plain ?? "").padded(to: 14) }
            printLine((cells.joined() + (consumer["name"]?.plain ?? "")).trimmed)
        }
    }
}
