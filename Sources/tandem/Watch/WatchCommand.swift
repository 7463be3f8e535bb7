import ArgumentParser
import Tandem
import TandemIO

/// `tandem watch`: shows a list that is updated by every save.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Show a list of objects and keep it up to date.",
        discussion: """
            On a terminal, the list is redrawn in place, with marks on recent changes, and with the time between a \
            save and its display. Elsewhere, each row and then each change is printed as a line; with -o json, each \
            change is an object. The command survives restarts of the daemon, and runs until it is interrupted or the \
            position of --until is shown.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The entity.")
    var entity: String

    @Option(help: "A predicate, such as 'wins > 2 AND zone = \"Africa\"'.")
    var `where`: String?

    // A key path may begin with a dash.
    @Option(
        parsing: .unconditional,
        help: "Key paths to sort by, separated by commas; the prefix - sorts in descending order.")
    var sort: String?

    @Option(help: ArgumentHelp("The key path of the sections.", valueName: "key path"))
    var section: String?

    @Option(help: "The maximum number of rows.")
    var limit: Int?

    @Option(help: ArgumentHelp("The properties to show, separated by commas.", valueName: "names"))
    var properties: String?

    @Option(help: ArgumentHelp("End after this position is shown.", valueName: "position"))
    var until: String?

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    @Option(help: ArgumentHelp("Colours.", valueName: "when"))
    var color: ColorChoice = .auto

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit must not be negative") }
    }

    @MainActor func run() async throws {
        let container = global.container()
        let model = try await container.compiledModel()
        let request = try WatchRequest(self, model)
        // From here on, requests wait while the daemon is restarted.
        let patient = global.container(isPatient: true)
        let view = WatchView(
            patient, request, isJSON: output == .json,
            style: Style(isOn: color.isOn(StandardStream.output.descriptor)))
        try await view.open()
        guard let until else {
            // Runs until a signal ends the process or the output has no reader.
            while !StandardStream.output.isClosed {
                try await Task.sleep(for: .milliseconds(200))
                try view.checkFollows()
                view.fitTerminal()
                StandardStream.output.checkReader()
            }
            return
        }
        guard let end = try ConsumerName.position(until, container, mayBeAhead: true) else {
            return
        }
        try await view.reach(end)
        try view.checkFollows()
    }
}

/// The watched request, sorted by section first.
struct WatchRequest: Sendable {
    let request: FetchRequest<ManagedObject>
    let section: String?
    /// The properties to print; nil for all.
    let properties: Set<String>?

    /// Throws ``CommandFailure`` or `unknownEntity` if a name in the options is not in the model.
    init(_ options: WatchCommand, _ model: CompiledModel) throws {
        guard let entity = model.entity(named: options.entity) else {
            throw model.unknownEntity(options.entity)
        }
        var request = FetchRequest(entity: options.entity, limit: options.limit)
        if let text = options.where { request.predicate = try ObjectPredicate(format: text) }
        var sort = try (options.sort ?? "").split(separator: ",").map { text in
            guard let key = SortKey(String(text)) else {
                throw CommandFailure(
                    "`\(text)` is not a key path for --sort; give \(SortKey<ManagedObject>.form)",
                    code: 2)
            }
            return key
        }
        if sort.isEmpty { sort = [SortKey(Self.usualOrder(entity), ascending: true)] }
        if let section = options.section, try sort.first?.component.keyPath != section {
            sort.insert(SortKey(section, ascending: true), at: 0)
        }
        request.sort = sort
        self.request = request
        section = options.section
        properties = try options.properties.map { try Self.properties($0, entity) }
    }

    private static func properties(_ text: String, _ entity: CompiledEntity) throws -> Set<String> {
        let names = text.split(separator: ",").map(String.init)
        for name in names where entity.slot(of: name) == nil {
            throw entity.unknownProperty(name)
        }
        return Set(names)
    }

    /// Returns a property that is likely to be a name, or else the first attribute.
    private static func usualOrder(_ entity: CompiledEntity) -> String {
        let attributes = entity.properties.filter { $0.relationship == nil }.map(\.name)
        let names = ["name", "title", "label", "displayName"]
        return names.first(where: attributes.contains) ?? attributes.min() ?? "name"
    }
}
