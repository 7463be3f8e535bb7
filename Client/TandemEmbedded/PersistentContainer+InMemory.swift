public import Tandem
import TandemDaemon
public import TandemModel

extension PersistentContainer {
    /// Returns a container for tests, whose daemon runs inside the process with an in-memory store.
    ///
    /// Each call creates a separate store, which is deleted with the container and its contexts.
    /// To connect several clients to one store, create an ``EmbeddedDaemon`` with
    /// `DaemonConfiguration.inMemory()`, and containers with its transport.
    ///
    ///     let container = try PersistentContainer.inMemory(model: model)
    ///     let context = container.makeContext(name: "test")
    /// - Parameters:
    ///   - model: The model.
    ///   - author: The author that the journal records for the container's saves.
    ///   - limits: The limits and timeouts.
    /// - Returns: A container whose daemon is running.
    /// - Throws: `storage` if the daemon can't be started, for example for lack of space in
    ///   `/dev/shm`.
    public static func inMemory(
        model: ManagedObjectModel, author: String? = nil, limits: ClientLimits = ClientLimits()
    ) throws(TandemError) -> PersistentContainer {
        PersistentContainer(
            model: model, author: author, transport: try memoryTransport(), limits: limits)
    }

    /// Returns a container for tests whose model is declared by classes.
    ///
    /// The container's objects are instances of these classes.
    ///
    ///     let container = try PersistentContainer.inMemory(entities: [Team.self, Player.self])
    public static func inMemory(
        entities types: [any ManagedEntity.Type], author: String? = nil,
        limits: ClientLimits = ClientLimits()
    ) throws(TandemError) -> PersistentContainer {
        PersistentContainer(
            entities: types, author: author, transport: try memoryTransport(), limits: limits)
    }

    /// Returns a transport to a new daemon, which the transport keeps running.
    private static func memoryTransport() throws(TandemError) -> Transport {
        let daemon: EmbeddedDaemon
        do throws(DaemonError) {
            daemon = try EmbeddedDaemon(.inMemory())
        } catch {
            throw TandemError(.storage, "the in-memory daemon cannot be started: \(error)")
        }
        return daemon.retainingTransport
    }
}
