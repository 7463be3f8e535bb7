package import TandemModel

/// Rows and blobs found in a journal for objects and long values that a store has lost.
package struct JournalledParts {
    /// The last row of an object in the journal.
    package struct LastRow {
        let row: Row
        /// The position of its transaction.
        let position: UInt64
        /// Whether a part of the journal after the transaction is missing or unreadable, so that
        /// the object may have changed later.
        fileprivate(set) var isOutdated = false

        package init(_ row: Row, at position: UInt64) {
            (self.row, self.position) = (row, position)
        }
    }

    /// The last row of each object that was not deleted.
    package var rows: [ObjectReference: LastRow] = [:]
    /// The contents of blobs by hash.
    package var contents: [[UInt8]: [UInt8]] = [:]

    /// Creates an empty set of parts.
    package init() {}

    /// Records that the next part of the journal is missing or unreadable.
    package mutating func addGap() {
        for object in rows.keys { rows[object]?.isOutdated = true }
    }
}

extension Store {
    /// Returns the journalled rows of the given objects, and the blobs with the given hashes.
    package typealias Recovery = (
        _ objects: Set<ObjectReference>, _ contents: Set<[UInt8]>
    ) throws -> JournalledParts

    /// Removes all unreadable or contradictory data, and repairs data that is derived from rows.
    ///
    /// `missesRows` states whether keys of the table of rows are known to be lost. Then an object
    /// without a row is recovered even if the journal does not show whether it was deleted.
    ///
    /// Unlike ``repair(_:)``, this loses data: use it on a copy, and only if there is neither a
    /// complete journal nor a backup. `recover` is called first to find lost rows and blobs. No
    /// other process may use the store, and nothing may have been applied since the last
    /// checkpoint. Durable on return. Throws ``StoreError`` if faults remain, or if LMDB can't
    /// continue reading.
    package func salvage(
        missesRows: Bool = false,
        recovering recover: @escaping Recovery = { _, _ in JournalledParts() }
    ) throws -> StoreLosses {
        var salvage = StoreSalvage(self, recover)
        try salvage.recoverUnreferenced(missesRows: missesRows)
        try salvage.run()
        return salvage.losses
    }
}

/// Makes a damaged store consistent by removing the damaged parts.
struct StoreSalvage {
    /// The identity of a removed fault, so that no fault is removed twice.
    private struct Removal: Hashable {
        var kind: StoreFinding.Kind
        var key: [UInt8]
        var property: String?
    }

    private let store: Store
    private let recover: Store.Recovery
    private var removed: Set<Removal> = []
    /// The objects whose rows are lost.
    private var lostObjects: Set<ObjectReference> = []
    private(set) var losses = StoreLosses()

    /// The number of rounds without progress after which the salvage fails.
    private static let idleRounds = 3

    init(_ store: Store, _ recover: @escaping Store.Recovery) {
        self.store = store
        self.recover = recover
    }

    mutating func run() throws {
        var report = try store.check()
        var idle = 0
        while !report.isClean {
            let before = report.found
            let hasRemoved = try removeFaults(report)
            report = try store.check()
            idle = hasRemoved || report.found < before ? 0 : idle + 1
            guard idle < Self.idleRounds else {
                throw StoreError(
                    .damaged,
                    "the store has \(report.found) faults that cannot be removed, the first: "
                        + "\(report.findings[0])")
            }
        }
    }

    /// Recovers objects that have a number but no row, and whose deletion the journal lacks.
    ///
    /// The check finds a missing row only if something refers to its object.
    mutating func recoverUnreferenced(missesRows: Bool) throws {
        let (transaction, tables) = (try store.current, store.tables)
        var missing: Set<ObjectReference> = []
        try transaction.scan(tables.numbers, from: []) { (key, value) throws(StoreError) in
            guard key.count == 8, value.count == 2 else { return true }
            let object = ObjectReference(
                tag: value.bigEndian(0, as: UInt16.self), number: key.bigEndian(0, as: UInt64.self))
            if try transaction.get(tables.rows, StoreKey.row(object)) == nil {
                missing.insert(object)
            }
            return true
        }
        guard !missing.isEmpty else { return }
        var found = try recover(missing, [])
        if !missesRows { found.rows = found.rows.filter { !$0.value.isOutdated } }
        var repairs: [StoreFinding.Repair] = []
        for object in missing.intersection(found.rows.keys) {
            let key = StoreKey.row(object)
            guard let value = value(found, key, store.appliedPosition) else { continue }
            repairs.append(.put(.rows, key: key, value: value))
            addRecovered(object, found)
        }
        if !repairs.isEmpty { try store.repair(repairs) }
    }

