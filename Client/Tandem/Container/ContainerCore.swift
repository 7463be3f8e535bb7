import TandemIO
import TandemModel

/// What a container shares with its contexts: the connection, the limits, the classes.
///
/// Contexts keep it, not the container, so that a container may keep its view context. The connection ends with the last of them.
final class ContainerCore: Sendable {
    let connection: Connection
    let limits: ClientLimits
    private let caches = Locked<String?>(TandemPaths.cacheDirectory)
    private let types = Locked<[String: ManagedObject.Type]>([:])

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

    func register(_ type: any ManagedEntity.Type) {
        types.withLock { $0[type.entity.name] = type }
    }

    /// The class for objects of an entity: its own or that of the nearest entity it inherits from.
    func type(for entity: CompiledEntity, in model: CompiledModel?) -> ManagedObject.Type {
        types.withLock { types in
            for tag in entity.ancestors {
                if let name = model?.entity(tagged: tag)?.name, let type = types[name] {
                    return type
                }
            }
            return ManagedObject.self
        }
    }
}
