import TandemModel

extension Evaluation {
    /// What is known of an object that a path has come to.
    private enum Place {
        case row(Row, CompiledEntity)
        case missing
        case unknown
    }

    private func place<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ reader: borrowing R
    ) -> Place {
        switch reader.row(of: object) {
        case .missing: return .missing
        case .unknown: return .unknown
        case .row(let row):
            guard let entity = model.entity(tagged: row.tag) else { return .unknown }
            return .row(row, entity)
        }
    }

    private func start(_ root: Int) -> Scope { root == 0 ? object : variables[root - 1] }

    // MARK: One value

    /// The value of an operand that isn't to-many.
    func value<R: GraphReader & ~Copyable>(_ operand: Operand, _ reader: borrowing R) -> Value? {
        switch operand {
        case .constant(let value): value
        case .path(let path): value(path, reader)
        case .aggregate(let aggregate, let collection, let tail):
            self.aggregate(aggregate, collection, tail, reader)
        case .arithmetic(let op, let left, let right):
            if let left = value(left, reader), let right = value(right, reader) {
                Calculation.apply(op, left, right)
            } else {
                nil
            }
        }
    }

    /// What a path over to-one relationships reaches; null where it breaks off.
    func value<R: GraphReader & ~Copyable>(_ path: CompiledPath, _ reader: borrowing R) -> Value? {
        let scope = start(path.root)
        var (row, entity, object) = (scope.row, scope.entity, scope.object)
        for hop in path.hops {
            guard let next = row.reference(hop.slot, in: entity) else { return .null }
            switch place(next, reader) {
            case .unknown: return nil
            case .missing: return .null
            case .row(let found, let its): (row, entity, object) = (found, its, next)
            }
        }
        guard let final = path.final else { return .reference(object) }
        return row.value(final, in: entity)
    }

    // MARK: Many values

    /// Everything that an operand reaches, each once for every way to it; null where a way breaks off.
    func values<R: GraphReader & ~Copyable>(
        _ operand: Operand, _ reader: borrowing R
    ) -> [Value]? {
        guard case .path(let path) = operand, path.isToMany else {
            return value(operand, reader).map { [$0] }
        }
        let scope = start(path.root)
        return values(path, from: scope, reader)
    }

    /// Follows a path from an object whose row is known.
    func values<R: GraphReader & ~Copyable>(
        _ path: CompiledPath, from scope: Scope, _ reader: borrowing R
    ) -> [Value]? {
        var places: [Scope?] = [scope]
        for (index, hop) in path.hops.enumerated() {
            let isLast = index == path.hops.count - 1 && path.final == nil
            var targets: [ObjectReference?] = []
            for place in places {
                guard let place else {
                    targets.append(nil)
                    continue
                }
                guard hop.relationship.toMany else {
                    targets.append(place.row.reference(hop.slot, in: place.entity))
                    continue
                }
                let members = reader.members(of: place.object, hop.relationship, slot: hop.slot)
                guard let members else { return nil }
                targets += members
            }
            if isLast { return targets.map { $0.map { .reference($0) } ?? .null } }
            guard let next = scopes(targets, reader) else { return nil }
            places = next
        }
        return places.map { place in
            guard let place else { return .null }
            return path.final.map { place.row.value($0, in: place.entity) }
                ?? .reference(place.object)
        }
    }

    /// The rows of objects; nil for those that are missing, and altogether when one isn't held.
    private func scopes<R: GraphReader & ~Copyable>(
        _ objects: [ObjectReference?], _ reader: borrowing R
    ) -> [Scope?]? {
        var result: [Scope?] = []
        result.reserveCapacity(objects.count)
        for object in objects {
            guard let object else {
                result.append(nil)
                continue
            }
            switch place(object, reader) {
            case .unknown: return nil
            case .missing: result.append(nil)
            case .row(let row, let entity):
                result.append(Scope(object: object, row: row, entity: entity))
            }
        }
        return result
    }

    // MARK: Collections

    /// The distinct objects of a collection, by number.
    private func objects<R: GraphReader & ~Copyable>(
        _ collection: CollectionNode, _ reader: borrowing R
    ) -> [ObjectReference]? {
        switch collection {
        case .path(let path):
            return values(.path(path), reader)?.distinctObjects
        case .subquery(let path, let predicate):
            guard let members = values(.path(path), reader)?.distinctObjects,
                let rows = scopes(members, reader)
            else { return nil }
            var result: [ObjectReference] = []
            var inner = self
            for scope in rows {
                guard let scope else { continue }
                inner.variables = variables + [scope]
                guard let holds = inner.holds(predicate, reader) else { return nil }
                if holds { result.append(scope.object) }
            }
            return result
        }
    }

    private func aggregate<R: GraphReader & ~Copyable>(
        _ aggregate: Aggregate, _ collection: CollectionNode, _ tail: CompiledPath,
        _ reader: borrowing R
    ) -> Value? {
        guard let objects = objects(collection, reader) else { return nil }
        if aggregate == .count { return .int(Int64(objects.count)) }
        guard let rows = scopes(objects, reader) else { return nil }
        var values: [Value] = []
        for scope in rows {
            guard let scope else { continue }
            guard let reached = self.values(tail, from: scope, reader) else { return nil }
            values += reached
        }
        return Calculation.aggregate(aggregate, values)
    }
}

extension [Value] {
    /// The objects among the values, each once, by number.
    fileprivate var distinctObjects: [ObjectReference] {
        let sorted = compactMap(\.reference).sorted()
        var result: [ObjectReference] = []
        for object in sorted where result.last?.number != object.number { result.append(object) }
        return result
    }
}