    /// Counts an object that was recovered from the journal.
    private mutating func addRecovered(_ object: ObjectReference, _ found: JournalledParts) {
        let name = store.model?.entity(tagged: object.tag)?.name ?? ""
        if found.rows[object]?.isOutdated ?? false {
            losses.add(.laterChanges, name)
        } else {
            losses.recoveredObjects[name, default: 0] += 1
        }
    }

    /// Repairs or removes the reported faults; returns whether anything was removed.
    ///
    /// Lost rows and blobs are handled first, so that links and references of recovered objects are
    /// kept.
    private mutating func removeFaults(_ report: StoreReport) throws -> Bool {
        let rows = report.findings.filter {
            $0.table == .rows && [.badKey, .badRow, .futureRow].contains($0.kind)
        }
        if !rows.isEmpty { return try removeRows(rows, report.position) }
        // A row with a number that was never leased has a damaged key.
        let misplaced = report.findings.filter {
            $0.kind == .unnotedNumber && ($0.object?.number ?? 0) >= store.nextNumber
        }
        if !misplaced.isEmpty, try removeMisplaced(misplaced) { return true }
        let missing = try missingObjects(report.findings)
        if !missing.isEmpty { return try recoverObjects(missing, report.position) }
        let contents = report.findings.filter { $0.kind == .missingBlob }
        if !contents.isEmpty { return try removeContents(Set(contents.map(\.key))) }
        losses.repaired += report.findings.count { !$0.repairs.isEmpty }
        try store.repair(report.repairs)
        return try removeValues(report.findings.filter(\.repairs.isEmpty))
    }

    /// Records the removal of a fault; returns false if the fault was removed before.
    private mutating func isFirst(_ finding: StoreFinding) -> Bool {
        removed.insert(
            Removal(kind: finding.kind, key: finding.key, property: finding.property)
        ).inserted
    }

    // MARK: Rows

    private mutating func removeRows(
        _ findings: [StoreFinding], _ position: UInt64
    ) throws -> Bool {
        let objects = findings.filter { $0.kind == .badRow }.compactMap { Self.object($0.key) }
        let found = try recover(Set(objects), [])
        var repairs: [StoreFinding.Repair] = []
        var hasRemoved = false
        for finding in findings where isFirst(finding) {
            hasRemoved = true
            let name = finding.object?.entity ?? "an unknown entity"
            if finding.kind == .futureRow {
                guard let value = try store.current.get(store.tables.rows, finding.key) else {
                    continue
                }
                let row = Array(value.dropFirst(8))
                repairs.append(
                    .put(.rows, key: finding.key, value: Self.version(position) + row))
                losses.add(.version, name)
            } else if let value = value(found, finding.key, position) {
                repairs.append(.put(.rows, key: finding.key, value: value))
                if let object = Self.object(finding.key) { addRecovered(object, found) }
            } else {
                repairs.append(.delete(.rows, key: finding.key))
                losses.add(.row, name)
                if let object = Self.object(finding.key) { lostObjects.insert(object) }
            }
        }
        try store.repair(repairs)
        return hasRemoved
    }

    private mutating func removeMisplaced(_ findings: [StoreFinding]) throws -> Bool {
        var repairs: [StoreFinding.Repair] = []
        for finding in findings where isFirst(finding) {
            guard let id = finding.object, let tag = store.model?.entity(named: id.entity)?.tag
            else { continue }
            let object = ObjectReference(tag: tag, number: id.number)
            repairs.append(.delete(.rows, key: StoreKey.row(object)))
            lostObjects.insert(object)
            losses.add(.row, id.entity)
        }
        if !repairs.isEmpty { try store.repair(repairs) }
        return !repairs.isEmpty
    }

