public import Tandem
import TandemDaemon
public import TandemModel

extension PersistentContainer {
    /// A container for tests: the daemon that an app has, inside the process, over a store that is on no disk.
    ///
    /// Every call makes a store of its own, which goes with the container and its contexts. For several clients of one
    /// store make an ``EmbeddedDaemon`` of `DaemonConfiguration.inMemory()`, and containers with its transport.
    ///
    ///     let container = try PersistentContainer.inMemory(model: model)
    ///     let context = container.makeContext(name: "test")
    /// - Parameters:
    ///   - model: The model.
    ///   - author: What the journal calls the container's saves.
    ///   - limits: Other limits than the defaults.
    /// - Returns: A container whose daemon runs.
    /// - Throws: `storage` when the daemon can't be started, for instance without room in `/dev/shm`.
    public static func inMemory(
        model: Model, author: String? = nil, limits: ClientLimits = ClientLimits()
    ) throws(TandemError) -> PersistentContainer {
        PersistentContainer(
            model: model, author: author, transport: try memoryTransport(), limits: limits)
    }

    /// A container for tests whose model is what classes declare; objects come as instances of these classes.
    ///
    ///     let container = try PersistentContainer.inMemory(entities: [Team.self, Player.self])
    public static func inMemory(
        entities types: [any ManagedEntity.Type], author: String? = nil,
        limits: ClientLimits = ClientLimits()
    ) throws(TandemError) -> PersistentContainer {
        PersistentContainer(
            entities: types, author: author, transport: try memoryTransport(), limits: limits)
    }

    /// A way to a daemon of its own, which it keeps running.
    private static func memoryTransport() throws(TandemError) -> Transport {
        let daemon: EmbeddedDaemon
        do throws(DaemonError) {
            daemon = try EmbeddedDaemon(.inMemory())
        } catch {
            throw TandemError(.storage, "the daemon in memory can't be started: \(error)")
        }
        return daemon.keptByTransport
    }
}
