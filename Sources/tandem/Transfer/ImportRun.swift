import Tandem
import TandemIO

/// The options of an import.
struct ImportSettings {
    var path: String
    var format: TransferFormat
    /// The entity of rows that name none.
    var entity: String?
    /// The id under which the import can be resumed.
    var id: String
    var policy: MergePolicy
    /// The names of the entity's properties.
    var properties: Set<String> = []
    /// Whether to continue if the first rows all fail for one reason.
    var keepsGoing = false

    /// Returns a reader of the file's rows from a place on.
    func reader(from place: ImportLines.Place) throws -> any ImportReader {
        let file = try RealFileSystem().open(path, .read)
        switch format {
        case .ndjson: return NDJSONReader(file, from: place)
        case .csv: return try CSVReader(file, from: place, properties: properties)
        }
    }
}

/// Inserts the rows of a file, entity by entity, with batch inserts, and then sets the links that
/// had to wait for later rows.
///
/// A link between rows of the file is set when the later row is inserted. Links within an entity,
/// links in cycles and ordered links are set after all rows are inserted.
@MainActor final class ImportRun: ImportAttempt {
    private let settings: ImportSettings
    private let model: CompiledModel
    private let context: ManagedObjectContext
    private let rejects: RejectFile
    private let ids: ImportIDs
    private let targets: ImportTargets
    private let progress = ProgressBar("import")
    private let size: UInt64
    /// The number of imported objects by entity.
    private var counts: [String: Int] = [:]
    var result: ImportCounts { ImportCounts(imported: counts, rejected: rejects.count) }
    /// The entities of the rows, in the order in which they first occur.
    private var entities: [String] = []
    private var lines = LineEntities()
    /// The lines whose links are set last.
    private var pending: Set<Int> = []

    init(
        _ settings: ImportSettings, _ model: CompiledModel, _ container: PersistentContainer,
        _ rejects: RejectFile
    ) throws {
        self.settings = settings
        self.model = model
        context = container.makeContext(name: "import")
        self.rejects = rejects
        ids = try ImportIDs(rejects.path + ".ids", of: settings.id)
        targets = ImportTargets(model, container, rejects, ids)
        size = try mapped { try RealFileSystem().open(settings.path, .read).size() }
    }

    func run() async throws {
        defer { progress.end() }
        try findEntities()
        var hasBegun = false
        for name in targets.sorted(entities) {
            guard let entity = model.entity(named: name) else { continue }
            let id = ImportBatches.id(batchName(entity))
            let inserted = try await context.insertedRows(name, settings.policy, id: id)
            if inserted > 0 { hasBegun = true }
            // If the file is missing, an earlier attempt set all links.
            let isOver = hasBegun && !ids.isResumed
            if targets.needsIDs, !isOver { try ids.create() }
            try await insert(entity, inserted, isOver: isOver)
            targets.didInsert(name)
        }
        try targets.refresh()
        try LinkSetting(context, targets, rejects).run(try pendingRows())
        try ids.remove()
    }

    func discard() throws {
        try rejects.discard()
        try ids.discard()
    }

    private func batchName(_ entity: CompiledEntity) -> String { "\(settings.id) \(entity.name)" }

    /// Reads the file once, to find the entities, and to reject rows that do not fit without asking
    /// the daemon.
    private func findEntities() throws {
        var reader = try settings.reader(from: ImportLines.Place())
        var unfit: [RejectFile.Reject] = []
        var failures = UniformFailures(settings.keepsGoing)
        while let row = try reader.next() {
            progress.update(reader.place.offset, of: size)
            do throws(ImportValues.RowError) {
                let entity = try entity(of: row)
                let (values, links) = try ImportValues.read(row, of: entity, model)
                targets.record(row, values, links, of: entity)
                lines.record(row.line, entity)
                if !entities.contains(entity.name) { entities.append(entity.name) }
                failures.didPass()
            } catch {
                try failures.add(error.reason)
                unfit.append(.init(line: row.line, raw: row.raw, reason: error.reason))
                // One flush covers many rejects, and memory stays bounded.
                guard unfit.count == Self.rejectsHeld else { continue }
                try rejects.add(unfit, by: .reader)
                unfit = []
            }
        }
        try rejects.add(unfit, by: .reader)
    }

    private static let rejectsHeld = 1_000

    private func entity(of row: ImportRow) throws(ImportValues.RowError) -> CompiledEntity {
        if let problem = row.problem { throw ImportValues.RowError(reason: problem) }
        guard let name = row.entity ?? settings.entity else {
            throw ImportValues.RowError(reason: "the row has no entity; give --entity")
        }
        guard let entity = model.entity(named: name) else {
            throw ImportValues.RowError(reason: model.unknownEntity(name).message)
        }
        return entity
    }

