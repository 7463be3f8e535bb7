import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// The journal of a directory, read with or without a running daemon.
///
/// Damaged sections are reported as gaps and skipped.
final class FolderSource: LogSource {
    private let directory: String
    private let store: String
    private let isQuiet: Bool
    private let files = RealFileSystem()
    /// A map from positions to segments, shared by all readers, so that each finds its first
    /// segment at once.
    private let index = JournalIndex()
    /// The indexes that allow irrelevant transactions of sealed segments to be skipped.
    private let indexes: SegmentIndexes
    private var timeline: ModelTimeline?
    /// Whether a transaction could not be read during the search for models.
    private var missesModels = false
    private var gaps: Set<GapKey> = []
    private var reportedTornTail = false

    private struct GapKey: Hashable {
        var path: String
        var offset: UInt64
    }

    /// Creates a source for the directory of a store, or for the directory of its segments.
    init(_ directory: String, isQuiet: Bool) {
        let nested = directory + "/journal"
        let isStore = files.exists(nested)
        self.directory = isStore ? nested : directory
        store = isStore ? directory + "/store" : directory + "/../store"
        self.isQuiet = isQuiet
        indexes = SegmentIndexes(directory: self.directory, fileSystem: files)
    }

    func bounds() throws -> (first: UInt64, last: UInt64) {
        let first = try first()
        return (first, max(try last(from: first), first - 1))
    }

    /// Returns the first position of the oldest segment; earlier segments may have been trimmed.
    private func first() throws -> UInt64 {
        let segments: [(first: UInt64, name: String)]
        do {
            try StoreFolder.checkAccess(directory)
            guard files.exists(directory) else {
                throw CommandFailure.noDirectory(directory)
                    .adding("-D takes the directory of a store")
            }
            segments = try JournalFolder(directory).segments()
        } catch let error as IOError {
            throw CommandFailure("\(error); -D takes the directory of a store")
        }
        guard let first = segments.first?.first else {
            throw CommandFailure.noJournal(in: directory)
        }
        return first
    }

    /// Returns the last position.
    ///
    /// Reads the last segment up to its last batch, or the whole journal if the segment is damaged.
    private func last(from first: UInt64) throws -> UInt64 {
        let tail = reader(from: .max)
        while let item = try next(tail) {
            guard case .entry = item else { continue }
        }
        if let following = tail.following { return following - 1 }
        var last = first - 1
        let whole = reader(from: first)
        while let item = try next(whole) {
            switch item {
            case .entry(let entry): last = entry.position
            // Damage near the end is reported even if the wanted range ends before it.
            case .gap(let gap): report(gap, "gap")
            }
        }
        return last
    }

    func cursor(_ number: UInt64) -> Position? { nil }

    func read(
        after floor: UInt64, through top: UInt64, _ filter: LogFilter,
        _ body: (Transaction, _ bytes: Int) throws -> Bool
    ) throws {
        if let model = try newestModel() { try filter.check(model) }
        let walk = try query(filter).map(indexes.walk)
        let reader = reader(from: floor + 1)
        while let item = try next(reader, walk, through: top) {
            switch item {
            case .gap(let gap) where gap.firstMissing <= top: report(gap, "gap")
            case .gap: continue
            case .entry(let entry) where entry.position > top: return
            case .entry(let entry):
                guard let transaction = decode(entry) else { continue }
                guard try body(transaction, entry.payload.count) else { return }
            }
        }
        if reader.position > top { return }
        if let problem = reader.tailProblem { remark(problem, "the last batch is torn") }
    }

    func time(from position: UInt64) throws -> Int64? {
        let reader = reader(from: position)
        while let item = try next(reader) {
            guard case .entry(let entry) = item else { continue }
            do {
                return try EncodedTransaction(bytes: entry.payload).time
            } catch {
                report(entry.position, "\(error)")
            }
        }
        return nil
    }

    func throwIfDamaged() throws {
        if !gaps.isEmpty {
            let count = Quantity.count(gaps.count, "gap")
            throw CommandFailure(
                "\(count) in \(directory); `tandem verify` lists all damage")
        }
    }

    // MARK: Models

    func newestModel() throws -> CompiledModel? { try loadedTimeline().newest }

    func model(for transaction: Transaction) throws -> CompiledModel? {
        var known = try loadedTimeline()
        record(transaction, &known)
        if known.lacks(transaction) { try readModels(&known) }
        timeline = known
        return known.model(for: transaction)
    }

    func models(after model: CompiledModel) -> [CompiledModel] {
        timeline?.models(after: model) ?? []
    }

