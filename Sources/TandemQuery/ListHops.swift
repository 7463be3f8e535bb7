public import TandemModel

/// The hops of a list that is opened (``ListDetails``), resolved against a model.
public struct ListHops: Hashable, Sendable {
    /// For each hop the slots that lead there from the object on.
    let slots: [[Int]]
    /// With no more objects than this the rows are wanted.
    public let rowsUpTo: Int

    /// How many hops there are.
    public var count: Int { slots.count }

    /// The hop that is nothing but the relationship of a slot; nil if there is none.
    public func direct(_ slot: Int) -> Int? { slots.firstIndex(of: [slot]) }

    /// Resolves the hops of a list's objects.
    ///
    /// Throws ``TandemError``: `unknownProperty` where a name is that of no to-one relationship.
    public init(_ details: ListDetails, of request: CompiledRequest) throws(TandemError) {
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

    /// What a row reaches, hop by hop, appended to `found`; false when the reader does not hold what lies between.
    public func follow<R: GraphReader & ~Copyable>(
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

    /// Where a path ends; nil when that is not known.
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
