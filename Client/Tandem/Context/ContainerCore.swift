import TandemIO
import TandemModel

/// The state that a container shares with its contexts: the connection, limits and classes.
///
/// Contexts retain this object instead of the container, so that a container may retain its view
/// context. The connection is closed when the container and all its contexts have been released.
package final class ContainerCore: Sendable {
    let connection: Connection
    /// The log of the container's operations.
    package var log: ConnectionLog { connection.log }
    let limits: ClientLimits
    /// Returns the first error of a class for its entity; nil if the class is valid.
    private let validate: Validator
    private let caches = Locked<String?>(TandemPaths.cacheDirectory)
    private let classes = Locked(Classes())

    typealias Validator =
        @Sendable (_ type: ManagedObject.Type, _ entity: CompiledEntity) -> TandemError?

    private struct Classes {
        var types: [String: ManagedObject.Type] = [:]
        /// Entities whose class was registered when objects might already have existed.
        var late: Set<String> = []
        /// Entities whose class has not been validated yet.
        var unchecked: Set<String> = []
        var checked: CompiledModel?
        /// The error found while validating the classes.
        var problem: TandemError?
    }

    /// Creates the state of a container that validates classes with `validate`.
    init(_ connection: Connection, _ limits: ClientLimits, validate: @escaping Validator) {
        (self.connection, self.limits, self.validate) = (connection, limits, validate)
    }

    deinit { connection.close() }

    /// Connects in a single attempt and validates the classes; closes the connection if that fails.
    func open() throws(TandemError) {
        do throws(TandemError) {
            try checkClasses(try connection.session(isPatient: false).model)
        } catch {
            connection.close()
            throw error
        }
    }

    /// Connects in a single attempt and validates the classes; closes the connection if that fails.
    func open() async throws(TandemError) {
        do throws(TandemError) {
            try checkClasses(try await connection.sessionAsync(isPatient: false).model)
        } catch {
            connection.close()
            throw error
        }
    }

    /// The directory of cached lists; nil disables the cache.
    var cacheDirectory: String? {
        get { caches.withLock { $0 } }
        set { caches.withLock { $0 = newValue } }
    }

    /// Deletes the cached list with this name, or all cached lists if `name` is nil.
    func deleteCache(named name: String?) throws(TandemError) {
        guard let path = cacheDirectory else { return }
        do throws(IOError) {
            try SectionCacheDirectory(path).delete(name)
        } catch {
            throw TandemError(.storage, "the cache cannot be removed: \(error)")
        }
    }

    /// Registers a class for its entity; objects created from now on are instances of it.
    ///
    /// Pass true for `isEarly` only if no object can exist yet.
    func register(_ type: any ManagedEntity.Type, isEarly: Bool = false) {
        classes.withLock { classes in
            classes.types[type.entity.name] = type
            classes.unchecked.insert(type.entity.name)
            classes.checked = nil
            if !isEarly { classes.late.insert(type.entity.name) }
        }
    }

    /// Registers a class used by a caller, unless its entity already has a class.
    func registerIfNeeded(_ type: any ManagedEntity.Type) {
        classes.withLock { classes in
            guard classes.types[type.entity.name] == nil else { return }
            classes.types[type.entity.name] = type
            classes.unchecked.insert(type.entity.name)
            classes.checked = nil
            classes.late.insert(type.entity.name)
        }
    }

    /// Validates the registered classes against a model.
    ///
    /// Throws `unknownProperty` if a class has a property that the model lacks, and `usage` if the
    /// type of a property differs. Each class is validated once: a later model change does not make
    /// the class invalid.
    func checkClasses(_ model: CompiledModel) throws(TandemError) {
        let types = try classes.withLock {
            (classes) throws(TandemError) -> [String: ManagedObject.Type] in
            if let problem = classes.problem { throw problem }
            if classes.unchecked.isEmpty || classes.checked === model { return [:] }
            return classes.types.filter { classes.unchecked.contains($0.key) }
        }
        guard !types.isEmpty else { return }
        let known = types.filter { model.entity(named: $0.key) != nil }
        let validate = validate
        let found = known.sorted { $0.key < $1.key }.lazy.compactMap { name, type in
            model.entity(named: name).flatMap { validate(type, $0) }
        }.first
        classes.withLock { classes in
            classes.checked = model
            classes.problem = found
            classes.unchecked.subtract(known.keys)
        }
        if let found { throw found }
    }

    /// Whether objects may have been created before all classes were registered.
    var hasLateClasses: Bool { classes.withLock { !$0.late.isEmpty } }

    /// Returns the class for objects of an entity: its own class, or its nearest superentity's.
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

    /// Returns the entity with a name in a model.
    ///
    /// Throws `unknownEntity`; the message names the class that is registered for the entity.
    func entity(named name: String, in model: CompiledModel) throws(TandemError) -> CompiledEntity {
        if let entity = model.entity(named: name) { return entity }
        var error = model.unknownEntity(name)
        if let type = classes.withLock({ $0.types[name] }) {
            error.message += "; add \(type).self to the container's entities or model"
        }
        throw error
    }
}
