public import ServiceLifecycle
public import Tandem

/// A service that processes the changes of a class's objects in order, each at least once.
///
/// The service is a journal consumer (``Tandem/JournalConsumer``) that a `ServiceGroup` starts and
/// stops.
///
///     let mailer = ConsumerService("mailer", of: Item.self, in: container) { change in
///         if change.after?[\.isDone] == true { try await send("\(change.author) completed one") }
///     }
///     try await ServiceGroup(services: [mailer], logger: logger).run()
///
/// A save is acknowledged once its last change has been processed. If the service ends before that,
/// the whole save is delivered again. On graceful shutdown, the service finishes the change that is
/// being processed.
public struct ConsumerService<Object: ManagedEntity>: Service {
    private let name: String
    private let container: PersistentContainer
    private let filter: HistoryFilter
    private let process: @Sendable (HistoryChange<Object>) async throws -> Void

    /// Creates a service; the consumer is registered when the service runs.
    /// - Parameters:
    ///   - name: The consumer's name. A new consumer begins at the journal's end.
    ///   - type: The class.
    ///   - container: The container whose connection registers the name.
    ///   - properties: The properties whose changes are delivered; empty for all.
    ///   - authors: The authors whose changes are delivered; empty for all.
    ///   - process: Processes a change. An error ends the service without acknowledging the save.
    public init(
        _ name: String, of type: Object.Type, in container: PersistentContainer,
        properties: [PartialKeyPath<Object>] = [], authors: [String] = [],
        process: @escaping @Sendable (HistoryChange<Object>) async throws -> Void
    ) {
        (self.name, self.container, self.process) = (name, container, process)
        filter = HistoryFilter(type, properties: properties, authors: authors)
    }

    /// Processes changes until the group shuts down.
    ///
    /// If the connection is lost, the service waits until it is restored. Throws the errors of
    /// ``Tandem/PersistentContainer/consumer(named:at:)``, for example `consumerInUse` while
    /// another process uses the name. Also throws the errors of ``Tandem/HistoryChanges``, of
    /// ``Tandem/JournalConsumer/acknowledge(_:)-(Position)`` and of `process`.
    public func run() async throws {
        let consumer = try await container.consumer(named: name)
        let changes: HistoryChanges<Object> = consumer.changes(matching: filter)
        for try await change in changes.cancelOnGracefulShutdown() {
            try await process(change)
            if change.isLastOfSave { try await consumer.acknowledge(change) }
        }
    }
}