    /// Returns the objects whose rows are missing.
    ///
    /// The numbers of such objects were used, and other keys refer to them.
    private func missingObjects(_ findings: [StoreFinding]) throws -> Set<ObjectReference> {
        func number(_ bytes: ArraySlice<UInt8>) -> ObjectNumber {
            bytes.reduce(0) { $0 << 8 | ObjectNumber($1) }
        }
        var numbers: Set<ObjectNumber> = []
        for finding in findings {
            let key = finding.key
            switch finding.kind {
            case .strayIndexEntry where key.count >= 10: numbers.insert(number(key.suffix(8)))
            case .strayUniqueKey:
                guard let value = try store.current.get(store.tables.unique, key),
                    value.count == 10
                else { continue }
                numbers.insert(number(ArraySlice(Array(value)).suffix(8)))
            case .strayLink where key.count == 18:
                numbers.formUnion([number(key[2..<10]), number(key[10...])])
            case .danglingReference:
                guard let object = Self.object(key),
                    let entity = store.model?.entity(tagged: object.tag),
                    let slot = finding.property.flatMap(entity.slot(of:)),
                    let value = try store.current.get(store.tables.rows, key),
                    let target = EntryDecoder.stored(object, value)?.row.reference(slot, in: entity)
                else { continue }
                numbers.insert(target.number)
            default: continue
            }
        }
        var missing: Set<ObjectReference> = []
        for number in numbers {
            guard
                let entry = try store.current.get(store.tables.numbers, StoreKey.number(number)),
                entry.count == 2
            else { continue }
            let object = ObjectReference(
                tag: entry.bigEndian(0, as: UInt16.self), number: number)
            guard !lostObjects.contains(object), store.model?.entity(tagged: object.tag) != nil,
                try store.current.get(store.tables.rows, StoreKey.row(object)) == nil
            else { continue }
            missing.insert(object)
        }
        return missing
    }

    private mutating func recoverObjects(
        _ missing: Set<ObjectReference>, _ position: UInt64
    ) throws -> Bool {
        let found = try recover(missing, [])
        var repairs: [StoreFinding.Repair] = []
        for object in missing {
            let name = store.model?.entity(tagged: object.tag)?.name ?? ""
            lostObjects.insert(object)
            guard let value = value(found, StoreKey.row(object), position) else {
                losses.add(.row, name)
                continue
            }
            repairs.append(.put(.rows, key: StoreKey.row(object), value: value))
            addRecovered(object, found)
        }
        if !repairs.isEmpty { try store.repair(repairs) }
        return true
    }

    /// Returns the journalled value for a row's key; nil if there is none, or if it has a different
    /// model version.
    private func value(
        _ found: JournalledParts, _ key: [UInt8], _ position: UInt64
    ) -> [UInt8]? {
        guard let object = Self.object(key), let last = found.rows[object],
            let model = store.model, let entity = model.entity(tagged: object.tag),
            last.row.isValid(for: entity), last.row.modelVersion == model.version
        else { return nil }
        return Self.version(min(last.position, position)) + last.row.bytes
    }

    private static func version(_ position: UInt64) -> [UInt8] {
        withUnsafeBytes(of: position.littleEndian) { Array($0) }
    }

    /// Returns the object of a row's key, or nil if the key has a wrong length.
    private static func object(_ key: [UInt8]) -> ObjectReference? {
        guard key.count == 10 else { return nil }
        return key.withUnsafeBytes {
            ObjectReference(
                tag: $0.bigEndian(0, as: UInt16.self), number: $0.bigEndian(2, as: UInt64.self))
        }
    }

    // MARK: Blobs

    private mutating func removeContents(_ lost: Set<[UInt8]>) throws -> Bool {
        let found = try recover([], lost).contents.filter {
            lost.contains($0.key) && BlobReference(of: $0.value).hash == $0.key
        }
        losses.recoveredContents += found.count
        var repairs = found.map { StoreFinding.Repair.put(.blobs, key: $0.key, value: $0.value) }
        let missing = lost.subtracting(found.keys)
        for hash in missing {
            repairs += [.delete(.blobs, key: hash), .delete(.blobUses, key: hash)]
        }
        var slots: [ObjectReference: Set<Int>] = [:]
        let model = store.model
        try store.current.scan(store.tables.rows, from: []) { key, value in
            guard let object = Self.object(Array(key)),
                let entity = model?.entity(tagged: object.tag),
                let row = EntryDecoder.stored(object, value)?.row, row.isValid(for: entity),
                row.hasBlobs(in: entity)
            else { return true }
            for property in entity.properties where !property.isToMany {
                guard
                    let blob = row.uncheckedValue(property.slot, in: entity).outside,
                    missing.contains(blob.hash)
                else { continue }
                slots[object, default: []].insert(property.slot)
            }
            return true
        }
        try store.repair(repairs)
        for (object, slots) in slots {
            guard let entity = model?.entity(tagged: object.tag) else { continue }
            for slot in slots {
                losses.add(.content, "\(entity.name).\(entity.properties[slot].name)")
            }
        }
        try setToNull(slots)
        return !slots.isEmpty || !found.isEmpty
    }

