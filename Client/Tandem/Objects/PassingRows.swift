import TandemModel

/// Iterates over an answer's rows with flyweight objects, instead of creating an object for each
/// row.
///
/// The rows are read at the context's position. If the context has a record of a row's object,
/// because the object is in use or edited, that object is used. All other rows share a flyweight
/// (``PassingObject``). If the code that reads an object moves the context, the remaining rows are
/// not used.
///
/// State: a flyweight for each entity so far, and a cache of relationship targets. Consecutive rows
/// mostly refer to the same targets. A cached target is found without a lookup in the context and
/// without creating another object.
final class PassingRows {
    let context: ManagedObjectContext
    /// The slot through which the context finds the bound flyweight.
    let passage: Passage
    private let targets = RelationshipTargetCache()
    /// The flyweights, one for each entity so far.
    private var passing: [PassingObject] = []

    init(_ context: ManagedObjectContext) {
        self.context = context
        passage = context.records.passage
    }

    /// Calls `body` with the object of each row, in order.
    ///
    /// Returns the objects of the rows that were not visited; the caller loads them. Throws
    /// `storage` if a row can't be read.
    func forEach(in answer: RowsAnswer, _ body: (ManagedObject) -> Void) throws -> [ManagedObject] {
        // If the code that makes a value reads other rows, it finds the bound flyweight as usual.
        context.records.keepPassing()
        return try answer.objects.withRows { rows in
            // The flyweights refer to these rows, which are valid only in this call.
            defer { end() }
            var latest: PassingObject?
            for index in answer.objects.indices {
                guard context.familyState.repositionCount == answer.repositionCount else {
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

    /// Returns the flyweight for rows of an entity.
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

    /// Returns the cached target of a to-one relationship, if the context would return the same
    /// object.
    @inline(__always)
    func target(_ target: ObjectReference) -> ManagedObject? { targets[target] }

    /// Returns the object of a record that a relationship refers to, and caches it.
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

/// The rows of an answer, read at a context's position.
struct RowsAnswer {
    let objects: StoredObjects
    /// The model of the rows.
    let model: CompiledModel
    /// The context's reposition count at the time of the answer.
    let repositionCount: Int
    /// The number of rows in all, including those of later chunks.
    let count: Int

    /// Returns the answer with the rows of its next chunk.
    func part(_ objects: StoredObjects) -> RowsAnswer {
        RowsAnswer(objects: objects, model: model, repositionCount: repositionCount, count: count)
    }
}

extension ManagedObjectContext {
    /// Returns the objects of an answer's remaining rows, as faults if they aren't held.
    ///
    /// The context has moved since the answer was read.
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
