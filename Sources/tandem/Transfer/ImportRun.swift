import Tandem
import TandemIO

/// The options of an import.
struct ImportSettings {
    var format: TransferFormat
    /// The entity of rows that do not name one.
    var entity: String?
    /// The id under which the import can be resumed.
    var id: String
    var policy: MergePolicy
    /// The names of the entity's properties.
    var properties: Set<String> = []
    /// Whether to continue if the first 1,000 rows all fail for the same reason.
    var keepsGoing = false

    /// Returns a reader of a file's rows, starting at a location.
    func reader(_ file: any File, from location: ImportLines.Location) throws -> any ImportReader {
        switch format {
        case .ndjson: return NDJSONReader(file, from: location)
        case .csv: return try CSVReader(file, from: location, properties: properties)
        }
    }
}

/// Inserts the rows of a file entity by entity, with batch inserts, and then sets the remaining
/// links.
///
/// A link between two rows of the file is set when the later of the two rows is inserted. Links
/// within an entity, links in cycles, and ordered links are set after all rows are inserted.
@MainActor final class ImportRun: ImportAttempt {
    private let settings: ImportSettings
    /// The content; its name is used in messages.
    private let file: any File
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
    private var lines = LineRecords()
    /// The lines whose links are set last.
    private var pending: Set<Int> = []

    init(
        _ settings: ImportSettings, _ file: any File, _ model: CompiledModel,
        _ container: PersistentContainer, _ rejects: RejectFile
    ) throws {
        self.settings = settings
        self.file = file
        self.model = model
        context = container.makeContext(name: "import")
        self.rejects = rejects
        ids = try ImportIDs(rejects.path + ".ids", of: settings.id)
        targets = ImportTargets(model, container, rejects, ids)
        size = try mapped { try file.size() }
    }

    func run() async throws {
        defer { progress.end() }
        try findEntities()
        var hasBegun = false
        for name in targets.sorted(entities) {
            guard let entity = model.entity(named: name) else { continue }
            let id = ImportBatches.id(batchName(entity))
            let inserted = try await context.tools.insertedRows(name, settings.policy, id: id)
            if inserted > 0 { hasBegun = true }
            // If the file of ids is missing, an earlier attempt has set all links.
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

    /// Reads the file once, to find the entities, and to reject rows that do not fit the model
    /// without a request to the daemon.
    private func findEntities() throws {
        var reader = try settings.reader(file, from: ImportLines.Location())
        try checkColumns(reader)
        var unfit: [RejectFile.Reject] = []
        var failures = UniformFailures(settings.keepsGoing)
        var isFirst = true
        while let row = try reader.next() {
            progress.update(reader.location.offset, of: size)
            if isFirst { try checkEntity(row) }
            isFirst = false
            do throws(ImportValues.RowError) {
                let entity = try entity(of: row)
                let (values, links) = try ImportValues.read(row, of: entity, model)
                targets.record(row, values, links, of: entity)
                lines.add(row, entity)
                if !entities.contains(entity.name) { entities.append(entity.name) }
                failures.didPass()
            } catch {
                try failures.add(error.reason)
                unfit.append(.init(line: row.line, raw: row.raw, reason: error.reason))
                // One flush for many rejects saves time; the limit bounds the memory.
                guard unfit.count == Self.rejectsHeld else { continue }
                try rejects.add(unfit, by: .reader)
                unfit = []
            }
        }
        try rejects.add(unfit, by: .reader)
    }

    private static let rejectsHeld = 1_000

    /// Throws ``CommandFailure`` if the entity of the whole file lacks a column's property.
    private func checkColumns(_ reader: any ImportReader) throws {
        guard let entity = settings.entity.flatMap(model.entity(named:)) else { return }
        for name in reader.columns ?? [] where entity.property(named: name) == nil {
            try discard()
            let problem = entity.unknownProperty(name).message
            throw CommandFailure(
                "\(problem); rename or remove the column in \(file.path)", code: 2)
        }
    }

    /// Throws ``CommandFailure`` if neither the first row nor the options name an entity.
    private func checkEntity(_ row: ImportRow) throws {
        guard row.problem == nil, row.entity == nil, settings.entity == nil, !settings.keepsGoing
        else { return }
        try discard()
        throw CommandFailure(
            "line \(row.line) of \(file.path) names no entity; give --entity", code: 2)
    }

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
                try settings.reader(file, from: ImportLines.Location()), lines, entity, start,
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
        guard !pending.isEmpty else { return { nil } }
        var reader = try settings.reader(file, from: ImportLines.Location())
        var open = pending.subtracting(rejects.lines())
        var removed: [Int]?
        return { [self] in
            if let row = try reader.next(where: { open.contains($0) }) {
                open.remove(row.line)
                return linkedRow(row)
            }
            // The file no longer has these lines.
            if removed == nil { removed = open.sorted(by: >) }
            return removed?.popLast().map { linkedRow(ImportRow(line: $0, raw: "")) }
        }
    }

    /// Returns a row with its links, or with the problem if it can no longer be read.
    private func linkedRow(_ row: ImportRow) -> LinkSetting.Row {
        guard let entity = lines.entity(of: row.line).flatMap({ model.entity(tagged: $0) }) else {
            preconditionFailure("A row whose links are set last had an entity in the first pass.")
        }
        do throws(ImportValues.RowError) {
            try lines.checkUnchanged(row)
            let links = try ImportValues.read(row, of: entity, model).links
            return LinkSetting.Row(row: row, entity: entity, links: links)
        } catch {
            return LinkSetting.Row(row: row, entity: entity, problem: error.reason)
        }
    }
}
