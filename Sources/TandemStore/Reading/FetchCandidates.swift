import TandemModel
import TandemQuery

/// Finds the candidates of a fetch according to a plan, and passes them to the matches.
struct FetchCandidates {
    private let run: FetchRun
    private let matches: FetchMatches
    /// The number of rows of related objects that were read to find candidates.
    private(set) var relatedRowsRead = 0
    /// The number of keys that were read to find related objects.
    private(set) var relatedKeysRead = 0

    init(_ run: FetchRun, _ matches: FetchMatches) {
        self.run = run
        self.matches = matches
    }

    /// Passes on all candidates, or as many as the answer needs.
    mutating func find() throws(StoreError) {
        switch (run.plan.access, run.plan.order) {
        case (.scan, _):
            for tag in run.request.tags where !matches.hasEnough { try scan(tag) }
        case (.index(_, let ranges), .index(let order)):
            try walk(ranges, order)
        default:
            if run.needsNoRows, let (table, ranges) = run.plan.access.keys {
                try acceptAll(table, ranges)
            } else {
                try evaluateInOrder(try collected())
            }
        }
    }

    // MARK: Rows of an entity

    private func scan(_ tag: EntityTag) throws(StoreError) {
        let needsNoRows = run.needsNoRows
        let decoder = run.view.decoder
        try run.view.current.scan(run.view.tables.rows, prefix: StoreKey.tag(tag)) {
            (number, value) throws(StoreError) -> Bool in
            guard !matches.hasEnough else { return false }
            let object = try decoder.object(tag, number, in: .rows)
            if needsNoRows, matches.accept(object) {
                try matches.chargeKeys(1)
            } else {
                try matches.evaluate(object, value)
            }
            return true
        }
    }

    // MARK: Keys alone

    /// Adds the objects of index or link keys without evaluation, because all of them match.
    private func acceptAll(_ table: StoreTable, _ ranges: [KeyRange]) throws(StoreError) {
        for range in ranges {
            let decoder = run.view.decoder
            try run.view.current.scan(run.view.tables[table], in: range) {
                (key, value) throws(StoreError) in
                try matches.chargeKeys(1)
                let object = try decoder.object(endOf: key, value, in: table)
                guard run.request.includes(tag: object.tag) else { return }
                if !accept(object, key) { try matches.evaluate(object) }
            }
        }
    }

    /// Adds the object of a matching key; returns false if the object's row has to be read.
    @inline(__always)
    private func accept(_ object: ObjectReference, _ key: UnsafeRawBufferPointer) -> Bool {
        // Objects are only counted.
        guard let places = run.plan.placementReader else { return matches.accept(object) }
        return withUnsafeTemporaryAllocation(byteCount: places.longestRest, alignment: 1) { room in
            guard let start = room.baseAddress else { return false }
            let (related, count) = places.withReader { $0.read(key, into: start) }
            guard case .known(let related) = related else { return false }
            return matches.accept(
                object, related: related, rest: UnsafeRawBufferPointer(rebasing: room[..<count]))
        }
    }

    // MARK: An index in the request's order

    private func walk(_ ranges: [KeyRange], _ order: IndexOrder) throws(StoreError) {
        var walk = IndexCursor(
            ranges, order, try run.view.current.ownCursor(run.view.tables.indexes))
        let needsNoRows = run.needsNoRows
        let decoder = run.view.decoder
        while let entry = try walk.next() {
            if walk.beginsGroup, matches.hasEnough { return }
            let object = try decoder.object(endOf: entry.key, entry.value, in: .indexes)
            try matches.chargeKeys(1)
            guard run.request.includes(tag: object.tag) else { continue }
            if needsNoRows, accept(object, entry.key) { continue }
            try matches.evaluate(object)
        }
    }

    // MARK: Collected objects

    /// Evaluates objects in ascending order, without duplicates.
    ///
    /// This is also the order of the rows in the store.
    private func evaluateInOrder(_ objects: [ObjectReference]) throws(StoreError) {
        var last: ObjectReference?
        for object in objects where object != last && run.request.includes(tag: object.tag) {
            assert(last.map { $0 < object } ?? true, "The candidates were sorted.")
            guard !matches.hasEnough else { return }
            try matches.evaluate(object)
            last = object
        }
    }

