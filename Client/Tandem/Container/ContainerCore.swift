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
        /// The model that all of them were held against, and what is wrong.
        var checked: CompiledModel?
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
            classes.checked = nil
            if !isEarly { classes.late.insert(type.entity.name) }
        }
    }

    /// Takes a class that somebody asked for, unless its entity has one.
    func learn(_ type: any ManagedEntity.Type) {
        classes.withLock { classes in
            guard classes.types[type.entity.name] == nil else { return }
            classes.types[type.entity.name] = type
            classes.checked = nil
            classes.late.insert(type.entity.name)
        }
    }

    /// Throws `unknownProperty`, or `usage` for one of another type, when a class shows what the model does not have.
    func checkClasses(_ model: CompiledModel) throws(TandemError) {
        let (types, problem) = classes.withLock {
            classes -> ([String: ManagedObject.Type]?, TandemError?) in
            classes.checked === model ? (nil, classes.problem) : (classes.types, nil)
        }
        if let problem { throw problem }
        guard let types else { return }
        let found = types.sorted { $0.key < $1.key }.lazy.compactMap { name, type in
            model.entity(named: name).flatMap { ClassCheck.problem(of: type, for: $0) }
        }.first
        classes.withLock { classes in
            guard classes.types.count == types.count else { return }
            classes.checked = model
            classes.problem = found
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
