import TandemModel
import TandemQuery
import TandemResults

/// The rule by which unsaved edits of a context and its ancestors change the result of a request:
/// which objects they concern, and where these objects belong.
///
/// Fetches and lists share it, so that a list always equals a fetch.
struct EditPlacement {
    private let context: ManagedObjectContext
    private let compiled: CompiledRequest
    /// The slots of related objects that determine the placement of other rows, by entity; empty if
    /// edits of related objects move no rows.
    private let watched: [EntityTag: PropertyMask]

    init(
        _ context: ManagedObjectContext, _ compiled: CompiledRequest,
        watched: [EntityTag: PropertyMask]
    ) {
        self.context = context
        self.compiled = compiled
        self.watched = watched
    }

    /// Whether edits of related objects move rows that are not edited themselves.
    var movesReferringRows: Bool { !watched.isEmpty }

    // MARK: Objects

    /// The objects of the request's entities that the context or an ancestor has edited.
    var editedObjects: Set<ObjectReference> {
        var found: Set<ObjectReference> = []
        for record in editedRecords where compiled.includes(tag: record.reference.tag) {
            found.insert(record.reference)
        }
        return found
    }

    /// The edited objects on which the placement of other rows may depend.
    var relatedObjects: Set<ObjectNumber> {
        guard movesReferringRows else { return [] }
        return Set(editedRecords.lazy.filter(isRelated).map(\.reference.number))
    }

    private var editedRecords: some Sequence<ObjectRecord> {
        context.lineage.lazy.flatMap(\.editor.editedRecords).filter(\.hasEdits)
    }

    /// Returns whether the placement of other rows may depend on the edits of an object.
    func isRelated(_ record: ObjectRecord) -> Bool {
        guard let mask = watched[record.reference.tag] else { return false }
        return [record.inFlight, record.pending].contains {
            $0.kind == .delete || !mask.intersection($0.mask).isEmpty
        }
    }

    /// Returns whether an object refers to one of the edited objects `related`, so that it has to
    /// be placed again; false if its row is not loaded.
    func refers(_ record: ObjectRecord, to related: Set<ObjectNumber>) -> Bool {
        guard !related.isEmpty, let row = currentRow(record) else { return false }
        return compiled.reached(from: row, reader).reached.contains { related.contains($0.number) }
    }

    // MARK: Placement

    /// Returns where an object with edits belongs; `isStored` states whether its stored row is part
    /// of the result.
    func place(_ record: ObjectRecord, isStored: Bool) -> EditPlace {
        if record.isDeleted { return EditPlace(result: .none) }
        let object = record.reference
        guard let row = currentRow(record) else {
            return EditPlace(
                result: .unloaded, matches: nil, lacking: [object], isFinal: false)
        }
        let (reached, unknown) = compiled.reached(from: row, reader)
        var place = EditPlace(
            result: .stored, reached: reached.map(\.number), lacking: unknown, isFinal: false)
        place.matches = compiled.matches(object, row, reader)
        if movesReferringRows { place.shows = compiled.refreshValues(object, row, reader) }
        if place.matches ?? isStored {
            guard let key = compiled.sortKey(object, row, reader),
                case .known(let section) = compiled.section(object, row, reader)
            else { return place }
            place.result = .row(
                ResultRow(
                    number: object.number, entityTag: object.tag, sortKey: key, section: section))
        } else {
            place.result = .none
        }
        place.isFinal = place.matches != nil && unknown.isEmpty
        return place
    }

    private var reader: ContextReader { ContextReader(context: context, includesEdits: true) }

    private func currentRow(_ record: ObjectRecord) -> Row? {
        record.currentRow(modelVersion: compiled.model.version)
    }
}

/// The place of an object with unsaved edits in a result.
struct EditPlace {
    enum Result {
        /// Not in the result: the object is deleted or does not match.
        case none
        /// At the place of this row.
        case row(ResultRow)
        /// The place that the object has without edits, because a related object is not known.
        case stored
        /// Unknown, because the object itself is not loaded.
        case unloaded
    }

    var result: Result
    /// Whether the object matches the predicate; nil if that is not known.
    var matches: Bool? = false
    /// The objects on which the placement depends.
    var reached: [ObjectNumber] = []
    /// The objects to load before the object can be placed for certain.
    var lacking: [ObjectReference] = []
    /// Whether all objects on which the placement depends were known.
    var isFinal = true
    /// The values of other objects that the row shows; nil if they are unknown.
    var shows: [UInt8]?
}
