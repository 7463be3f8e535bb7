import ArgumentParser
import Tandem

/// `tandem subscriptions`: lists the entities that clients follow, and the clients' positions.
struct SubscriptionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions",
        abstract: "List the entities that clients follow, and their lag.",
        discussion: """
            A client follows an entity once it has read objects of the entity; a client that follows none is not \
            listed. POSITION is the last transaction that was sent to the client, and LAG the number of later ones.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(name: [.customShort("E"), .long], help: "Only clients that follow this entity.")
    var entity: String?

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    func run() throws {
        let subscriptions = Self.subscriptions(in: try DaemonStatus(global).json, to: entity)
        if let entity, subscriptions.isEmpty { try check(entity) }
        if output == .json { return subscriptions.forEach { printLine($0.text) } }
        Self.lines(subscriptions).forEach(printLine)
    }

    /// Throws `unknownEntity` if the model has no such entity.
    private func check(_ entity: String) throws {
        let model = try global.container().compiledModel()
        if model.entity(named: entity) == nil { throw model.unknownEntity(entity) }
    }

    private static let keys = ["id", "pid", "uid", "author", "position", "lag", "entities"]

    /// Returns the clients in a status that follow any entity, or the given one.
    static func subscriptions(in status: JSON, to entity: String?) -> [JSON] {
        (status["clients"]?.array ?? []).compactMap { client in
            let entities = client["entities"]?.array?.compactMap(\.string) ?? []
            guard !entities.isEmpty, entity.map(entities.contains) ?? true else { return nil }
            return .object((client.object ?? [:]).filter { keys.contains($0.key) })
        }
    }

    /// Returns the column headings and a line for each client.
    static func lines(_ subscriptions: [JSON]) -> [String] {
        let rows = subscriptions.map { client in
            let entities = client["entities"]?.array?.compactMap(\.string) ?? []
            return keys.dropLast().map { client[$0]?.shown ?? "" }
                + [entities.joined(separator: ",")]
        }
        return TextTable(headings: keys.map { $0.uppercased() }, rows: rows).lines
    }
}
