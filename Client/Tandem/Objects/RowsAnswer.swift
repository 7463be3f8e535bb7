import TandemModel

/// The rows of an answer, read at a context's position.
///
/// A row is read in place as long as the context is at that position and has no record of the
/// object. If there is a record without edits, the record's row is read. Everything else is read
/// through the object.
@usableFromInline
final class RowsAnswer {
    let context: ManagedObjectContext
    // Parts of the context, which are faster to retain than the context with its weak references.
    private let family: ContextFamilyState
    private let records: RecordTable
    private let observed: ObservedProperties
    let properties: PropertyCache
    let objects: StoredObjects
    /// The model of the rows.
    let model: CompiledModel
    /// The context's reposition count when the answer arrived.
    private let repositionCount: Int
    /// The total number of rows, including those of later chunks.
    let count: Int
    /// The classes of the entities that were looked up so far.
    private var types: [(tag: EntityTag, type: ManagedObject.Type)] = []
    /// The row from which a value is being made, and the record table's `additions` at a moment
    /// when the row's object had no record.
    private var visited = -1
    private var visitedAdditions = 0

    /// Creates an answer that is current at the context's position.
    convenience init(
        _ context: ManagedObjectContext, _ objects: StoredObjects, _ model: CompiledModel,
        count: Int
    ) {
        self.init(
            context, objects, model, repositionCount: context.family.repositionCount, count: count)
    }

    private init(
        _ context: ManagedObjectContext, _ objects: StoredObjects, _ model: CompiledModel,
        repositionCount: Int, count: Int
    ) {
        (self.context, self.objects, self.model) = (context, objects, model)
        (family, records) = (context.family, context.graph.table)
        (observed, properties) = (context.reporter.observed, context.graph.propertyCache)
        (self.repositionCount, self.count) = (repositionCount, count)
    }

    /// Returns a copy of the answer with the rows of its next chunk.
    func chunk(_ objects: StoredObjects) -> RowsAnswer {
        RowsAnswer(context, objects, model, repositionCount: repositionCount, count: count)
    }

    /// Whether the rows are as of the context's position and model.
    var isCurrent: Bool { family.repositionCount == repositionCount }

    /// Records that the row's object has no record in the context, so that reads of the row need no
    /// look-up.
    func visit(_ index: Int) { (visited, visitedAdditions) = (index, records.additions) }

    // MARK: Objects

    func reference(at index: Int) -> ObjectReference {
        objects.withRow(at: index) { reference, _, _ in reference }
    }

    /// Returns the id of an object of the rows' model, under the current name of its entity.
    func id(of reference: ObjectReference) -> ObjectID {
        if isCurrent { return model.id(of: reference) }
        return object(reference).id
    }

    /// Returns the version of a row; nil if the version has to be read through the object.
    func version(at index: Int) -> UInt64? {
        objects.withRow(at: index) { reference, version, _ in
            guard isCurrent, records[reference.number] == nil else { return nil }
            observed.access(ObservedProperties.state, of: reference.number)
            return version
        }
    }

    /// Returns the class of an object of the rows' model.
    func type(of reference: ObjectReference) -> ManagedObject.Type {
        if let object = records[reference.number]?.object { return Swift.type(of: object) }
        if let known = types.first(where: { $0.tag == reference.tag }) { return known.type }
        guard let entity = model.entity(tagged: reference.tag) else { return ManagedObject.self }
        let type = context.core.type(for: entity, in: model)
        types.append((reference.tag, type))
        return type
    }

    /// Returns the object of a row.
    ///
    /// If the answer is current and the context has no row of the object yet, the context adopts
    /// this row.
    func object(at index: Int) -> ManagedObject {
        let stored = objects[index]
        if isCurrent, records[stored.object.number]?.row == nil {
            context.graph.adopt(checked: stored)
            context.failures.dropDoubtfulEdits()
        }
        return object(stored.object)
    }