    func installations() throws -> [Installation] {
        var known = try loadedTimeline()
        guard let newest = known.newest, newest.version > 1 else { return [] }
        if !known.isComplete { try readModels(&known) }
        timeline = known
        return known.installed
    }

    /// Returns the timeline; creates it from the store's model and the later models in the journal.
    ///
    /// Without a store next to the journal, all models of the journal are read.
    private func loadedTimeline() throws -> ModelTimeline {
        if let timeline { return timeline }
        let known = storeModel()
        var made = ModelTimeline(latest: known?.model)
        if let known {
            try readModels(&made, from: max(try first(), known.position + 1))
        } else {
            try readModels(&made)
        }
        timeline = made
        return made
    }

    /// Returns the store's model, and the last position that the store has applied.
    private func storeModel() -> (model: CompiledModel, position: UInt64)? {
        guard let store = openStore() else { return nil }
        defer { store.close() }
        return store.model.map { ($0, store.appliedPosition) }
    }

    /// Opens the store next to the journal; returns nil if there is none or it can't be read.
    ///
    /// The caller must close the store.
    func openStore() -> Store? {
        guard files.exists(store + "/data.mdb") else { return nil }
        // The journal can be read even if the store is damaged.
        return try? Store.openForReading(path: store)
    }

    /// Reads every model of the journal.
    private func readModels(_ timeline: inout ModelTimeline) throws {
        try readModels(&timeline, from: try first())
        timeline.complete()
    }

    private func readModels(_ timeline: inout ModelTimeline, from position: UInt64) throws {
        let reader = reader(from: position)
        let walk = indexes.walk(.ofModels)
        while let item = try next(reader, walk, through: .max) {
            if case .gap = item { missesModels = true }
            guard case .entry(let entry) = item else { continue }
            do {
                let encoded = try EncodedTransaction(bytes: entry.payload)
                if encoded.isModel { record(try encoded.decoded(), &timeline) }
            } catch {
                missesModels = true
                report(entry.position, "\(error)")
            }
        }
    }

    private func record(_ transaction: Transaction, _ timeline: inout ModelTimeline) {
        do {
            try timeline.record(transaction)
        } catch {
            report(transaction.position, "\(error)")
        }
    }

    // MARK: Indexes

    /// Returns the index query for a filter, or nil if no index narrows the search.
    private func query(_ filter: LogFilter) throws -> IndexQuery? {
        guard let models = try knownModels() else { return nil }
        return filter.query(models)
    }

    /// Returns every model that a transaction may have, or nil if finding all of them requires
    /// reading the whole journal.
    private func knownModels() throws -> [CompiledModel]? {
        var known = try loadedTimeline()
        guard let newest = known.newest, !missesModels else { return nil }
        if newest.version == 1 { return [newest] }
        if !known.isComplete {
            guard indexes.covers(try first()) else { return nil }
            try readModels(&known)
            timeline = known
        }
        return missesModels ? nil : known.models
    }

    // MARK: Reading

    private func reader(from position: UInt64) -> JournalReader {
        JournalReader(
            directory: directory, fileSystem: files, from: position, index: index,
            indexes: indexes)
    }

    /// Returns the next item up to a position, skipping transactions that the indexes exclude.
    private func next(
        _ reader: JournalReader, _ walk: IndexedPositions?, through top: UInt64
    ) throws -> JournalReader.Item? {
        while reader.position <= top {
            guard let wanted = walk?.next(from: reader.position), wanted > reader.position else {
                return try next(reader)
            }
            reader.pass(to: wanted)
        }
        return nil
    }

    private func next(_ reader: JournalReader) throws -> JournalReader.Item? {
        do {
            return try reader.next()
        } catch {
            throw CommandFailure("\(error)", code: error.code == .expired ? 5 : 1)
        }
    }

    private func decode(_ entry: Entry) -> Transaction? {
        do {
            return try EncodedTransaction(bytes: entry.payload).decoded()
        } catch {
            report(entry.position, "\(error)")
            return nil
        }
    }

    private func report(_ position: UInt64, _ problem: String) {
        guard gaps.insert(GapKey(path: "", offset: position)).inserted else { return }
        printRemark("transaction \(position): \(problem)")
    }

    private func report(_ gap: JournalReader.Gap, _ what: String) {
        guard gaps.insert(GapKey(path: gap.path, offset: gap.offset)).inserted else { return }
        printRemark("\(what): \(gap)")
    }

    private func remark(_ gap: JournalReader.Gap, _ what: String) {
        guard !isQuiet, !reportedTornTail else { return }
        reportedTornTail = true
        printRemark("\(what): \(gap)")
    }
}
