import ArgumentParser
import Tandem
import TandemIO

/// The request that `fetch` and `count` share.
struct RequestOptions: ParsableArguments {
    @Argument(help: "The entity.")
    var entity: String

    @Option(help: "A predicate, such as 'wins > 2 AND zone = \"Africa\"'.")
    var `where`: String?

    @Option(help: "Key paths to sort by, separated by commas; - before one sorts descending.")
    var sort: String?

    @Option(help: "At most this many.")
    var limit: Int?

    @Option(help: "Leave out this many at the beginning.")
    var offset: Int = 0

    @Option(help: "At this position of the journal instead of now.")
    var at: UInt64?

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit is not negative") }
        if offset < 0 { throw ValidationError("--offset is not negative") }
    }

    /// The position to read at, if one was named.
    @MainActor func position(_ context: ManagedObjectContext) throws -> Position? {
        try at.map { try context.connect().at($0) }
    }

    func request() throws -> FetchRequest {
        var request = FetchRequest(entity: entity, limit: limit, offset: offset)
        if let text = `where` { request.predicate = try ObjectPredicate(format: text) }
        request.sort = try (sort ?? "").split(separator: ",").map { text in
            guard let key = SortKey(String(text)) else {
                throw CommandFailure("`\(text)` is no key path to sort by", code: 2)
            }
            return key
        }
        return request
    }
}

/// `tandem fetch`: objects of an entity.
struct FetchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Fetches objects.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: RequestOptions

    @Option(name: .shortAndLong, help: "short or json.")
    var output: OutputFormat = .short

    func run() throws {
        let (container, options, output) = (global.container(), options, output)
        try onMainActor {
            let context = container.makeContext(name: "tandem")
            let request = try options.request()
            let objects =
                try options.position(context).map { try context.fetch(request, at: $0) }
                ?? context.fetch(request).map(\.snapshot)
            let model = try container.storeModel()
            for object in objects { try FetchCommand.write(object, model, output, context) }
        }
    }

    @MainActor private static func write(
        _ object: ObjectSnapshot, _ model: CompiledModel, _ output: OutputFormat,
        _ context: ManagedObjectContext
    ) throws {
        let values = try object.values.mapValues {
            ValueText.json(try context.withContent($0), model)
        }
        if output == .json {
            return printLine(
                JSON.object([
                    "id": .string(object.id.description), "entity": .string(object.id.entity),
                    "values": .object(values),
                ]).text)
        }
        let text = values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.plain)" }
        printLine("\(object.id.description.padded(to: 16)) \(text.joined(separator: " "))")
    }
}

/// `tandem count`: how many objects match.
struct CountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "count", abstract: "Counts objects.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: RequestOptions

    func run() throws {
        let (container, options) = (global.container(), options)
        try onMainActor {
            let context = container.makeContext(name: "tandem")
            let request = try options.request()
            let count =
                try options.position(context).map { try context.count(for: request, at: $0) }
                ?? context.count(for: request)
            printLine(String(count))
        }
    }
}

/// Runs a verb's work on the main actor, which the main thread is.
func onMainActor(_ body: @MainActor @Sendable () throws -> Void) throws {
    try MainActor.assumeIsolated(body)
}
