import TandemModel
import TandemQuery
import TandemResults

/// Applies the unsaved edits of a context and its ancestors to the answer of a fetch, as Core Data
/// does.
///
/// Edited objects are added, removed and moved, and so are objects whose order depends on an edited
/// object (``EditPlacement``). All other objects keep the order of the answer.
struct FetchOverlay {
    /// The objects of an answer with edits.
    enum Result {
        case objects([ObjectRecord])
        /// The objects to load before the edits can be applied.
        case lacking([ObjectReference])
    }

    private let request: CompiledRequest
    private let context: ManagedObjectContext
    private let placement: EditPlacement
    private let edited: [ObjectRecord]
    /// The edited objects on which the order of other objects depends.
    private let related: Set<ObjectNumber>

    init(
        _ request: FetchDescriptor, _ context: ManagedObjectContext, _ model: CompiledModel
    ) throws(TandemError) {
        let compiled = try CompiledRequest(request, in: model)
        let placement = EditPlacement(
            context, compiled, watched: compiled.isPlacedByRelated ? compiled.watched : [:])
        self.request = compiled
        self.context = context
        self.placement = placement
        edited = placement.editedObjects.sorted().map(context.graph.record)
        related = placement.relatedObjects
    }

    /// Whether the edits can't affect the result.
    var isEmpty: Bool { edited.isEmpty && related.isEmpty }

    // MARK: Request

    /// The request without its offset, with a limit raised by the offset and the number of edited
    /// objects.
    var wideRequest: FetchDescriptor {
        var wide = request.request
        wide.offset = 0
        wide.limit = wide.limit.map { limit in
            [request.request.offset, edited.count].reduce(limit) { sum, more in
                let (sum, overflow) = sum.addingReportingOverflow(more)
                return overflow ? .max : sum
            }
        }
        return wide
    }

    /// The to-one paths that the order depends on.
    var relatedPaths: [[String]] { request.relatedPaths(everything: false) }

    /// The entities on whose objects the result depends; the context subscribes to them.
    var interests: [EntityTag] { request.interests }

    // MARK: Result

    /// Returns the matching records with all edits, or the objects to load first.
    ///
    /// An object that the client can't place keeps its stored place.
    func applied(to found: [ObjectRecord]) -> Result {
        let numbers = Set(found.map(\.reference.number))
        var concerned = Set(edited.map(\.reference.number))
        let moved = found.filter {
            !concerned.contains($0.reference.number) && placement.refers($0, to: related)
        }
        var lacking: Set<ObjectReference> = []
        var placed: [ResultRow] = []
        // Moved objects are placed by what is loaded: nothing is loaded for unedited objects.
        let movedNumbers = Set(moved.map(\.reference.number))
        for record in edited + moved {
            let number = record.reference.number
            let place = placement.place(record, isStored: numbers.contains(number))
            if !movedNumbers.contains(number) { lacking.formUnion(place.lacking) }
            switch place.result {
            case .none: concerned.insert(number)
            case .row(let row):
                concerned.insert(number)
                placed.append(row)
            case .stored, .unloaded: concerned.remove(number)
            }
        }
        if !lacking.isEmpty { return .lacking(lacking.sorted()) }
        placed.sort { $0.precedes($1) }
        let rest = found.filter { !concerned.contains($0.reference.number) }
        let result = merged(rest, placed).dropFirst(request.request.offset)
        return .objects(Array(request.request.limit.map { result.prefix($0) } ?? result))
    }

    /// Inserts each placed row before the first unedited record that it precedes in the order.
    ///
    /// Cost: linear in the number of records.
    private func merged(_ rest: [ObjectRecord], _ placed: [ResultRow]) -> [ObjectRecord] {
        func record(_ row: ResultRow) -> ObjectRecord {
            context.graph.record(ObjectReference(tag: row.entityTag, number: row.number))
        }
        var result: [ObjectRecord] = []
        result.reserveCapacity(rest.count + placed.count)
        var next = 0
        for unedited in rest {
            if next < placed.count, let stored = storedRow(unedited) {
                while next < placed.count, placed[next].precedes(stored) {
                    result.append(record(placed[next]))
                    next += 1
                }
            }
            result.append(unedited)
        }
        return result + placed[next...].map(record)
    }

    /// Returns the row of a record without edits, or nil if its sort key is not known.
    private func storedRow(_ record: ObjectRecord) -> ResultRow? {
        let (object, root) = (record.reference, context.root)
        guard let row = root.graph[object.number]?.row,
            let key = request.sortKey(object, row, ContextReader(context: root))
        else { return nil }
        return ResultRow(number: object.number, entityTag: object.tag, sortKey: key)
    }

    /// The difference that edits make to the number of matches, or nil if the loaded data does not
    /// determine it.
    var countChange: Int? {
        let root = context.root
        let stored = ContextReader(context: root)
        var change = 0
        for record in edited {
            // Child contexts have no rows.
            if let row = root.graph[record.reference.number]?.row {
                guard let matched = request.matches(record.reference, row, stored) else {
                    return nil
                }
                if matched { change -= 1 }
            } else if record.isFault {
                return nil
            }
            guard let matches = placement.place(record, isStored: false).matches else {
                return nil
            }
            if matches { change += 1 }
        }
        return change
    }
}
