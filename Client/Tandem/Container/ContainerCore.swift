import TandemIO
import TandemModel

/// What a container shares with its contexts: the connection, the limits, the classes.
///
/// Contexts keep it, not the container, so that a container may keep its view context. The connection ends with the last of them.
final class ContainerCore: Sendable {
    let connection: Connection
    let limits: ClientLimits
    private let caches = Locked<String?>(TandemPaths.cacheDirectory)
    private let classes = Locked(Classes())

    private struct Classes {
        var types: [String: ManagedObject.Type] = [:]
        /// The entities whose class came when there may have been objects already.
        var late: Set<String> = []
        /// The entities whose class was not yet held against the model, and the last model in which they were not found.
        var unchecked: Set<String> = []
        var checked: CompiledModel?
        /// What is wrong with a class.
        var problem: TandemError?
    }

    init(_ connection: Connection, _ limits: ClientLimits) {
        self.connection = connection
        self.limits = limits
    }

    deinit { connection.close() }

    /// Where lists are cached; nil for nowhere.
    var cacheDirectory: String? {
        get { caches.withLock { $0 } }
        set { caches.withLock { $0 = newValue } }
    }

    /// Takes a class for the objects of its entity that are made from now on; `isEarly` before there can be any.
    func register(_ type: any ManagedEntity.Type, isEarly: Bool = false) {
        classes.withLock { classes in
            classes.types[type.entity.name] = type
            classes.unchecked.insert(type.entity.name)
            classes.checked = nil
            if !isEarly { classes.late.insert(type.entity.name) }
        }
    }

    /// Takes a class that somebody asked for, unless its entity has one.
    func learn(_ type: any ManagedEntity.Type) {
        classes.withLock { classes in
            guard classes.types[type.entity.name] == nil else { return }
            classes.types[type.entity.name] = type
            classes.unchecked.insert(type.entity.name)
            classes.checked = nil
            classes.late.insert(type.entity.name)
        }
    }

    /// Throws `unknownProperty`, or `usage` for one of another type, when a class shows what the model does not have.
    ///
    /// A class is looked at once: what becomes of the model later is no mistake in it.
    func checkClasses(_ model: CompiledModel) throws(TandemError) {
        let types = try classes.withLock {
            (classes) throws(TandemError) -> [String: ManagedObject.Type] in
            if let problem = classes.problem { throw problem }
            if classes.unchecked.isEmpty || classes.checked === model { return [:] }
            return classes.types.filter { classes.unchecked.contains($0.key) }
        }
        guard !types.isEmpty else { return }
        let known = types.filter { model.entity(named: $0.key) != nil }
        let found = known.sorted { $0.key < $1.key }.lazy.compactMap { name, type in
            model.entity(named: name).flatMap { ClassCheck.problem(of: type, for: $0) }
        }.first
        classes.withLock { classes in
            classes.checked = model
            classes.problem = found
            classes.unchecked.subtract(known.keys)
        }
        if let found { throw found }
    }

    /// Whether objects may have been made before all classes were known.
    var hasLateClasses: Bool { classes.withLock { !$0.late.isEmpty } }

    /// The class for objects of an entity: its own or that of the nearest entity it inherits from.
    func type(for entity: CompiledEntity, in model: CompiledModel?) -> ManagedObject.Type {
        classes.withLock { classes in
            for tag in entity.ancestors {
                if let name = model?.entity(tagged: tag)?.name, let type = classes.types[name] {
                    return type
                }
            }
            return ManagedObject.self
        }
    }
}
