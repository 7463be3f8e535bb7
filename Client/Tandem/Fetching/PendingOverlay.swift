import TandemModel
import TandemQuery

/// Applies a context's pending edits to the answer of a fetch, as Core Data does.
///
/// Edited objects are added, removed and moved. Objects whose order depends on an edited object
/// through to-one relationships are moved as well, unless the request has a limit, a predicate over
/// relationships or a to-many key path. All other objects keep the order of the answer. ``lacking``
/// lists the related objects to load first.
struct PendingOverlay {
    private let request: CompiledRequest
    private let context: ManagedObjectContext
    private let edited: [ObjectRecord]
    /// The edited objects on which the order of other objects depends.
    private let related: Set<ObjectNumber>

    init(
        _ request: FetchDescriptor, _ context: ManagedObjectContext, _ model: CompiledModel
    ) throws(TandemError) {
        let compiled = try CompiledRequest(request, in: model)
        self.context = context
        self.request = compiled
        var edited: [ObjectNumber: ObjectRecord] = [:]
        var related: Set<ObjectNumber> = []
        let isOwn = !compiled.predicateUsesRelated && !compiled.usesToMany
        let movesOthers = compiled.keysUseRelated && isOwn && request.limit == nil
        let watched = movesOthers ? ResultsPlan.watched(compiled) : [:]
        for record in context.lineage.flatMap(\.editor.editedRecords)
        where ResultsPlan.concerns(record, watched) { related.insert(record.reference.number) }
        self.related = related
        for record in context.lineage.flatMap(\.editor.editedRecords)
        where record.hasEdits && compiled.includes(tag: record.reference.tag) {
            edited[record.reference.number] = context.graph.record(record.reference)
        }
        self.edited = edited.values.sorted { $0.reference < $1.reference }
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
    var relatedPaths: [[String]] { ResultsPlan.relatedPaths(request, everything: false) }

    /// The entities on whose objects the result depends; the context subscribes to them.
    var interests: [EntityTag] { ResultsPlan.interests(request) }

    /// The objects to load before the positions of edited objects can be determined.
    var lacking: [ObjectReference] {
        let reader = ContextReader(context: context, includesEdits: true)
        var found: Set<ObjectReference> = []
        for record in edited where !record.isDeleted {
            if record.isFault {
                found.insert(record.reference)
                continue
            }
            guard let row = currentRow(record) else { continue }
            found.formUnion(request.unknown(from: row, reader))
        }
        return found.sorted()
    }

    private func currentRow(_ record: ObjectRecord) -> Row? {
        record.currentRow(modelVersion: request.model.version)
    }

    // MARK: Result

    /// Returns the matching records with all edits; objects that the client can't evaluate keep
    /// their stored state.
    func applied(to found: [ObjectRecord]) -> [ObjectRecord] {
        let reader = ContextReader(context: context, includesEdits: true)
        let changed = Set(edited.map(\.reference.number))
        let numbers = Set(found.map(\.reference.number))
        let others = found.filter { !changed.contains($0.reference.number) }
        let moved = others.filter(isMoved)
        let numbersMoved = Set(moved.map(\.reference.number))
        let rest = others.filter { !numbersMoved.contains($0.reference.number) }.map(stored)
        var placed: [Placed] = []
        for record in edited + moved where !record.isDeleted {
            let wasFound = numbers.contains(record.reference.number)
            let row = currentRow(record)
            let matches = row.flatMap { request.matches(record.reference, $0, reader) }
            guard matches ?? wasFound else { continue }
            let key = row.flatMap { request.sortKey(record.reference, $0, reader) }
            placed.append(Placed(key: key, record: record))
        }
        let result = PendingOverlay.merged(rest, placed).dropFirst(request.request.offset)
        return (request.request.limit.map { result.prefix($0) } ?? result).map(\.record)
    }

    /// Returns whether the order of an unedited object depends on an edited object.
    private func isMoved(_ record: ObjectRecord) -> Bool {
        guard !related.isEmpty, let row = currentRow(record) else { return false }
        let reader = ContextReader(context: context, includesEdits: true)
        return request.reached(from: row, reader).reached.contains { related.contains($0.number) }
    }

    /// Inserts each edited record before the first unedited record that it precedes in the order.
    ///
    /// Cost: linear in the number of records, plus a sort of the edited records.
    private static func merged(_ rest: [Placed], _ edited: [Placed]) -> [Placed] {
        var edited =
            (edited.filter { $0.key != nil }.sorted { $0.precedes($1) })[...]
            + edited.filter { $0.key == nil }
        var result: [Placed] = []
        result.reserveCapacity(rest.count + edited.count)
        for record in rest {
            while let first = edited.first, first.precedes(record) {
                result.append(edited.removeFirst())
            }
            result.append(record)
        }
        return result + edited
    }

    /// The difference that edits make to the number of matches, or nil if the loaded data does not
    /// determine it.
    var countChange: Int? {
        let root = context.root
        let stored = ContextReader(context: root)
        let current = ContextReader(context: context, includesEdits: true)
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
            if record.isDeleted { continue }
            guard let row = currentRow(record),
                let matches = request.matches(record.reference, row, current)
            else { return nil }
            if matches { change += 1 }
        }
        return change
    }

    /// Returns a record with its stored sort key.
    private func stored(_ record: ObjectRecord) -> Placed {
        let reader = ContextReader(context: context.root)
        let row = context.root.graph[record.reference.number]?.row
        let key = row.flatMap { request.sortKey(record.reference, $0, reader) }
        return Placed(key: key, record: record)
    }

    /// A record with its sort key, or nil if the key can't be determined.
    private struct Placed {
        var key: [UInt8]?
        var record: ObjectRecord

        func precedes(_ other: Placed) -> Bool {
            guard let key, let other = other.key.map({ ($0, other.record.reference.number) })
            else { return false }
            if key != other.0 { return key.lexicographicallyPrecedes(other.0) }
            return record.reference.number < other.1
        }
    }
}

extension CompiledRequest {
    /// Returns the first object on each path of to-one relationships that is not loaded.
    func unknown(from row: Row, _ reader: ContextReader) -> [ObjectReference] {
        reached(from: row, reader).unknown
    }

    /// Returns the objects on all paths of to-one relationships, and the objects at which a path
    /// ends because they are not loaded.
    func reached(
        from row: Row, _ reader: some GraphReader
    ) -> (reached: Set<ObjectReference>, unknown: [ObjectReference]) {
        var reached: Set<ObjectReference> = []
        var unknown: [ObjectReference] = []
        for path in paths where !path.hops.isEmpty {
            var row = row
            hops: for hop in path.hops {
                guard !hop.isToMany, let entity = model.entity(tagged: row.tag),
                    let target = row.reference(hop.slot, in: entity)
                else { break }
                reached.insert(target)
                switch reader.row(of: target) {
                case .missing: break hops
                case .row(let next): row = next
                case .unknown:
                    unknown.append(target)
                    break hops
                }
            }
        }
        return (reached, unknown)
    }
}
