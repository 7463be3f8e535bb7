import TandemModel

/// Lends the objects of the rows of an answer, one after the other, without making one for each.
///
/// The rows are those of the place where the context stands. Of rows that it has records of, be it that somebody holds their objects or
/// edited them, the object is the one of the record; for the others one passes by (``PassingObject``). When whoever looks at an object
/// leads the context elsewhere, the rest of the answer is of no use.
///
/// State: an object for each entity so far, and where their relationships led lately. Rows that follow each other mostly lead to the same
/// objects: these are kept until the end, or others fall together with them, so that finding one again takes neither a look into the context
/// nor another object.
final class PassingRows {
    private static let size = 64

    let context: ManagedObjectContext
    @exclusivity(unchecked) private var targets = [ManagedObject?](repeating: nil, count: size)
    private var passing: [PassingObject] = []
    /// Which of those was needed last.
    private var latest = 0

    init(_ context: ManagedObjectContext) { self.context = context }

    /// Calls `body` with the object of each row, in order; gives those of the rows for which it was not called, to be loaded and taken as
    /// they are then.
    ///
    /// Throws `storage` for rows that can't be read.
    func forEach(in answer: RowsAnswer, _ body: (ManagedObject) -> Void) throws -> [ManagedObject] {
        // Who looks at other rows while a value is made finds the object of that one as ever.
        context.records.keepPassing()
        for index in answer.objects.indices {
            guard context.standing.moves == answer.moves else {
                return try context.objects(of: answer, from: index)
            }
            try lend(answer.objects, index, body)
        }
        return []
    }

    private func lend(
        _ objects: StoredObjects, _ index: Int, _ body: (ManagedObject) -> Void
    ) throws {
        guard let place = try take(objects, index) else {
            let stored = objects[index]
            try context.adopt(stored)
            return body(context.object(stored.object))
        }
        show(place, body)
        passing[place].leave(self)
    }

    /// Lets an object stand for a row, and gives its place; nil for a row that the context has a record of.
    private func take(_ objects: StoredObjects, _ index: Int) throws(TandemError) -> Int? {
        try objects.withRow(at: index) { reference, version, row in
            Result<Int?, TandemError> { () throws(TandemError) in
                if context.records[reference.number] != nil { return nil }
                try chooseObject(for: reference)
                try passing[latest].take(reference, version: version, row: row.bytes, self)
                return latest
            }
        }.get()
    }

    /// Calls `body` with an object, of which nothing is left here afterwards: else nobody could tell whether it was kept.
    private func show(_ place: Int, _ body: (ManagedObject) -> Void) {
        if let object = passing[place].object { body(object) }
    }

    /// Finds the object that passes by for rows of an entity.
    private func chooseObject(for reference: ObjectReference) throws(TandemError) {
        if latest < passing.count, passing[latest].entity.tag == reference.tag { return }
        if let known = passing.firstIndex(where: { $0.entity.tag == reference.tag }) {
            latest = known
            return
        }
        passing.append(PassingObject(try context.entity(of: reference)))
        latest = passing.count - 1
    }

    // MARK: Relationships

    /// The object at the end of a to-one relationship, if it was there lately and is what a look into the context would give.
    func target(of record: ObjectRecord, _ slot: Int) -> ManagedObject? {
        guard record.pending.values.isEmpty, record.inFlight.values.isEmpty,
            let target = record.row?.reference(slot, in: record.entity),
            let object = targets[Self.index(target.number)],
            object.record.reference == target, !object.record.isDeleted
        else { return nil }
        return object
    }

    /// Keeps an object at hand that a relationship led to.
    func note(_ target: ManagedObject) {
        targets[Self.index(target.record.reference.number)] = target
    }

    private static func index(_ number: ObjectNumber) -> Int { Int(number % UInt64(size)) }
}

/// Rows that were read where a context stood.
struct RowsAnswer {
    let objects: StoredObjects
    /// The model that they are of.
    let model: CompiledModel
    /// How often the context had moved by then.
    let moves: Int
}

extension ManagedObjectContext {
    /// The objects of the rest of an answer that was read elsewhere, as faults where they aren't held.
    fileprivate func objects(
        of answer: RowsAnswer, from start: Int
    ) throws(TandemError) -> [ManagedObject] {
        let model = session?.model ?? answer.model
        let translation = ModelTranslation(from: answer.model, to: model)
        var objects: [ManagedObject] = []
        for stored in answer.objects[start...] {
            objects.append(object(try translation.reference(stored.object)))
        }
        return objects
    }
}
