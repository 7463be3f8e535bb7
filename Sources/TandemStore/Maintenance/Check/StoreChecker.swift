import TandemModel

/// Scans every table of a store, and compares its contents with the rows.
///
/// Each table is scanned once, in key order, by its own checker. The scan of `rows` checks
/// that everything derived from a row exists. The other scans check that their entries derive from
/// a row. Memory: one count for each blob, and a bounded number of findings.
struct StoreChecker {
    private let graph: CheckedGraph
    private let store: Store
    private let rows: RowChecker
    private var numbers: NumberChecker
    private let links: LinkChecker
    private let indexes: IndexChecker
    private let derived: DerivedChecker
    private var blobs: BlobChecker
    private var report: StoreReport
    private var progress: KeyProgress

    init(
        _ store: Store, progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(StoreError) {
        self.store = store
        self.progress = KeyProgress(
            of: try store.current.count(Self.checkedTables.map { store.tables[$0] }), progress)
        graph = try CheckedGraph(store)
        rows = RowChecker(graph)
        numbers = NumberChecker(graph)
        links = LinkChecker(graph)
        indexes = IndexChecker(graph)
        derived = DerivedChecker(
            graph, store, checksFolded: try store.foldingMatchesThisBuild)
        blobs = BlobChecker(graph)
        report = StoreReport(position: store.appliedPosition)
    }

    /// The tables in the order of their scans.
    private static let checkedTables: [StoreTable] = [
        .rows, .numbers, .links, .indexes, .unique, .saves, .saveOrder, .unchanged, .blobUses,
        .blobs, .unusedBlobs, .consumers,
    ]

    /// Checks all tables.
    mutating func run() throws(StoreError) -> StoreReport {
        try walk(.rows) { (key, value, checker) throws(StoreError) in
            try checker.checkRow(key, value)
        }
        try walk(.numbers) { (key, value, checker) throws(StoreError) in
            try checker.numbers.check(key, value, &checker.report)
        }
        try walk(.links) { (key, value, checker) throws(StoreError) in
            try checker.links.check(key, value, &checker.report)
        }
        try walk(.indexes) { (key, value, checker) throws(StoreError) in
            try checker.indexes.checkIndex(key, value, &checker.report)
        }
        try walk(.unique) { (key, value, checker) throws(StoreError) in
            try checker.indexes.checkUnique(key, value, &checker.report)
        }
        try checkSaves()
        try checkBlobs()
        let consumers = ConsumerChecker(graph)
        try walk(.consumers) { (key, value, checker) throws(StoreError) in
            consumers.check(key, value, &checker.report)
        }
        numbers.checkMark(store.nextNumber, &report)
        SaveChecker(graph).checkFloor(store.saveFloor, &report)
        progress.end()
        assert(
            Set(report.keysRead.keys) == Set(Self.checkedTables),
            "Every table with checks was scanned.")
        return report
    }

    private mutating func checkRow(_ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
        if let object = RowChecker.object(key) { numbers.record(object.number) }
        guard let (stored, entity) = rows.check(key, value, &report) else { return }
        let (row, object) = (stored.row, stored.object)
        try numbers.check(object, &report)
        try rows.checkReferences(of: row, object, entity, &report)
        try indexes.checkKeys(of: row, object, entity, &report)
        try derived.check(stored, entity, &report)
        blobs.count(row, entity)
    }

    private mutating func checkSaves() throws(StoreError) {
        let saves = SaveChecker(graph)
        try walk(.saves) { (key, value, checker) throws(StoreError) in
            try saves.check(key, value, &checker.report)
        }
        try walk(.saveOrder) { (key, value, checker) throws(StoreError) in
            try saves.checkOrder(key, value, &checker.report)
        }
        try walk(.unchanged) { (key, _, checker) throws(StoreError) in
            try saves.checkUnchanged(key, &checker.report)
        }
    }

    private mutating func checkBlobs() throws(StoreError) {
        try blobs.checkUsesExist(&report)
        try walk(.blobUses) { (key, value, checker) throws(StoreError) in
            try checker.blobs.checkUses(key, value, &checker.report)
        }
        try walk(.blobs) { (key, value, checker) throws(StoreError) in
            try checker.blobs.checkBlob(key, value, &checker.report)
        }
        try walk(.unusedBlobs) { (key, _, checker) throws(StoreError) in
            try checker.blobs.checkUnused(key, &checker.report)
        }
    }

    private mutating func walk(
        _ table: StoreTable,
        _ body: ([UInt8], [UInt8], inout StoreChecker) throws(StoreError) -> Void
    ) throws(StoreError) {
        assert(report.keysRead[table] == nil, "Each table is scanned once.")
        var count = 0
        let graph = graph
        try graph.scan(table) { (key, value) throws(StoreError) in
            count += 1
            progress.step()
            try body(key, value, &self)
        }
        report.keysRead[table] = count
    }
}

extension Store {
    /// Checks the whole store, and reports everything that contradicts the rows or itself.
    ///
    /// Uses the open transaction, and therefore also works on a store opened for reading while a
    /// daemon runs. Calls `progress` with the number of keys read and their total number. Cost:
    /// reads everything, with several point reads per row. Throws ``StoreError`` if LMDB can't
    /// continue reading.
    package func check(
        progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(StoreError) -> StoreReport {
        var checker = try StoreChecker(self, progress: progress)
        return try checker.run()
    }

    /// Carries out repairs, which are durable on return.
    ///
    /// No other process may use the store, and nothing may have been applied since the last
    /// checkpoint.
    package func repair(_ repairs: [StoreFinding.Repair]) throws(StoreError) {
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
