import Logging
import Tandem

final class Item: ManagedObject, ManagedEntity {
    static var entity: Entity {
        Entity("Item") {
            Attribute("title", .string, optional: false, min: 1)
            Attribute("isDone", .bool, optional: false, default: .bool(false))
        }
    }
    @Managed("title") var title: String
    @Managed("isDone") var isDone: Bool
}

extension PersistentContainer {
    /// Saves an item of this title in a context of its own; returns the position.
    @discardableResult
    func save(_ title: String) async throws -> Position {
        try await withContext(name: "saver") { context in
            try context.insert(Item.self).title = title
            return try await context.save()
        }
    }
}

/// A logger's output, read as it is written.
struct LogLines: LogHandler {
    struct Line: Sendable {
        var level: Logger.Level
        var message: String
        var metadata: Logger.Metadata
    }

    let lines: AsyncStream<Line>
    private let continuation: AsyncStream<Line>.Continuation
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    init(_ level: Logger.Level) {
        logLevel = level
        (lines, continuation) = AsyncStream.makeStream()
    }

    var logger: Logger { Logger(label: "test") { _ in self } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        continuation.yield(
            Line(
                level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:]))
    }

    /// Returns the next line with a message.
    func next(_ message: String) async -> Line? {
        for await line in lines where line.message == message { return line }
        return nil
    }

    /// Returns the lines so far.
    func all() async -> [Line] {
        continuation.finish()
        var all: [Line] = []
        for await line in lines { all.append(line) }
        return all
    }
}
