import TandemModel

extension PersistentContainer {
    /// Creates a container whose model is declared by classes, which also represent its objects.
    ///
    /// If a class has a property that its entity lacks, every use of the container throws
    /// `unknownProperty`, or `usage` if the type differs. To check this, an object of each class is
    /// created that belongs to no context.
    ///
    ///     let container = PersistentContainer(
    ///         entities: [Team.self, Player.self], author: "worldcup")
    /// - Parameters:
    ///   - types: The classes, each with the entity that it declares.
    ///   - socket: The path of the socket; nil derives it from `name`, see ``TandemPaths``.
    ///   - name: The daemon's name.
    ///   - author: The author that the journal records for this process; `uid:pid` if nil.
    ///   - transport: Another way to reach the daemon; `socket` and `name` are ignored then.
    ///   - limits: The limits and timeouts.
    public convenience init(
        entities types: [any ManagedEntity.Type], socket: String? = nil, name: String = "default",
        author: String? = nil, transport: Transport? = nil, limits: ClientLimits = ClientLimits()
    ) {
        self.init(
            model: Model(entities: types.map { $0.entity }), socket: socket, name: name,
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
