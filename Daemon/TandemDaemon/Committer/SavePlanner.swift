import TandemIO
import TandemModel
import TandemStore
import TandemWire

/// The planner that turns a save request into the changes of one transaction or an error.
///
/// Every error that a client can cause is found here, before the journal or the store is written,
/// so applying a plan can't fail for such a reason. The store is only read.
struct SavePlanner {
    let request: SaveRequest
    let model: CompiledModel
    let store: Store
    private let numbersBelow: ObjectNumber
    let limits: DaemonLimits
    let counts: LimitCounters
    let graph: PlanningGraph
    private var conflicts: [MergeConflict] = []

    /// The result of planning a save.
    struct Plan {
        /// The changes; empty if the save has no net effect.
        var changes: [Change]
        /// The object that results from each insert of the request, in the request's order; nil if
        /// there is none.
        var inserted: [ObjectReference?]
        /// Blobs that the store does not have.
        var blobs: [Blob]
    }

    /// Plans a save.
    ///
    /// If a new object has the unique values of an existing one and the policy allows it, the
    /// existing object replaces the new one, and the save is planned again.
    ///
    /// Throws ``TandemError`` for errors of the client, and `StoreError` for errors of the store.
    /// Throws `limitExceeded` if deletions cascade to more than `most` objects.
    static func plan(
        _ request: SaveRequest, model: CompiledModel, store: Store, numbersBelow: ObjectNumber,
        limits: DaemonLimits, counts: LimitCounters, most: Int = .max
    ) throws -> Plan {
        var replaced: [Replacement] = []
        while true {
            var planner = SavePlanner(request, model, store, numbersBelow, limits, counts, most)
            try planner.run(replacing: replaced)
            let objects = planner.graph.inOrder
            try DerivedAttributes(graph: planner.graph).compute(objects)
            let found = try planner.uniqueness(objects)
            if found.isEmpty {
                try planner.validate(objects)
                try planner.graph.setFinalRanks(objects)
                return try planner.plan(objects, replaced)
            }
            replaced += found
            assert(
                replaced.count <= request.operations.count,
                "Each round replaces further new objects, so planning terminates.")
        }
    }

    init(
        _ request: SaveRequest, _ model: CompiledModel, _ store: Store,
        _ numbersBelow: ObjectNumber,
        _ limits: DaemonLimits, _ counts: LimitCounters, _ most: Int = .max
    ) {
        self.request = request
        self.model = model
        self.store = store
        self.numbersBelow = numbersBelow
        self.limits = limits
        self.counts = counts
        graph = PlanningGraph(
            store, model, limits, capacity: request.operations.count, most: most)
    }

    // MARK: Operations

    mutating func run(replacing replaced: [Replacement]) throws {
        let mapping = ReferenceMapping(replaced)
        // Operations may refer to an inserted object before the operation that inserts it.
        for case .insert(let object, _, _) in request.operations where !mapping.replaces(object) {
            try insert(object)
        }
        // Deletions come last, regardless of the order in which they were sent. A member that the
        // save moves away from a deleted object is then neither deleted by a cascade nor a reason
        // to deny the deletion.
        var hasDeletions = false
        for operation in request.operations {
            if operation.isDeletion {
                hasDeletions = true
            } else {
                try perform(operation, mapping)
            }
        }
        for operation in request.operations where hasDeletions && operation.isDeletion {
            try perform(operation, mapping)
        }
        guard conflicts.isEmpty else {
            let isDeleted = conflicts.allSatisfy { $0.theirs == nil }
            let count = "\(conflicts.count) object\(conflicts.count == 1 ? "" : "s")"
            let advice = isDeleted ? "drop the edits" : "refresh and save again"
            var error = TandemError(
                .conflict,
                "others \(isDeleted ? "deleted" : "changed") \(count) meanwhile: "
                    + conflicts.prefix(3).map { model.id(of: $0.object).description }
                    .joined(separator: ", ") + "; \(advice), or choose a merge policy")
            error.conflicts = conflicts
            throw error
        }
    }

    mutating func insert(_ object: ObjectReference) throws {
        guard let entity = model.entity(tagged: object.tag) else {
            throw TandemError(.unknownEntity, "there is no entity with tag \(object.tag)")
        }
        guard object.number > 0, object.number < numbersBelow,
            graph.objects[object.number] == nil,
            try store.entity(ofNumber: object.number) == nil
        else {
            throw TandemError(
                .usage, "object number \(object.number) was never leased or is already in use")
        }
        graph.insert(object, entity)
    }

    mutating func perform(_ operation: SaveOperation, _ mapping: ReferenceMapping) throws {
        switch operation {
        case .insert(let object, let values, let links):
            let target = mapping[object]
            let keepsExisting = mapping.replaces(object) && !replacementTakesValues
            guard let working = try graph.load(target) else { return }
            for value in values where !keepsExisting {
                try graph.set(working, value.slot, mapping[value.value])
            }
            if !keepsExisting { try link(target, links, mapping) }
        case .update(let object, let version, let values, let links):
            try update(mapping[object], version, values, links, mapping)
        case .delete(let object, let version):
            try delete(mapping[object], version)
        }
    }