    // MARK: Values and links

    private mutating func removeValues(_ findings: [StoreFinding]) throws -> Bool {
        var slots: [ObjectReference: Set<Int>] = [:]
        var lastRanks: [[UInt8]: Rank] = [:]
        var repairs: [StoreFinding.Repair] = []
        for finding in findings where isFirst(finding) {
            guard let id = finding.object, let entity = store.model?.entity(named: id.entity)
            else { continue }
            let object = ObjectReference(tag: entity.tag, number: id.number)
            switch finding.kind {
            case .danglingReference, .oneSidedReference:
                guard let slot = finding.property.flatMap(entity.slot(of:)) else { continue }
                slots[object, default: []].insert(slot)
                losses.add(.reference, "\(entity.name).\(entity.properties[slot].name)")
            case .duplicateUnique:
                guard let slot = Self.slot(finding.key, entity) else { continue }
                slots[object, default: []].insert(slot)
                losses.add(.uniqueValue, "\(entity.name).\(entity.properties[slot].name)")
            case .missingLink, .badValue:
                guard finding.table == .links, let property = finding.property,
                    let value = try link(finding.key, entity, property, &lastRanks)
                else { continue }
                repairs.append(.put(.links, key: finding.key, value: value))
                losses.add(.rank, "\(entity.name).\(property)")
            default: continue
            }
        }
        if !repairs.isEmpty { try store.repair(repairs) }
        try setToNull(slots)
        return !repairs.isEmpty || !slots.isEmpty
    }

    /// Returns the slot of the property to set to null for a uniqueness constraint.
    ///
    /// This is the constraint's first optional property or, if there is none, its first property.
    private static func slot(_ key: [UInt8], _ entity: CompiledEntity) -> Int? {
        guard key.count >= 2 else { return nil }
        let id = key.withUnsafeBytes { $0.bigEndian(0, as: UInt16.self) }
        let slots = entity.uniqueness.first { $0.id == id }?.slots ?? []
        return slots.first { !entity.required.contains($0) } ?? slots.first
    }

    /// Returns the value of a link with a rank at the end of its ordered relationship.
    private func link(
        _ key: [UInt8], _ entity: CompiledEntity, _ property: String,
        _ lastRanks: inout [[UInt8]: Rank]
    ) throws(StoreError) -> [UInt8]? {
        guard key.count == 18,
            let destination = entity.property(named: property)?.relationship?.destination,
            let member = try CheckedGraph(store).object(
                key.withUnsafeBytes { $0.bigEndian(10, as: UInt64.self) }, in: destination)
        else { return nil }
        let prefix = Array(key[..<10])
        var last = lastRanks[prefix]
        if last == nil {
            try store.current.scan(store.tables.links, prefix: prefix) { _, value in
                if value.count > 2, let rank = Rank(Array(value[2...])) {
                    last = max(last ?? rank, rank)
                }
                return true
            }
        }
        guard let rank = Rank.between(last, nil)?.first else { return nil }
        lastRanks[prefix] = rank
        return StoreKey.tag(member.tag) + rank.bytes
    }

    /// Sets properties of rows to null; the next check finds the affected index entries and unique
    /// keys.
    private func setToNull(_ slots: [ObjectReference: Set<Int>]) throws(StoreError) {
        guard !slots.isEmpty else { return }
        var repairs: [StoreFinding.Repair] = []
        for (object, slots) in slots {
            let key = StoreKey.row(object)
            guard let entity = store.model?.entity(tagged: object.tag),
                let value = try store.current.get(store.tables.rows, key),
                let stored = EntryDecoder.stored(object, value), stored.row.isValid(for: entity)
            else { continue }
            let row = stored.row.replacing(slots.sorted().map { ($0, .null) }, in: entity)
            repairs.append(.put(.rows, key: key, value: Self.version(stored.version) + row.bytes))
        }
        try store.repair(repairs)
    }
}