    private func insert(
        _ entity: CompiledEntity, _ inserted: Int, isOver: Bool
    ) async throws {
        try targets.refresh()
        let batches = ImportBatches(
            context: context, entity: entity.name, policy: settings.policy, rejects: rejects,
            keepsGoing: settings.keepsGoing, name: batchName(entity))
        let start = ImportBatch.Start(inserted: inserted, refused: rejects.lines(), isOver: isOver)
        var batch: ImportBatch?
        try await batches.run { _ in
            let rows = ImportBatch(
                try settings.reader(from: ImportLines.Place()), lines, entity, start,
                (targets, rejects))
            rows.onRow = { [progress, size] in progress.update($0.offset, of: size) }
            batch = rows
            return rows
        } numbering: { [ids] rows in
            try ids.add(
                rows.compactMap { row in batch?.id(row.row).map { ($0, row.number) } })
        } count: {
            counts[entity.name, default: 0] += $0
        }
        pending.formUnion(batch?.pending ?? [])
    }

    /// Returns the rows whose links are set last.
    private func pendingRows() throws -> () throws -> LinkSetting.Row? {
        var reader = try settings.reader(from: ImportLines.Place())
        let (lines, refused) = (pending, rejects.lines())
        guard !lines.isEmpty else { return { nil } }
        return { [settings, model] in
            while let row = try reader.next(where: { lines.contains($0) && !refused.contains($0) })
            {
                guard let entity = (row.entity ?? settings.entity).flatMap(model.entity) else {
                    continue
                }
                do throws(ImportValues.RowError) {
                    let links = try ImportValues.read(row, of: entity, model).links
                    return LinkSetting.Row(row: row, entity: entity, links: links)
                } catch {
                    return LinkSetting.Row(row: row, entity: entity, problem: error.reason)
                }
            }
            return nil
        }
    }
}

/// The entity of each line of a file, so that a later pass only parses the rows that it needs.
struct LineEntities {
    /// The tags by line, from line 1; lines without a row that fits an entity have a tag that no
    /// entity has.
    private var tags: [EntityTag] = []
    private static let noEntity = EntityTag.max

    /// Records the entity of a line.
    mutating func record(_ line: Int, _ entity: CompiledEntity) {
        while tags.count < line { tags.append(Self.noEntity) }
        tags[line - 1] = entity.tag
    }

    /// Returns the tag of a line's entity, or nil for a line without a row that fits one.
    func entity(of line: Int) -> EntityTag? {
        guard line <= tags.count, tags[line - 1] != Self.noEntity else { return nil }
        return tags[line - 1]
    }
}

/// The rows of one entity, without those that were rejected before.
final class ImportBatch: ImportedRows {
    typealias Element = BatchValues

    /// The state that earlier attempts left behind.
    struct Start {
        /// The number of rows of the entity that were already inserted.
        var inserted: Int
        /// The lines that were rejected.
        var refused: Set<Int>
        /// Whether all links have already been set.
        var isOver: Bool
    }

    private var reader: any ImportReader
    private let lines: LineEntities
    private let entity: CompiledEntity
    private let start: Start
    private let targets: ImportTargets
    private let rejects: RejectFile
    private var last = LastRows<(reject: RejectFile.Reject, id: ObjectID?)>()
    private var count = 0
    /// The lines whose links have to wait for other rows.
    private(set) var pending: Set<Int> = []
    var onRow: ((ImportLines.Place) -> Void)?
    private let model: CompiledModel

    init(
        _ reader: any ImportReader, _ lines: LineEntities, _ entity: CompiledEntity, _ start: Start,
        _ parts: (targets: ImportTargets, rejects: RejectFile)
    ) {
        self.reader = reader
        self.lines = lines
        self.entity = entity
        self.start = start
        (targets, rejects) = parts
        model = parts.targets.model
    }

    func reject(_ index: Int) -> RejectFile.Reject? { last[index]?.reject }

    /// Returns the exported id of one of the last rows.
    func id(_ index: Int) -> ObjectID? { last[index].flatMap(\.id) }

    /// Returns the next row that can be sent.
    func next() throws -> BatchValues? {
        while let row = try reader.next(where: {
            lines.entity(of: $0) == entity.tag && !start.refused.contains($0)
        }) {
            var reject = RejectFile.Reject(line: row.line, raw: row.raw, reason: "")
            do throws(ImportValues.RowError) {
                var values = try values(of: row)
                values.identity = Array(row.raw.utf8)
                onRow?(reader.place)
                last.add((reject, row.id), bytes: values.contentBytes)
                count += 1
                return values
            } catch {
                reject.reason = error.reason
                try rejects.add([reject], by: .reader)
            }
        }
        return nil
    }

    /// Returns the values of a row.
    ///
    /// For a row that was already inserted, links are omitted: its identity is enough for the
    /// daemon. Its links may not all be set, so they are set again at the end.
    private func values(of row: ImportRow) throws(ImportValues.RowError) -> BatchValues {
        var (values, links) = try ImportValues.read(row, of: entity, model)
        if count < start.inserted {
            if !start.isOver, !links.isEmpty { pending.insert(row.line) }
            return values
        }
        var isComplete = true
        for (name, links) in links.sorted(by: { $0.key < $1.key }) {
            guard let property = entity.property(named: name) else { continue }
            let found = try targets.targets(links, property, of: row)
            values.objects[name] = found.objects
            if !found.isComplete { isComplete = false }
        }
        if !isComplete { pending.insert(row.line) }
        return values
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let batch: ImportBatch

        func next() async throws -> BatchValues? { try batch.next() }

        func next(isolation actor: isolated (any Actor)?) async throws -> BatchValues? {
            try batch.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(batch: self) }
}
