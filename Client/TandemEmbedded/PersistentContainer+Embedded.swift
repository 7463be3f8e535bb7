public import Tandem
import TandemDaemon
public import TandemModel

/// Containers of single-process programs.
extension PersistentContainer {
    /// Opens a container whose daemon runs inside the process, on a store in a directory; blocks.
    ///
    /// Use it for a program that is the only user of its store. Other processes can connect to
    /// `socket` while the program runs. The daemon is the same as in `tandemd`. It stops when the
    /// container and its contexts are released, or when the process ends; saves are durable when
    /// they return.
    ///
    ///     import Tandem
    ///     import TandemEmbedded
    ///
    ///     let container = try PersistentContainer.embedded(
    ///         entities: [Team.self, Player.self], at: "/home/me/.local/share/worldcup")
    ///
    /// Cost: recovery of the store, one thread for the daemon and one for the connection. To stop
    /// the daemon and wait until it has ended, for example to open the store again, use
    /// ``EmbeddedDaemon/init(store:socket:)`` instead.
    /// - Parameters:
    ///   - types: The classes, each with the entity that it declares.
    ///   - store: The directory of the journal and the store, which is created if it is missing.
    ///   - socket: The path of a socket to which other processes can connect; nil for none.
    ///   - author: The author that the journal records for this process; `uid:pid` if nil.
    ///   - limits: The limits and timeouts.
    /// - Returns: A connected container.
    /// - Throws: `limitExceeded` if another daemon uses the store or the socket, `readOnly` if
    ///   there is not enough space, `storage` for a damaged store or a failed system call, and the
    ///   errors of
    ///   ``Tandem/PersistentContainer/open(entities:socket:name:author:transport:limits:)``.
    public static func embedded(
        entities types: [any ManagedEntity.Type], at store: String, socket: String? = nil,
        author: String? = nil, limits: ClientLimits = ClientLimits()
    ) throws(TandemError) -> PersistentContainer {
        let daemon = try EmbeddedDaemon(store: store, socket: socket)
        return try open(
            entities: types, author: author, transport: daemon.retainingTransport, limits: limits)
    }

    /// Opens a container whose daemon runs inside the process, on a store in a directory.
    ///
    ///     let container = try await PersistentContainer.embedded(entities: [Team.self], at: path)
    ///
    /// The parameters, the errors and the cost are the same as for the blocking form.
    public static func embedded(
        entities types: [any ManagedEntity.Type], at store: String, socket: String? = nil,
        author: String? = nil, limits: ClientLimits = ClientLimits()
    ) async throws(TandemError) -> PersistentContainer {
        let daemon = try await daemon(store, socket)
        return try await open(
            entities: types, author: author, transport: daemon.retainingTransport, limits: limits)
    }

    /// Opens a container whose daemon runs inside the process, with a model; blocks.
    ///
    ///     let container = try PersistentContainer.embedded(model: model, at: path)
    ///
    /// If `model` is nil, the container uses the store's model. The other parameters, the errors
    /// and the cost are the same as for a model declared by classes.
    public static func embedded(
        model: ManagedObjectModel? = nil, at store: String, socket: String? = nil,
        author: String? = nil,
        limits: ClientLimits = ClientLimits()
    ) throws(TandemError) -> PersistentContainer {
        let daemon = try EmbeddedDaemon(store: store, socket: socket)
        return try open(
            model: model, author: author, transport: daemon.retainingTransport, limits: limits)
    }

    /// Opens a container whose daemon runs inside the process, with a model.
    ///
    ///     let container = try await PersistentContainer.embedded(model: model, at: path)
    ///
    /// The parameters, the errors and the cost are the same as for the blocking form.
    public static func embedded(
        model: ManagedObjectModel? = nil, at store: String, socket: String? = nil,
        author: String? = nil,
        limits: ClientLimits = ClientLimits()
    ) async throws(TandemError) -> PersistentContainer {
        let daemon = try await daemon(store, socket)
        return try await open(
            model: model, author: author, transport: daemon.retainingTransport, limits: limits)
    }

    private static func daemon(
        _ store: String, _ socket: String?
    ) async throws(TandemError) -> EmbeddedDaemon {
        do throws(DaemonError) {
            return try await EmbeddedDaemon.started(
                DaemonConfiguration(store: store, socket: socket))
        } catch {
            throw error.openingError(store)
        }
    }
}
