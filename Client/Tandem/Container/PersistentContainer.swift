import TandemIO
public import TandemModel
import TandemWire

/// This process's access to a store: one connection, shared by all its contexts.
///
/// A container is Sendable and connects at its first use; make one for each store and keep it.
///
///     let container = PersistentContainer(model: Model(Team.self, Player.self))
///     let context = container.viewContext
///     let teams = try context.fetch(Team.self, sort: ["-wins"])
public final class PersistentContainer: Sendable {
    /// The model that this process declares; nil takes the daemon's.
    public let model: Model?
    /// The name under which the journal lists this process's saves.
    public let author: String
    /// What is kept, and how long is waited.
    public let limits: ClientLimits

    let core: ContainerCore
    var connection: Connection { core.connection }
    @MainActor private var mainContext: ManagedObjectContext?

    /// A container of the daemon at a socket or of a name.
    ///
    /// Nothing is connected yet. An empty store takes over `model`; one with a model that does not fit refuses with `schemaMismatch`.
    /// With a model that can't be used every use throws `usage` at once, with all that is wrong in it, and so it does with an
    /// author whose name has more than 256 bytes.
    /// - Parameters:
    ///   - model: The model; nil takes the daemon's.
    ///   - socket: The path of the socket; nil derives it from `name`, see ``TandemPaths``.
    ///   - name: The daemon's name.
    ///   - author: What the journal calls this process; `uid:pid` if nil.
    ///   - transport: Another way to the daemon; `socket` and `name` don't count then.
    ///   - limits: Other limits than the defaults.
    public init(
        model: Model? = nil, socket: String? = nil, name: String = "default",
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
        core = ContainerCore(connection, limits)
        // It will be no better with a daemon.
        if let problem = connection.declarationProblem { connection.fail(problem) }
    }

    /// Ends the connection; whatever waits fails with `disconnected`, and so does all that follows.
    public func close() { connection.close() }

    // MARK: Contexts

    /// The main actor's context; it follows the saves of others by itself.
    @MainActor public var viewContext: ManagedObjectContext {
        if let mainContext { return mainContext }
        let context = makeContext(name: "view", mergesAutomatically: true)
        mainContext = context
        return context
    }

    /// A context of the calling actor; outside an actor this does not compile.
    /// - Parameters:
    ///   - name: The name under which the journal lists its saves.
    ///   - mergesAutomatically: Whether it follows the saves of others unprompted.
    ///   - isolation: The actor; leave it out.
    /// - Returns: A context that stands nowhere until it is used.
    public func makeContext(
        name: String, mergesAutomatically: Bool = false,
        isolation: isolated (any Actor) = #isolation
    ) -> ManagedObjectContext {
        ManagedObjectContext(
            core: core, name: name, mergesAutomatically: mergesAutomatically, actor: isolation)
    }

    /// Runs a piece of work with a context of its own, away from the caller's actor.
    ///
    ///     let position = try await container.withContext { try $0.importTeams(from: file) }
    public func withContext<Result: Sendable>(
        name: String = "work",
        _ work: nonisolated(nonsending) @Sendable (ManagedObjectContext) async throws -> Result
    ) async throws -> Result {
        try await Worker().run(self, name, work)
    }

    private actor Worker {
        func run<Result: Sendable>(
            _ container: PersistentContainer, _ name: String,
            _ work: nonisolated(nonsending) @Sendable (ManagedObjectContext) async throws -> Result
        ) async throws -> Result {
            let context = container.makeContext(name: name)
            return try await work(context)
        }
    }

    // MARK: Types

    /// Lets objects of a class's entity be shown by that class from now on.
    ///
    /// Fetching, inserting and listing by class does so too where the entity has no class yet. Throws `unknownProperty` when the
    /// class shows what the model does not have, `usage` when it shows it as another type; where the model is not known yet, the
    /// first use throws that.
    public func register(_ type: any ManagedEntity.Type) throws(TandemError) {
        core.register(type)
        guard let model = connection.knownSession?.model ?? connection.compiledModel else { return }
        try core.checkClasses(model)
    }

    // MARK: The daemon

    /// The store's model as the daemon has it; blocks for a connection.
    public func storeModel() throws -> CompiledModel { try connection.session().model }

    /// Installs a model in an empty store, or migrates; blocks.
    ///
    /// Returns the position of that transaction.
    @discardableResult
    public func install(_ model: Model) throws -> Position {
        let request = SchemaRequest(model: model.json.text)
        guard case .schema(let answer) = try connection.answer(.schema(request)).get() else {
            throw TandemError(.storage, "the daemon did not answer about its model")
        }
        return try connection.session().position(answer.position)
    }

    /// Ends another client's connection, by its `id` in the status; blocks.
    ///
    /// False when there is no such client. Throws `denied` to who is no admin.
    public func disconnect(client id: UInt64) throws -> Bool {
        guard
            case .disconnected(let wasThere) = try connection.answer(.disconnect(client: id)).get()
        else { throw TandemError(.storage, "the daemon did not answer about the client") }
        return wasThere
    }

    /// Cancels a request of another client, or all of them if `request` is 0; false if there is none.
    ///
    /// Blocks. Throws `denied` if the user is not an administrator.
    package func cancel(request: UInt32, ofClient id: UInt64) throws -> Bool {
        let question = ClientMessage.disconnect(client: id, request: request)
        guard case .disconnected(let wasThere) = try connection.answer(question).get() else {
            throw TandemError(.storage, "the daemon did not answer about the request")
        }
        return wasThere
    }

    /// Makes the daemon reload its configuration; blocks until the new roles and limits are in effect.
    ///
    /// Returns the keys that have another value now, and those that will have one after a restart. Throws `denied` if the user is not an
    /// administrator, and `usage` with all errors of the configuration.
    package func reloadConfiguration() throws -> (changed: [String], needsRestart: [String]) {
        guard case .status(let text) = try connection.answer(.reload).get() else {
            throw TandemError(.storage, "the daemon did not answer about its configuration")
        }
        let json = try JSON(parsing: text)
        func keys(_ name: String) -> [String] { json[name]?.array?.compactMap(\.string) ?? [] }
        return (keys("changed"), keys("restart"))
    }

    /// The daemon's status as JSON text; blocks.
    public func status() throws -> String {
        guard case .status(let text) = try connection.answer(.status).get() else {
            throw TandemError(.storage, "the daemon did not answer about its status")
        }
        return text
    }
}
