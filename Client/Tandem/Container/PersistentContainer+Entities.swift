import TandemModel

extension PersistentContainer {
    /// A container whose model is what classes declare; objects come as instances of these classes.
    ///
    /// A class that shows what its entity does not have makes every use throw `unknownProperty`, or `usage` for another type.
    /// To look at that, an object of each class is made that belongs to no context.
    ///
    ///     let container = PersistentContainer(entities: [Team.self, Player.self], author: "worldcup")
    /// - Parameters:
    ///   - types: The classes, each with the entity that it declares.
    ///   - socket: The path of the socket; nil derives it from `name`, see ``TandemPaths``.
    ///   - name: The daemon's name.
    ///   - author: What the journal calls this process; `uid:pid` if nil.
    ///   - transport: Another way to the daemon; `socket` and `name` don't count then.
    ///   - limits: Other limits than the defaults.
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
