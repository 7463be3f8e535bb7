import Tandem
import TandemIO

/// What an import is told.
struct ImportSettings {
    var path: String
    var format: TransferFormat
    /// The entity of rows that don't say theirs.
    var entity: String?
    /// Under it the import goes on.
    var id: String
    var policy: MergePolicy
    /// The names of the entity's properties.
    var properties: Set<String> = []
    /// Whether to continue if the first rows all fail for one reason.
    var keepsGoing = false

    /// The rows of the file from a place on.
    func reader(from place: ImportLines.Place) throws -> any ImportReader {
        let file = try RealFileSystem().open(path, .read)
        switch format {
        case .ndjson: return NDJSONReader(file, from: place)
        case .csv: return try CSVReader(file, from: place, properties: properties)
        }
    }
}

/// Inserts the rows of a file, entity by entity, by batches of the daemon, and then sets the links that had to wait for later rows.
///
/// A link between rows of the file is set with the row that is inserted later, or, within an entity, in a circle and in an order, when all
/// rows are there.
@MainActor final class ImportRun {
    private let settings: ImportSettings
    private let model: CompiledModel
    private let context: ManagedObjectContext
    private let rejects: RejectFile
    private let ids: ImportIDs
    private let targets: ImportTargets
    private let progress = ProgressBar("import")
    private let size: UInt64
    /// How many objects of each entity are there.
    private(set) var counts: [String: Int] = [:]
    /// The entities of the rows, in the order in which they came up.
    private var entities: [String] = []
    private var lines = LineEntities()
    /// The lines whose links are set at the end.
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

    /// Imports everything; a daemon that can't be reached or refuses all ends it, with what is there so far in ``counts``.
    func run() async throws {
        defer { progress.end() }
        try findEntities()
        var hasBegun = false
        for name in targets.sorted(entities) {
            guard let entity = model.entity(named: name) else { continue }
            let id = ImportBatches.id(batchName(entity))
            let inserted = try await context.insertedRows(name, settings.policy, id: id)
            if inserted > 0 { hasBegun = true }
            // Without the file, an earlier attempt came to its end.
            let isOver = hasBegun && !ids.isResumed
            if targets.needsIDs, !isOver { try ids.create() }
            try await insert(entity, inserted, isOver: isOver)
            targets.didInsert(name)
        }
        try targets.refresh()
        try LinkSetting(context, targets, rejects).run(try pendingRows())
        try ids.remove()
    }

    private func batchName(_ entity: CompiledEntity) -> String { "\(settings.id) \(entity.name)" }

    /// Reads everything once: which entities there are, and which rows no daemon need be asked about.
    private func findEntities() throws {
        var reader = try settings.reader(from: ImportLines.Place())
        var unfit: [RejectFile.Reject] = []
        var failures = UniformFailures(settings.keepsGoing)
        while let row = try reader.next() {
            progress.update(reader.place.offset, of: size)
            do throws(ImportValues.Misfit) {
                let entity = try entity(of: row)
                let (values, links) = try ImportValues.read(row, of: entity, model)
                targets.record(row, values, links, of: entity)
                lines.record(row.line, entity)
                if !entities.contains(entity.name) { entities.append(entity.name) }
                failures.didPass()
            } catch {
                try failures.add(error.reason)
                unfit.append(.init(line: row.line, raw: row.raw, reason: error.reason))
                // One flush for many, and not all of them held.
                guard unfit.count == Self.rejectsHeld else { continue }
                try rejects.add(unfit, by: .reader)
                unfit = []
            }
        }
        try rejects.add(unfit, by: .reader)
    }

    private static let rejectsHeld = 1_000

    private func entity(of row: ImportRow) throws(ImportValues.Misfit) -> CompiledEntity {
        if let problem = row.problem { throw ImportValues.Misfit(reason: problem) }
        guard let name = row.entity ?? settings.entity else {
            throw ImportValues.Misfit(reason: "it does not say its entity; give --entity")
        }
        guard let entity = model.entity(named: name) else {
            throw ImportValues.Misfit(reason: model.unknownEntity(name).message)
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

    /// The rows whose links are set at the end.
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
                do throws(ImportValues.Misfit) {
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

/// The entities of the lines of a file, so that a later pass parses only the rows that it needs.
struct LineEntities {
    /// By line, from 1; lines without a row that fits an entity have a tag that no entity has.
    private var tags: [EntityTag] = []
    private static let noEntity = EntityTag.max

    /// Records the entity of a line.
    mutating func record(_ line: Int, _ entity: CompiledEntity) {
        while tags.count < line { tags.append(Self.noEntity) }
        tags[line - 1] = entity.tag
    }

    /// The tag of a line's entity; nil for a line without a row that fits one.
    func entity(of line: Int) -> EntityTag? {
        guard line <= tags.count, tags[line - 1] != Self.noEntity else { return nil }
        return tags[line - 1]
    }
}

/// The rows of one entity, without those that were refused before.
final class ImportBatch: ImportedRows {
    typealias Element = BatchValues

    /// The facts about the rows that are known before they are read.
    struct Start {
        /// How many of them are inserted.
        var inserted: Int
        /// The lines that are rejected.
        var refused: Set<Int>
        /// Whether all links are set already.
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

    /// The id that one of the last rows had where it was exported.
    func id(_ index: Int) -> ObjectID? { last[index].flatMap(\.id) }

    /// The next row that can be sent.
    func next() throws -> BatchValues? {
        while let row = try reader.next(where: {
            lines.entity(of: $0) == entity.tag && !start.refused.contains($0)
        }) {
            var reject = RejectFile.Reject(line: row.line, raw: row.raw, reason: "")
            do throws(ImportValues.Misfit) {
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

    /// What a row sets; of one that is inserted what stands for it is enough, but its links may not all be set.
    private func values(of row: ImportRow) throws(ImportValues.Misfit) -> BatchValues {
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
