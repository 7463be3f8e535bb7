import ArgumentParser
import Tandem

/// The options of `fetch`, `count` and `explain` that define the request.
struct RequestOptions: ParsableArguments {
    @Argument(help: "The entity.")
    var entity: String

    @Option(help: "A predicate, such as 'wins > 2 AND zone = \"Africa\"'.")
    var `where`: String?

    // A key path may begin with a dash.
    @Option(
        parsing: .unconditional,
        help: """
            Key paths to sort by, separated by commas; the prefix - sorts in descending order, the suffix \
            :naturalCompare compares digits as numbers, and :caseInsensitiveCompare ignores case.
            """)
    var sort: String?

    @Option(help: "The maximum number of results.")
    var limit: Int?

    @Option(help: "The number of results to skip at the beginning.")
    var offset: Int = 0

    @Option(
        help: ArgumentHelp("The position to read at; the last by default.", valueName: "position"))
    var at: UInt64?

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit must not be negative") }
        if at == 0 { throw ValidationError("--at must be a position; the first is 1") }
        if offset < 0 { throw ValidationError("--offset must not be negative") }
    }

    /// Returns the position to read at, or nil if none was given.
    @MainActor func position(
        _ context: ManagedObjectContext, _ container: PersistentContainer
    ) throws -> Position? {
        guard let at else { return nil }
        try CommandFailure.checkReached(at, try container.end().number)
        return try context.connect().at(at)
    }

    /// Returns the request; throws `unknownEntity` if the model lacks the entity.
    func request(_ model: CompiledModel) throws -> FetchRequest<ManagedObject> {
        guard model.entity(named: entity) != nil else { throw model.unknownEntity(entity) }
        return try request()
    }

    func request() throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest(entity: entity, limit: limit, offset: offset)
        if let text = `where` { request.predicate = try ObjectPredicate(format: text) }
        request.sort = try (sort ?? "").split(separator: ",").map { text in
            guard let key = SortKey(String(text)) else {
                throw CommandFailure(
                    "`\(text)` is not a key path for --sort; give \(SortKey.form)", code: 2)
            }
            return key
        }
        return request
    }
}

/// Runs a verb's work on the main actor; must be called on the main thread.
func onMainActor(_ body: @MainActor @Sendable () throws -> Void) throws {
    try MainActor.assumeIsolated(body)
}
