import TandemModel

extension Evaluation {
    /// Calls `body` with the scope of an object, or with nil if the object does not exist.
    ///
    /// If the reader does not have the object, `body` is not called.
    private func visit<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ reader: borrowing R, _ body: (Scope?) -> Void
    ) {
        reader.withRow(of: object) { lookup in
            switch lookup {
            case .unknown: break
            case .missing: body(nil)
            case .row(let row):
                guard let entity = model.entity(tagged: row.tag) else { return }
                body(Scope(object: object, row: row, entity: entity))
            }
        }
    }

    private func start(_ root: Int) -> Scope { root == 0 ? object : variables[root - 1] }

    // MARK: One value

    /// Returns the value of an operand that isn't to-many.
    func value<R: GraphReader & ~Copyable>(_ operand: Operand, _ reader: borrowing R)
        -> PropertyValue?
    {
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

    /// Returns the value of a path over to-one relationships; null if a relationship is empty.
    func value<R: GraphReader & ~Copyable>(_ path: CompiledPath, _ reader: borrowing R)
        -> PropertyValue?
    {
        value(path, 0, from: start(path.root), reader)
    }

    private func value<R: GraphReader & ~Copyable>(
        _ path: CompiledPath, _ index: Int, from scope: Scope, _ reader: borrowing R
    ) -> PropertyValue? {
        guard index < path.hops.count else { return end(of: path, scope) }
        let slot = path.hops[index].slot
        guard let next = scope.row.reference(slot, in: scope.entity) else { return .null }
        var reached: PropertyValue?
        visit(next, reader) { scope in
            guard let scope else { return reached = .null }
            reached = value(path, index + 1, from: scope, reader)
        }
        return reached
    }

    private func end(of path: CompiledPath, _ scope: Scope) -> PropertyValue {
        path.final.map { scope.row.value($0, in: scope.entity) } ?? .reference(scope.object)
    }

    // MARK: Many values

    /// Returns all values of an operand, one for each chain of objects along its path; null if the
    /// chain ends at an empty to-one relationship.
    func values<R: GraphReader & ~Copyable>(
        _ operand: Operand, _ reader: borrowing R
    ) -> [PropertyValue]? {
        guard case .path(let path) = operand, path.isToMany else {
            return value(operand, reader).map { [$0] }
        }
        let scope = start(path.root)
        return values(path, from: scope, reader)
    }

    /// Returns all values of a path that begins at a scope.
    func values<R: GraphReader & ~Copyable>(
        _ path: CompiledPath, from scope: Scope, _ reader: borrowing R
    ) -> [PropertyValue]? {
        var reached: [PropertyValue] = []
        return collect(path, 0, from: scope, reader, &reached) ? reached : nil
    }

    /// Appends the values of a path from hop `index` on, beginning at a scope; returns false if the
    /// reader lacks an object.
    private func collect<R: GraphReader & ~Copyable>(
        _ path: CompiledPath, _ index: Int, from scope: Scope, _ reader: borrowing R,
        _ reached: inout [PropertyValue]
    ) -> Bool {
        guard index < path.hops.count else {
            reached.append(end(of: path, scope))
            return true
        }
        let hop = path.hops[index]
        guard hop.relationship.toMany else {
            let target = scope.row.reference(hop.slot, in: scope.entity)
            return collect(path, index + 1, at: target, reader, &reached)
        }
        let members = reader.members(of: scope.object, hop.relationship, slot: hop.slot)
        guard let members else { return false }
        for member in members {
            guard collect(path, index + 1, at: member, reader, &reached) else { return false }
        }
        return true
    }

    /// Appends the values of a path from hop `index` on, beginning at an object, or null if there
    /// is no object.
    private func collect<R: GraphReader & ~Copyable>(
        _ path: CompiledPath, _ index: Int, at target: ObjectReference?, _ reader: borrowing R,
        _ reached: inout [PropertyValue]
    ) -> Bool {
        guard let target else {
            reached.append(.null)
            return true
        }
        if index == path.hops.count, path.final == nil {
            reached.append(.reference(target))
            return true
        }
        var isHeld = false
        visit(target, reader) { scope in
            guard let scope else {
                reached.append(.null)
                return isHeld = true
            }
            isHeld = collect(path, index, from: scope, reader, &reached)
        }
        return isHeld
    }

    // MARK: Collections

    /// Returns the distinct objects of a collection, by number.
    private func objects<R: GraphReader & ~Copyable>(
        _ collection: CollectionNode, _ reader: borrowing R
    ) -> [ObjectReference]? {
        switch collection {
        case .path(let path):
            return values(.path(path), reader)?.distinctObjects
        case .subquery(let path, let predicate):
            guard let members = values(.path(path), reader)?.distinctObjects else { return nil }
            var result: [ObjectReference] = []
            for member in members {
                guard let holds = holds(predicate, with: member, reader) else { return nil }
                if holds { result.append(member) }
            }
            return result
        }
    }

    /// Returns whether a predicate is true with an object as the innermost variable; false if the
    /// object does not exist.
    private func holds<R: GraphReader & ~Copyable>(
        _ predicate: PredicateNode, with member: ObjectReference, _ reader: borrowing R
    ) -> Bool? {
        var result: Bool?
        visit(member, reader) { scope in
            guard let scope else { return result = false }
            var inner = self
            inner.variables.append(scope)
            result = inner.holds(predicate, reader)
        }
        return result
    }

    private func aggregate<R: GraphReader & ~Copyable>(
        _ aggregate: Aggregate, _ collection: CollectionNode, _ tail: CompiledPath,
        _ reader: borrowing R
    ) -> PropertyValue? {
        guard let objects = objects(collection, reader) else { return nil }
        if aggregate == .count { return .int(Int64(objects.count)) }
        var reached: [PropertyValue] = []
        for object in objects {
            var isHeld = false
            visit(object, reader) { scope in
                guard let scope else { return isHeld = true }
                isHeld = collect(tail, 0, from: scope, reader, &reached)
            }
            guard isHeld else { return nil }
        }
        return Calculation.aggregate(aggregate, reached)
    }
}

extension [PropertyValue] {
    /// The distinct objects among the values, by number.
    fileprivate var distinctObjects: [ObjectReference] {
        let sorted = compactMap(\.reference).sorted()
        var result: [ObjectReference] = []
        for object in sorted where result.last?.number != object.number { result.append(object) }
        return result
    }
}
