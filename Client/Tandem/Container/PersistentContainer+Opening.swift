public import TandemModel

/// Containers that connect when they are opened.
extension PersistentContainer {
    /// Creates a container, connects it, and applies the model; blocks.
    ///
    /// Use it if the app can show or log an error, usually at launch. The initializer connects at
    /// the first use instead, and retries for ``ClientLimits/absentMilliseconds``.
    ///
    ///     let container = try PersistentContainer.open(model: model)
    ///
    /// A failed attempt is not repeated. If the daemon accepts the connection but is busy, the call
    /// waits for up to ``ClientLimits/connectMilliseconds``. Cost: a round trip, and the
    /// installation of the model if the store is empty or has an older model. The parameters are
    /// those of ``init(model:socket:name:author:transport:limits:)``. Throws `disconnected` if no
    /// daemon listens (ENOENT, ECONNREFUSED), `denied` if the socket may not be opened (EACCES),
    /// and `timeout` if the daemon does not answer. Throws `schemaMismatch` if the store's model is
    /// incompatible, and `usage` for an invalid model or author.
    public static func open(
        model: ManagedObjectModel? = nil, socket: String? = nil, name: String = "default",
        author: String? = nil, transport: Transport? = nil, limits: ClientLimits = ClientLimits()
    ) throws(TandemError) -> PersistentContainer {
        let container = PersistentContainer(
            model: model, socket: socket, name: name, author: author, transport: transport,
            limits: limits)
        try container.core.open()
        return container
    }

    /// Creates a container, connects it, and applies the model.
    ///
    ///     let container = try await PersistentContainer.open(model: model)
    ///
    /// The parameters, errors and cost are the same as for the blocking form.
    public static func open(
        model: ManagedObjectModel? = nil, socket: String? = nil, name: String = "default",
        author: String? = nil, transport: Transport? = nil, limits: ClientLimits = ClientLimits()
    ) async throws(TandemError) -> PersistentContainer {
        let container = PersistentContainer(
            model: model, socket: socket, name: name, author: author, transport: transport,
            limits: limits)
        try await container.core.open()
        return container
    }

    /// Creates a container whose model is declared by classes, and connects it; blocks.
    ///
    /// The parameters, errors and cost are those of
    /// ``open(model:socket:name:author:transport:limits:)-swift.type.method``. Also throws
    /// `unknownProperty` or `usage` if a class does not fit its entity.
    ///
    ///     let container = try PersistentContainer.open(entities: [Team.self, Player.self])
    public static func open(
        entities types: [any ManagedEntity.Type], socket: String? = nil, name: String = "default",
        author: String? = nil, transport: Transport? = nil, limits: ClientLimits = ClientLimits()
    ) throws(TandemError) -> PersistentContainer {
        let container = PersistentContainer(
            entities: types, socket: socket, name: name, author: author, transport: transport,
            limits: limits)
        try container.core.open()
        return container
    }

    /// Creates a container whose model is declared by classes, and connects it.
    ///
    ///     let container = try await PersistentContainer.open(entities: [Team.self, Player.self])
    ///
    /// The parameters, errors and cost are the same as for the blocking form.
    public static func open(
        entities types: [any ManagedEntity.Type], socket: String? = nil, name: String = "default",
        author: String? = nil, transport: Transport? = nil, limits: ClientLimits = ClientLimits()
    ) async throws(TandemError) -> PersistentContainer {
        let container = PersistentContainer(
            entities: types, socket: socket, name: name, author: author, transport: transport,
            limits: limits)
        try await container.core.open()
        return container
    }
}