    /// Returns an object of the rows' model, as a fault if it isn't loaded.
    ///
    /// If the current model lacks the object's entity, the result is a deleted object.
    func object(_ reference: ObjectReference) -> ManagedObject {
        if isCurrent { return context.graph.object(reference) }
        if let now = try? translation.reference(reference) { return context.graph.object(now) }
        guard let entity = model.entity(tagged: reference.tag) else {
            preconditionFailure("References are checked against the model when they are received.")
        }
        let record = ObjectRecord(reference, entity)
        record.markMissing()
        return type(of: reference).init(binding: ObjectBinding(context: nil, record: record))
    }

    /// Returns the objects of the rows from this index on, as faults if they aren't loaded.
    ///
    /// Used if the context has moved since the answer was read.
    func objects(from start: Int) throws(TandemError) -> [ManagedObject] {
        let translation = translation
        var found: [ManagedObject] = []
        for index in objects.indices[start...] {
            found.append(context.graph.object(try translation.reference(reference(at: index))))
        }
        return found
    }

    private var translation: ModelTranslation {
        ModelTranslation(from: model, to: context.session?.model ?? model)
    }

    // MARK: Rows

    /// Reads a property of a row in place.
    ///
    /// Returns nil if that is not possible, and a wrapped nil if the property has no value.
    @inline(__always)
    func inPlace<Result>(
        _ index: Int, _ name: _ManagedName, _ read: (RowView, RowColumn) -> Result?
    ) -> Result?? {
        let hasNoRecord = index == visited && visitedAdditions == records.additions
        return objects.withRow(at: index) { reference, _, row in
            inPlace(reference, row, name, hasNoRecord: hasNoRecord, read)
        }
    }

    /// Reads a property of an object in place, from `row` if the context has no record of the
    /// object.
    @inline(__always)
    func inPlace<Result>(
        _ reference: ObjectReference, _ row: RowView?, _ name: _ManagedName,
        hasNoRecord: Bool = false, _ read: (RowView, RowColumn) -> Result?
    ) -> Result?? {
        withRow(reference, row, name, hasNoRecord) { row, entry, _ in
            entry.column.flatMap { row.found($0, read) }
        }
    }

    /// Returns a property's value from a row; nil if it can't be read in place.
    func value(_ index: Int, _ name: _ManagedName) -> PropertyValue? {
        objects.withRow(at: index) { reference, _, row in value(reference, row, name) }
    }

    func value(_ reference: ObjectReference, _ row: RowView?, _ name: _ManagedName)
        -> PropertyValue?
    {
        withRow(reference, row, name) { row, entry, entity in row.value(entry.slot, in: entity) }
    }

    /// Calls `body` with the row that contains an object's values, and with the location of a
    /// property.
    ///
    /// Registers a read of the property. Returns nil if the values have to be read through the
    /// object, or if the property is not cached.
    @inline(__always)
    private func withRow<Result>(
        _ reference: ObjectReference, _ row: RowView?, _ name: _ManagedName,
        _ hasNoRecord: Bool = false,
        _ body: (RowView, PropertyCache.CachedProperty, CompiledEntity) -> Result?
    ) -> Result? {
        guard isCurrent, let entity = model.entity(tagged: reference.tag),
            let entry = properties.entry(name, in: entity)
        else { return nil }
        guard !hasNoRecord, let record = records[reference.number] else {
            guard let row else { return nil }
            observed.access(entry.slot, of: reference.number)
            return body(row, entry, entity)
        }
        guard record.entity === entity else { return nil }
        observed.access(entry.slot, of: reference.number)
        return record.withCleanRow { body($0, entry, entity) }
    }

    /// Returns the source of an object that a current row refers to; nil if that object is deleted.
    func target(_ reference: ObjectReference) -> RowSource? {
        guard records[reference.number]?.isDeleted != true,
            model.entity(tagged: reference.tag) != nil
        else { return nil }
        return .target(self, reference)
    }
}
