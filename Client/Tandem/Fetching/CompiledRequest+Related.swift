import TandemModel
import TandemQuery

/// The related objects on which the result of a request depends.
extension CompiledRequest {
    /// Whether the client can move rows whose place depends on edited objects.
    ///
    /// False if membership depends on other objects, which the client may not have, and with a
    /// limit, because the row that would enter the result is unknown.
    var isPlacedByRelated: Bool { !predicateUsesRelated && !usesToMany && request.limit == nil }

    /// The slots of related objects that paths read, by entity.
    var watched: [EntityTag: PropertyMask] {
        var watched: [EntityTag: PropertyMask] = [:]
        func watch(_ tag: EntityTag, _ slot: Int?) {
            guard let entity = model.entity(tagged: tag) else { return }
            for tag in entity.descendants + [entity.tag] {
                var mask = watched[tag] ?? PropertyMask()
                if let slot { mask.insert(slot) }
                watched[tag] = mask
            }
        }
        for path in paths {
            for (hop, next) in zip(path.hops, path.hops.dropFirst()) {
                watch(hop.destination, next.slot)
            }
            guard let last = path.hops.last else { continue }
            if path.final != nil || !path.staysInRow { watch(last.destination, path.final?.slot) }
        }
        return watched
    }

    /// The entities of the request's objects, and the entities along its paths.
    var interests: [EntityTag] {
        let ends = paths.flatMap(\.hops).map(\.destination) + [entity.tag]
        let families = ends.compactMap { model.entity(tagged: $0) }
            .flatMap { $0.descendants + [$0.tag] }
        return Set(families).sorted()
    }

    /// Returns the to-one prefixes of the paths used for the sort order and the sections, or of all
    /// paths.
    func relatedPaths(everything: Bool) -> [[String]] {
        let paths = paths.filter { path in
            !path.staysInRow && (everything || !path.usage.isDisjoint(with: [.sort, .section]))
        }
        let names = paths.map { path in
            path.hops.prefix { !$0.isToMany }.compactMap { hop in
                model.entity(tagged: hop.owner)?.properties[hop.slot].name
            }
        }
        return Set(names).filter { !$0.isEmpty }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Returns the objects on all paths of to-one relationships, and the objects at which a path
    /// ends because they are not loaded.
    func reached(
        from row: Row, _ reader: some GraphReader
    ) -> (reached: Set<ObjectReference>, unknown: [ObjectReference]) {
        var reached: Set<ObjectReference> = []
        var unknown: [ObjectReference] = []
        for path in paths where !path.hops.isEmpty {
            var row = row
            hops: for hop in path.hops {
                guard !hop.isToMany, let entity = model.entity(tagged: row.tag),
                    let target = row.reference(hop.slot, in: entity)
                else { break }
                reached.insert(target)
                switch reader.row(of: target) {
                case .missing: break hops
                case .row(let next): row = next
                case .unknown:
                    unknown.append(target)
                    break hops
                }
            }
        }
        return (reached, unknown)
    }
}