    /// Returns the candidates of the plan in ascending order, possibly with duplicates.
    private mutating func collected() throws(StoreError) -> [ObjectReference] {
        var objects: [ObjectReference] = []
        for path in run.plan.access.parts {
            switch path {
            case .unique(let unique):
                for key in unique.keys {
                    try matches.chargeKeys(1)
                    if let value = try run.view.current.get(run.view.tables.unique, key) {
                        objects.append(try run.view.decoder.holder(value))
                    }
                }
            case .holders(let member):
                guard let inverse = member.inverse(in: run.request.model) else { continue }
                let target = ObjectReference(
                    tag: member.relationship.destination, number: member.object.number)
                try collect(inverse, member.relationship.inverseSlot, of: target, into: &objects)
            case .related(let condition, let target, let inner):
                try collect(condition.relationship, target, inner, into: &objects)
            case .members, .index:
                guard let (table, ranges) = path.keys else { continue }
                for range in ranges { try collect(table, range, into: &objects) }
            case .scan, .union: preconditionFailure("Neither scans nor unions are collected.")
            }
        }
        let held = matches.bytes + objects.count * MemoryLayout<ObjectReference>.stride
        try run.budget.sort(&objects, heldBytes: held, by: <)
        return objects
    }

    private func collect(
        _ table: StoreTable, _ range: KeyRange, into objects: inout [ObjectReference]
    ) throws(StoreError) {
        let decoder = run.view.decoder
        try run.view.current.scan(run.view.tables[table], in: range) {
            (key, value) throws(StoreError) in
            objects.append(try decoder.object(endOf: key, value, in: table))
            try matches.chargeKeys(1, collected: objects.count)
        }
    }

    /// Collects the objects whose relationship refers to an object found by another fetch.
    private mutating func collect(
        _ relationship: CompiledRelationship, _ target: CompiledRequest, _ inner: FetchPlan,
        into objects: inout [ObjectReference]
    ) throws(StoreError) {
        let found = try run.view.fetch(target, by: inner, for: .references, budget: run.budget)
        relatedRowsRead += found.rowsRead
        relatedKeysRead += found.keysRead
        for object in found.references {
            guard let entity = target.model.entity(tagged: object.tag),
                entity.properties.indices.contains(relationship.inverseSlot),
                let inverse = entity.properties[relationship.inverseSlot].relationship
            else { continue }
            try collect(inverse, relationship.inverseSlot, of: object, into: &objects)
        }
    }

    /// Collects the objects that an object's relationship refers to.
    private mutating func collect(
        _ relationship: CompiledRelationship, _ slot: Int, of object: ObjectReference,
        into objects: inout [ObjectReference]
    ) throws(StoreError) {
        if relationship.toMany {
            let prefix = StoreKey.links(relationship.linkID, of: object.number)
            return try collect(.links, KeyRange(prefix: prefix), into: &objects)
        }
        // The object may belong to a subentity of the entity in the reference.
        for tag in run.request.model.entity(tagged: object.tag)?.descendants ?? [] {
            let own = ObjectReference(tag: tag, number: object.number)
            guard let entity = run.request.model.entity(tagged: tag),
                let row = try run.view.stored(own)?.row
            else { continue }
            relatedRowsRead += 1
            try run.budget.charge(1, heldBytes: matches.bytes)
            if let target = row.reference(slot, in: entity) { objects.append(target) }
            return
        }
    }
}

extension AccessPath {
    /// The table and the key ranges of the candidates; nil unless they are found by the keys of one
    /// table.
    var keys: (table: StoreTable, ranges: [KeyRange])? {
        switch self {
        case .members(let owner, let link, _):
            (.links, [KeyRange(prefix: StoreKey.links(link, of: owner.number))])
        case .index(_, let ranges): (.indexes, ranges)
        case .scan, .unique, .holders, .union, .related: nil
        }
    }
}