    /// Whether a new object's values are written to the existing object that replaces it.
    private var replacementTakesValues: Bool {
        request.policy == .objectTrump || request.policy == .overwrite
    }

    private mutating func update(
        _ object: ObjectReference, _ version: UInt64, _ values: [SaveValue], _ links: [LinkChange],
        _ mapping: ReferenceMapping
    ) throws {
        guard let working = try graph.load(object) else { return try missing(object, version) }
        let stored = working.stored
        let isConflict = version != 0 && (stored?.version ?? 0) > version
        if isConflict, request.policy == .error { return conflict(object, version, stored) }
        if isConflict, request.policy == .rollback { return }
        for value in values {
            if isConflict, request.policy == .storeTrump, storeChanged(value, stored) { continue }
            try graph.set(working, value.slot, mapping[value.value])
        }
        try link(object, links, mapping)
    }

    /// Whether the store's value differs from the one that the save is based on.
    private func storeChanged(_ value: SaveValue, _ stored: Store.Stored?) -> Bool {
        guard let stored, let entity = model.entity(tagged: stored.object.tag),
            value.slot < entity.properties.count
        else { return false }
        // Without the base value, a change by another client can't be excluded.
        guard let base = value.base else { return true }
        return stored.row.uncheckedValue(value.slot, in: entity) != base.inRow
    }

    private mutating func missing(_ object: ObjectReference, _ version: UInt64) throws {
        guard version != 0 else {
            throw TandemError.unknownObject("\(model.id(of: object))")
        }
        if request.policy == .error { conflict(object, version, nil) }
    }

    private mutating func delete(_ object: ObjectReference, _ version: UInt64) throws {
        guard let working = try graph.load(object) else {
            let known =
                try graph.objects[object.number]?.object.tag
                ?? store.entity(ofNumber: object.number)
            if known != object.tag, version == 0 || known != nil {
                throw TandemError.unknownObject("\(model.id(of: object))")
            }
            return
        }
        let stored = working.stored
        if version != 0, (stored?.version ?? 0) > version {
            switch request.policy {
            case .error: return conflict(object, version, stored)
            case .storeTrump, .rollback: return
            case .objectTrump, .overwrite: break
            }
        }
        try graph.delete(object)
    }

    private mutating func link(
        _ object: ObjectReference, _ links: [LinkChange], _ mapping: ReferenceMapping
    ) throws {
        for link in links {
            let target = mapping[link.target]
            switch link.action {
            case .add: try graph.add(target, to: object, link.slot)
            case .remove: try graph.remove(target, from: object, link.slot)
            case .place: break
            }
            guard link.action != .remove, let rank = link.rank else { continue }
            try graph.setRank(target, in: object, link.slot, at: rank)
        }
    }

    private mutating func conflict(
        _ object: ObjectReference, _ version: UInt64, _ stored: Store.Stored?
    ) {
        conflicts.append(
            MergeConflict(
                object: object, baseVersion: version, theirs: stored?.row,
                theirsVersion: stored?.version ?? 0))
    }

    // MARK: Rules of the model

    private func validate(_ objects: [PlanningObject]) throws {
        try SaveValidator(graph: graph, model: model, limits: limits, counts: counts).validate(
            objects)
    }

    private func uniqueness(_ objects: [PlanningObject]) throws -> [Replacement] {
        try UniquenessCheck(graph: graph, model: model, store: store, policy: request.policy)
            .run(objects)
    }

    private func plan(_ working: [PlanningObject], _ replaced: [Replacement]) throws -> Plan {
        var changes: [Change] = []
        changes.reserveCapacity(working.count)
        for object in working {
            if let change = object.change { changes.append(change) }
        }
        assert(
            !Invariants.walk(changes.count)
                || zip(changes, changes.dropFirst()).allSatisfy {
                    $0.object.number < $1.object.number
                },
            "A transaction changes each object once, in ascending order.")
        let mapping = ReferenceMapping(replaced)
        let inserted = request.inserts.map { object in
            let target = mapping[object]
            return graph.objects[target.number]?.isDeleted == false ? target : nil
        }
        return Plan(
            changes: changes, inserted: inserted, blobs: try graph.newBlobs(in: changes))
    }
}

extension SaveOperation {
    fileprivate var isDeletion: Bool { if case .delete = self { true } else { false } }
}

/// A new object that is replaced by an existing one; the new object's number is never used.
struct Replacement: Hashable {
    /// The number of the new object.
    var number: ObjectNumber
    /// The existing object.
    var by: ObjectReference
}

/// A map of references from replaced new objects to the existing ones.
struct ReferenceMapping {
    private let replacements: [ObjectNumber: ObjectReference]

    init(_ replaced: [Replacement]) {
        replacements =
            replaced.isEmpty
            ? [:] : Dictionary(replaced.map { ($0.number, $0.by) }, uniquingKeysWith: { $1 })
    }

    func replaces(_ object: ObjectReference) -> Bool {
        !replacements.isEmpty && replacements[object.number] != nil
    }

    subscript(object: ObjectReference) -> ObjectReference {
        replacements.isEmpty ? object : replacements[object.number] ?? object
    }

    subscript(value: PropertyValue) -> PropertyValue {
        guard !replacements.isEmpty, let reference = value.reference else { return value }
        return .reference(self[reference])
    }
}
