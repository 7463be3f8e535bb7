import TandemModel

/// Walks over every table of a store and compares what it finds with the rows.
///
/// A pass per table, each in the order of keys: `rows` looks for all that follows from a row; the others ask whether
/// what they hold follows from one. Memory: a count for each content of a long value, and the findings, of which a
/// bounded number is kept.
final class StoreChecker {
    let store: Store
    let open: LMDBTransaction
    let model: CompiledModel?
    /// The to-many relationships by the number of their links.
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
                // Subentities share the number; the entity that declares it includes them all.
                let known = relationships[link]?.owner
                if known.map({ entity.includes($0.tag) }) ?? true {
                    relationships[link] = (entity, property)
                }
            }
        }
        self.relationships = relationships
    }

    /// The tables in the order in which they are walked over.
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

    /// The highest number that a row or a note of a used number has.
    var highestNumber: ObjectNumber = 0

    /// How often each content stands in the rows.
    var blobCounts: [BlobReference: Int64] = [:]
    /// The same by the hash under which the content lies.
    var countsByHash: [[UInt8]: Int64] = [:]

    func find(_ finding: StoreFinding) { report.add(finding) }

    func get(_ table: StoreTable, _ key: [UInt8]) throws(StoreError) -> [UInt8]? {
        try open.get(store.tables[table], key).map { Array($0) }
    }

    // MARK: Objects

    /// The row of an object, if there is one that can be read.
    func row(_ object: ObjectReference) throws(StoreError) -> Row? {
        guard let entity = model?.entity(tagged: object.tag),
            let value = try open.get(store.tables.rows, StoreKey.row(object)),
            let row = Store.stored(object, value)?.row
        else { return nil }
        return row.isValid(for: entity) ? row : nil
    }

    func exists(_ object: ObjectReference) throws(StoreError) -> Bool {
        try open.get(store.tables.rows, StoreKey.row(object)) != nil
    }

    /// The object of a number within an entity and its subentities.
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
    /// Walks over everything the store holds and says what contradicts the rows or itself.
    ///
    /// Works on the open transaction, so also on a store that was opened for reading beside a daemon. `progress` hears of how many keys of
    /// all it has walked over. Cost: reads everything, and several point reads a row. Throws ``StoreError`` when LMDB can't read on.
    public func check(
        progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(StoreError) -> StoreReport {
        try StoreChecker(self, progress: progress).run()
    }

    /// Carries out repairs, durable on return.
    ///
    /// Needs the store for itself, with nothing applied since the last checkpoint.
    public func repair(_ repairs: [StoreFinding.Repair]) throws(StoreError) {
        precondition(appliedPosition == checkpointPosition, "Make a checkpoint before a repair.")
        let open = try current
        for repair in repairs {
            switch repair {
            case .put(let table, let key, let value): try open.put(tables[table], key, value)
            case .delete(let table, let key): try open.delete(tables[table], key)
            case .raiseNumbers(let number): nextNumber = max(nextNumber, number)
            case .lowerSaveFloor(let position): saveFloor = min(saveFloor, position)
            }
        }
        try checkpoint()
    }
}
