import TandemModel

/// A resolver of key paths that records every path.
struct PathResolver {
    /// An object at which a path can begin: the object itself, or a variable over a collection.
    struct Scope {
        var variable: String
        var entity: CompiledEntity
        /// The hops from the object itself.
        var prefix: [ObservedHop]
    }

    let model: CompiledModel
    /// The object itself, then the variables, outermost first.
    var scopes: [Scope]
    private(set) var observed: [ObservedPath] = []
    /// The index in `observed` of each path, by the path without its usage.
    private var places: [ObservedPath: Int] = [:]

    init(_ model: CompiledModel, _ entity: CompiledEntity) {
        self.model = model
        scopes = [Scope(variable: "", entity: entity, prefix: [])]
    }

    /// Resolves a path that begins at a scope, and records its use.
    mutating func path(
        _ names: [String], from root: Int = 0, _ usage: ObservedPath.Usage
    ) throws(TandemError) -> CompiledPath {
        let scope = scopes[root]
        var (path, hops, final) = try resolve(names, scope.entity)
        path.root = root
        if !names.isEmpty { try record(scope.prefix + hops, final, usage) }
        return path
    }

    /// Resolves a path that continues from the objects of `collection`, and records its use.
    mutating func path(
        _ names: [String], after collection: CompiledPath, _ usage: ObservedPath.Usage
    ) throws(TandemError) -> CompiledPath {
        let entity = try destination(of: collection)
        let (path, hops, final) = try resolve(names, entity)
        try record(prefix(of: collection) + hops, final, usage)
        return path
    }

    /// Returns the entity of the objects at the end of a path.
    func destination(of path: CompiledPath) throws(TandemError) -> CompiledEntity {
        let last = prefix(of: path).last
        let entity = last.flatMap { model.entity(tagged: $0.destination) }
        guard let entity else {
            throw TandemError(.invalidPredicate, "expected a relationship as the collection")
        }
        return entity
    }

    /// Returns the hops from the object itself to the end of a path.
    func prefix(of path: CompiledPath) -> [ObservedHop] {
        var hops = scopes[path.root].prefix
        var owner = scopes[path.root].entity
        let slots =
            path.hops.map(\.slot) + (path.type == .object ? [path.final] : []).compactMap { $0 }
        for slot in slots {
            guard let relationship = owner.properties[slot].relationship,
                let next = model.entity(tagged: relationship.destination)
            else { break }
            hops.append(PathResolver.hop(owner, slot, relationship))
            owner = next
        }
        return hops
    }

    private mutating func record(
        _ hops: [ObservedHop], _ final: ObservedProperty?, _ usage: ObservedPath.Usage
    ) throws(TandemError) {
        try PathResolver.check(hopCount: hops.count)
        let path = ObservedPath(hops: hops, final: final, usage: [])
        if let place = places[path] {
            observed[place].usage.formUnion(usage)
        } else {
            places[path] = observed.count
            observed.append(ObservedPath(hops: hops, final: final, usage: usage))
        }
    }

    // MARK: Names

    private func resolve(
        _ names: [String], _ start: CompiledEntity
    ) throws(TandemError) -> (CompiledPath, [ObservedHop], ObservedProperty?) {
        try PathResolver.check(hopCount: names.count)
        var entity = start
        var path = CompiledPath(type: .object)
        var hops: [ObservedHop] = []
        for (index, name) in names.enumerated() {
            let isLast = index == names.count - 1
            let property = try property(name, of: entity)
            switch property.kind {
            case .attribute(let attribute):
                guard isLast else { throw PathResolver.attributeError(entity, name) }
                path.final = property.slot
                path.type = .attribute(attribute.type)
                let final = ObservedProperty(entity: entity.tag, slot: property.slot)
                return (path, hops, final)
            case .relationship(let relationship):
                hops.append(PathResolver.hop(entity, property.slot, relationship))
                if isLast, !relationship.toMany {
                    path.final = property.slot
                } else {
                    path.hops.append(.init(slot: property.slot, relationship: relationship))
                    path.isToMany = path.isToMany || relationship.toMany
                }
                guard let next = model.entity(tagged: relationship.destination) else { break }
                entity = next
            }
        }
        return (path, hops, nil)
    }

    private func property(
        _ name: String, of entity: CompiledEntity
    ) throws(TandemError) -> CompiledProperty {
        guard let property = entity.property(named: name) else {
            throw entity.unknownProperty(name)
        }
        return property
    }

    private static func check(hopCount: Int) throws(TandemError) {
        guard hopCount <= KeyPaths.maximumHops else {
            throw TandemError(
                .limitExceeded,
                "a key path, including the paths of its collections, can have at most "
                    + "\(KeyPaths.maximumHops) names, not \(hopCount)")
        }
    }

    private static func attributeError(_ entity: CompiledEntity, _ name: String) -> TandemError {
        TandemError(
            .unknownProperty,
            "\(entity.name).\(name) is an attribute; a key path must end there")
    }

    private static func hop(
        _ owner: CompiledEntity, _ slot: Int, _ relationship: CompiledRelationship
    ) -> ObservedHop {
        ObservedHop(
            owner: owner.tag, slot: slot, isToMany: relationship.toMany,
            destination: relationship.destination)
    }
}
