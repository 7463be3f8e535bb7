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
    let context: ManagedObjectContext
    /// Where the context finds what passes by.
    let passage: Passage
    private let targets = PassingTargets()
    /// Those that pass by, one for each entity so far.
    private var passing: [PassingObject] = []

    init(_ context: ManagedObjectContext) {
        self.context = context
        passage = context.records.passage
    }

    /// Calls `body` with the object of each row, in order; gives those of the rows for which it was not called, to be loaded and taken as
    /// they are then.
    ///
    /// Throws `storage` for rows that can't be read.
    func forEach(in answer: RowsAnswer, _ body: (ManagedObject) -> Void) throws -> [ManagedObject] {
        // Who looks at other rows while a value is made finds the object of that one as ever.
        context.records.keepPassing()
        return try answer.objects.withRows { rows in
            // They know these rows, which would stay with them.
            defer { end() }
            var latest: PassingObject?
            for index in answer.objects.indices {
                guard context.standing.moves == answer.moves else {
                    return try context.objects(of: answer, from: index)
                }
                let (reference, version, row) = rows[index]
                if context.records.keeps(reference.number) {
                    try showKnown(answer.objects[index], body)
                    continue
                }
                if latest?.entity.tag != reference.tag { latest = try passing(for: reference) }
                try latest?.stand(for: reference, version: version, row: row, self, body)
            }
            return []
        }
    }

    /// Calls `body` with the object of a row that the context has a record of.
    private func showKnown(_ stored: StoredObject, _ body: (ManagedObject) -> Void) throws {
        try context.adopt(stored)
        context.dropDoubtfulEdits()
        body(context.object(stored.object))
    }

    /// The object that passes by for rows of an entity.
    private func passing(for reference: ObjectReference) throws(TandemError) -> PassingObject {
        if let known = passing.first(where: { $0.entity.tag == reference.tag }) { return known }
        let new = PassingObject(try context.entity(of: reference))
        passing.append(new)
        return new
    }

    private func end() {
        let ended = passing
        passing = []
        for object in ended { object.end() }
    }

    // MARK: Relationships

    /// The object at the end of a to-one relationship, if it was there lately and is what a look into the context would give.
    @inline(__always)
    func target(_ target: ObjectReference) -> ManagedObject? { targets[target] }

    /// The object of a record that a relationship led to, which is kept at hand.
    func object(of record: ObjectRecord) -> ManagedObject {
        if let known = record.object {
            targets.keep(known, record, isLent: false)
            return known
        }
        let new = context.newObject(of: record)
        record.lend(new)
        targets.keep(new, record, isLent: true)
        return new
    }
}

/// Rows that were read where a context stood.
struct RowsAnswer {
    let objects: StoredObjects
    /// The model that they are of.
    let model: CompiledModel
    /// How often the context had moved by then.
    let moves: Int
    /// How many there are, with those that come in parts.
    let count: Int

    /// The next part of it.
    func part(_ objects: StoredObjects) -> RowsAnswer {
        RowsAnswer(objects: objects, model: model, moves: moves, count: count)
    }
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
