import TandemModel

/// Scans every table of a store, and compares its contents with the rows.
///
/// One pass per table, in key order. The pass over `rows` checks that everything derived from a row
/// exists. The other passes check that their entries derive from a row. Memory: one count for each
/// content of a long value, and a bounded number of findings.
final class StoreChecker {
    let store: Store
    let open: LMDBTransaction
    let model: CompiledModel?
    /// The to-many relationships by link id.
    let relationships: [UInt16: (owner: CompiledEntity, property: CompiledProperty)]
    private(set) var report: StoreReport
    private var progress: KeyProgress

    init(
        _ store: Store, progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(StoreError) {
        self.store = store
        self.progress = KeyProgress(
            of: try store.current.count(Self.walked.map { store.tables[$0] }), progress)
        open = try store.current
        model = store.model
        report = StoreReport(position: store.appliedPosition)
        var relationships: [UInt16: (owner: CompiledEntity, property: CompiledProperty)] = [:]
        for entity in store.model?.entities ?? [] {
            for property in entity.properties where property.isToMany {
                guard let link = property.relationship?.linkID else { continue }
                // Subentities share the link id, and the declaring entity includes all of them.
                let known = relationships[link]?.owner
                if known.map({ entity.includes($0.tag) }) ?? true {
                    relationships[link] = (entity, property)
                }
            }
        }
        self.relationships = relationships
    }

    /// The tables in the order of their scans.
    private static let walked: [StoreTable] = [
        .rows, .numbers, .links, .indexes, .unique, .saves, .saveOrder, .unchanged, .blobUses,
        .blobs, .unusedBlobs, .consumers,
    ]

    func run() throws(StoreError) -> StoreReport {
        try walk(.rows) { (key, value) throws(StoreError) in try self.checkRow(key, value) }
        try walk(.numbers) { (key, value) throws(StoreError) in try self.checkNumber(key, value) }
        try walk(.links) { (key, value) throws(StoreError) in try self.checkLink(key, value) }
        try walk(.indexes) { (key, value) throws(StoreError) in try self.checkIndex(key, value) }
        try walk(.unique) { (key, value) throws(StoreError) in try self.checkUnique(key, value) }
        try walk(.saves) { (key, value) throws(StoreError) in try self.checkSave(key, value) }
        try walk(.saveOrder) { (key, value) throws(StoreError) in try self.checkOrder(key, value) }
        try walk(.unchanged) { (key, _) throws(StoreError) in try self.checkUnchanged(key) }
        try checkUsesAreThere()
        try walk(.blobUses) { (key, value) throws(StoreError) in try self.checkUses(key, value) }
        try walk(.blobs) { (key, value) throws(StoreError) in try self.checkBlob(key, value) }
        try walk(.unusedBlobs) { (key, _) throws(StoreError) in try self.checkUnused(key) }
        try walk(.consumers) { (key, value) throws(StoreError) in self.checkConsumer(key, value) }
        checkNumberMark()
        checkSaveFloor()
        progress.end()
        return report
    }

    private func walk(
        _ table: StoreTable, _ body: ([UInt8], [UInt8]) throws(StoreError) -> Void
    ) throws(StoreError) {
        var count = 0
        try open.scan(store.tables[table], from: []) {
            (key, value) throws(StoreError) -> Bool in
            count += 1
            progress.step()
            try body(Array(key), Array(value))
            return true
        }
        report.walked[table] = count
    }

    /// The highest number in the rows and in the table of used numbers.
    var highestNumber: ObjectNumber = 0

    /// The number of uses of each content in the rows.
    var blobCounts: [BlobReference: Int64] = [:]
    /// The same counts, by the hash under which the content is stored.
    var countsByHash: [[UInt8]: Int64] = [:]

    func find(_ finding: StoreFinding) { report.add(finding) }

    func get(_ table: StoreTable, _ key: [UInt8]) throws(StoreError) -> [UInt8]? {
        try open.get(store.tables[table], key).map { Array($0) }
    }

    // MARK: Objects

    /// Returns the row of an object, or nil if it is missing or unreadable.
    func row(_ object: ObjectReference) throws(StoreError) -> Row? {
        guard let entity = model?.entity(tagged: object.tag),
            let value = try open.get(store.tables.rows, StoreKey.row(object)),
            let row = EntryDecoder.stored(object, value)?.row
        else { return nil }
        return row.isValid(for: entity) ? row : nil
    }

    func exists(_ object: ObjectReference) throws(StoreError) -> Bool {
        try open.get(store.tables.rows, StoreKey.row(object)) != nil
    }

    /// Returns the object with a number in an entity or its subentities, or nil if there is none.
    func object(
        _ number: ObjectNumber, in entity: EntityTag
    ) throws(StoreError) -> ObjectReference? {
        for tag in model?.entity(tagged: entity)?.descendants ?? [] {
            let object = ObjectReference(tag: tag, number: number)
            if try exists(object) { return object }
        }
        return nil
    }

    func id(_ object: ObjectReference) -> ObjectID? { model?.id(of: object) }
}

extension Store {
    /// Checks the whole store, and reports everything that contradicts the rows or itself.
    ///
    /// Uses the open transaction, and thus also works on a store opened for reading next to a
    /// running daemon. Calls `progress` with the number of keys read and their total number. Cost:
    /// reads everything, with several point reads per row. Throws ``StoreError`` if LMDB can't
    /// continue reading.
    public func check(
        progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(StoreError) -> StoreReport {
        try StoreChecker(self, progress: progress).run()
    }

    /// Carries out repairs; durable on return.
    ///
    /// No other process may use the store, and nothing may have been applied since the last
    /// checkpoint.
    public func repair(_ repairs: [StoreFinding.Repair]) throws(StoreError) {
        precondition(appliedPosition == checkpointPosition, "Make a checkpoint before a repair.")
        let open = try current
        for repair in repairs {
            switch repair {
            case .put(let table, let key, let value): try open.put(tables[table], key, value)
            case .delete(let table, let key): try open.delete(tables[table], key)
            case .raiseNumbers(let number): raiseNumbers(to: number)
            case .lowerSaveFloor(let position): lowerSaveFloor(to: position)
            }
        }
        forgetCached()
        try checkpoint()
    }
}
