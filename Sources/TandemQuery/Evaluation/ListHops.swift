package import TandemModel

/// The hops of a list (``ListDetails``), resolved against a model.
package struct ListHops: Hashable, Sendable {
    /// For each hop, the slots of the path from the object.
    let slots: [[Int]]
    /// The maximum number of objects for which rows are requested instead of placements.
    package let rowsUpTo: Int

    /// The number of hops.
    package var count: Int { slots.count }

    /// Returns the index of the hop that consists only of the relationship in a slot; nil if there
    /// is none.
    package func direct(_ slot: Int) -> Int? { slots.firstIndex(of: [slot]) }

    /// Resolves the hops of a list's objects.
    ///
    /// Throws ``TandemError`` with `unknownProperty` if a name is not a to-one relationship.
    package init(_ details: ListDetails, of request: CompiledRequest) throws(TandemError) {
        rowsUpTo = Int(details.rowsUpTo)
        slots = try details.hops.map { names throws(TandemError) in
            try Self.slots(names, from: request.entity, in: request.model)
        }
    }

    private static func slots(
        _ names: [String], from start: CompiledEntity, in model: CompiledModel
    ) throws(TandemError) -> [Int] {
        var (entity, slots) = (start, [Int]())
        for name in names {
            guard let slot = entity.slot(of: name),
                let relationship = entity.properties[slot].relationship, !relationship.toMany,
                let next = model.entity(tagged: relationship.destination)
            else {
                throw TandemError(
                    .unknownProperty, "\(entity.name) has no to-one relationship `\(name)`")
            }
            slots.append(slot)
            entity = next
        }
        return slots
    }

    /// Appends the object at the end of each hop of a row to `found`.
    ///
    /// Returns false if the reader lacks an object on a path.
    package func follow<R: GraphReader & ~Copyable>(
        _ row: RowView, _ request: CompiledRequest, _ reader: borrowing R,
        into found: inout [ObjectReference?]
    ) -> Bool {
        for path in slots {
            guard let end = end(of: path[...], row, request.model, reader) else { return false }
            found.append(end.target)
        }
        return true
    }

    private struct End { var target: ObjectReference? }

    /// Returns the object at the end of a path; nil if the reader lacks an object on the path.
    private func end<R: GraphReader & ~Copyable>(
        of path: ArraySlice<Int>, _ row: RowView, _ model: CompiledModel, _ reader: borrowing R
    ) -> End? {
        guard let slot = path.first, let entity = model.entity(tagged: row.tag),
            let target = row.reference(slot, in: entity), model.entity(tagged: target.tag) != nil
        else { return End() }
        if path.count == 1 { return End(target: target) }
        var end: End?
        reader.withRow(of: target) { lent in
            switch lent {
            case .row(let next): end = self.end(of: path.dropFirst(), next, model, reader)
            case .missing: end = End()
            case .unknown: end = nil
            }
        }
        return end
    }
}
