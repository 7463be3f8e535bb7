import TandemIO
public import TandemModel
import TandemWire

/// A process's access to a store: one connection, shared by all its contexts.
///
/// A container is Sendable and connects at its first use. Create one for each store and keep it.
///
///     let container = PersistentContainer(model: ManagedObjectModel(Team.self, Player.self))
///     let context = container.viewContext
///     let teams = try context.fetch(Team.self, sort: [.descending(\.wins)])
public final class PersistentContainer: Sendable {
    /// The model that this process declares, or nil to use the daemon's model.
    public let model: ManagedObjectModel?
    /// The author that the journal records for this process's saves.
    public let author: String
    /// The limits and timeouts.
    package let limits: ClientLimits

    package let core: ContainerCore
    var connection: Connection { core.connection }
    @MainActor private var mainContext: ManagedObjectContext?

    /// Creates a container for the daemon with a given socket path or name.
    ///
    /// The container connects at its first use. An empty store adopts `model`; a store with an
    /// incompatible model rejects the connection with `schemaMismatch`. If the model is invalid,
    /// every use throws `usage` at once, with all errors of the model. The same happens if the
    /// author's name has more than 256 bytes.
    /// - Parameters:
    ///   - model: The model, or nil to use the daemon's model.
    ///   - socket: The path of the socket. If nil: `$TANDEM_SOCKET`, or else (except for root)
    ///     `$XDG_RUNTIME_DIR/tandem/NAME.sock`, or else `/run/tandem/NAME.sock`.
    ///   - name: The daemon's name.
    ///   - author: The author that the journal records for this process; `uid:pid` if nil.
    ///   - transport: A different way to reach the daemon, instead of `socket` and `name`.
    ///   - limits: The limits and timeouts.
    public init(
        model: ManagedObjectModel? = nil, socket: String? = nil, name: String = "default",
        author: String? = nil, transport: Transport? = nil, limits: ClientLimits = ClientLimits()
    ) {
        self.model = model
        self.limits = limits
        let own = "\(ThisProcess.effectiveUserID):\(ThisProcess.processID)"
        self.author = author ?? own
        let path = socket ?? TandemPaths.socket(name: name)
        let connection = Connection(
            transport: transport ?? .socketPath(path), author: self.author, model: model,
            limits: limits)
        connection.payloads.describe { [weak connection] number in
            connection?.knownSession?.position(number)
        }
        core = ContainerCore(connection, limits, validate: ManagedClassValidator.problem(of:for:))
        // Fails early, because no daemon would accept the declaration.
        if let problem = connection.declarationProblem { connection.fail(problem) }
    }

    /// Closes the connection; waiting and later requests fail with `disconnected`.
    public func close() { connection.close() }

    // MARK: Contexts

    /// The main actor's context, which merges saves by others automatically.
    @MainActor public var viewContext: ManagedObjectContext {
        if let mainContext { return mainContext }
        let context = makeContext(name: "view", mergesAutomatically: true)
        mainContext = context
        return context
    }

    /// Creates a context for the calling actor or, outside an actor, for the calling code.
    ///
    /// In a method of an actor, and in code on the main actor, the context belongs to the actor. In
    /// a synchronous `init` of an actor, a property's default, a nonisolated function or a detached
    /// task, it belongs to the code that holds it, which the compiler enforces. Such a context
    /// merges only when it is used, and reports changes to objects in its next operation.
    /// <doc:Actors> has a table of all cases.
    ///
    ///     actor Importer {
    ///         private let container: PersistentContainer
    ///         private var context: ManagedObjectContext?
    ///
    ///         func run() async throws {
    ///             let context = context ?? container.makeContext(name: "importer")
    ///             self.context = context
    ///             …
    ///         }
    ///     }
    ///
    /// - Parameters:
    ///   - name: The context name that the journal records for its saves.
    ///   - mergesAutomatically: Whether the context merges saves by others automatically. This
    ///     requires an actor, and traps without one.
    ///   - isolation: The calling actor; omit this argument.
    /// - Returns: A context that has no position until it is used.
    public func makeContext(
        name: String, mergesAutomatically: Bool = false,
        isolation: isolated (any Actor)? = #isolation
    ) -> ManagedObjectContext {
        require(
            isolation != nil || !mergesAutomatically,
            "The context \(name) cannot merge automatically, because it is not created on an actor. Create it in a method of its actor, or leave out mergesAutomatically; an actor's init and a property's default are not isolated to it yet."
        )
        return ManagedObjectContext(
            core: core, name: name, mergesAutomatically: mergesAutomatically, actor: isolation)
    }

    /// Runs a closure with its own context, off the caller's actor.
    ///
    ///     let position = try await container.withContext { try $0.importTeams(from: file) }
    public func withContext<Result: Sendable>(
        name: String = "work",
        _ work: @Sendable (ManagedObjectContext) async throws -> Result
    ) async throws -> Result {
        try await ContextWorker().run(self, name, work)
    }

    // MARK: Types

    /// Registers the class for objects of its entity that are created from now on.
    ///
    /// Fetching, inserting and listing by class also registers the class if the entity has none
    /// yet. Throws `unknownProperty` if the class has a property that the model lacks, and `usage`
    /// if a type differs. If the model is not known yet, the first use throws that error instead.
    public func register(_ type: any ManagedEntity.Type) throws(TandemError) {
        core.register(type)
        guard let model = connection.knownSession?.model ?? connection.compiledModel else { return }
        try core.checkClasses(model)
    }
}

extension PersistentContainer {
    /// The directory for lists with a ``FetchedResultsController/cacheName``; nil disables caching.
    ///
    /// The default is a directory of this program below `$XDG_CACHE_HOME/tandem`, or else below
    /// `~/.cache/tandem`. It is nil if there is no home directory, as for a service. Programs that
    /// share a directory share the cache names. Set this property before creating the first list.
    public var cacheDirectory: String? {
        get { core.cacheDirectory }
        set { core.cacheDirectory = newValue }
    }

    /// Deletes a cached list, or all lists in ``cacheDirectory`` if `name` is nil.
    ///
    /// This is never necessary, because outdated caches are not used. Open lists keep their content
    /// and their name. Throws `storage` if a file can't be removed.
    public func deleteCache(named name: String?) throws(TandemError) {
        try core.deleteCache(named: name)
    }

    /// Creates a container whose model is declared by classes, which also represent its objects.
    ///
    /// The other parameters are those of ``init(model:socket:name:author:transport:limits:)``. If a
    /// class has a property that its entity lacks, every use of the container throws
    /// `unknownProperty`, or `usage` if the type differs. To check this, an object of each class is
    /// created without a context.
    ///
    ///     let container = PersistentContainer(
    ///         entities: [Team.self, Player.self], author: "worldcup")
    public convenience init(
        entities types: [any ManagedEntity.Type], socket: String? = nil, name: String = "default",
        author: String? = nil, transport: Transport? = nil, limits: ClientLimits = ClientLimits()
    ) {
        self.init(
            model: ManagedObjectModel(entities: types.map { $0.entity }), socket: socket,
            name: name,
            author: author, transport: transport, limits: limits)
        for type in types { core.register(type, isEarly: true) }
        guard let declared = connection.compiledModel else { return }
        do {
            try core.checkClasses(declared)
        } catch {
            connection.fail(error)
        }
    }
}

/// The actor of a context used by a single closure.
private actor ContextWorker {
    func run<Result: Sendable>(
        _ container: PersistentContainer, _ name: String,
        _ work: @Sendable (ManagedObjectContext) async throws -> Result
    ) async throws -> Result {
        let context = container.makeContext(name: name)
        return try await work(context)
    }
}
