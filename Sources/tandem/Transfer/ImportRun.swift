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

    /// The rows of the file from a place on.
    func reader(from place: ImportLines.Place) throws -> any ImportReader {
        let file = try RealFileSystem().open(path, .read)
        switch format {
        case .ndjson: return NDJSONReader(file, from: place)
        case .csv: return try CSVReader(file, from: place, properties: properties)
        }
    }
}

/// Inserts the rows of a file, entity by entity, by batches of the daemon.
@MainActor final class ImportRun {
    private let settings: ImportSettings
    private let model: CompiledModel
    private let context: ManagedObjectContext
    private let rejects: RejectFile
    private let progress = ProgressBar("import")
    private let size: UInt64
    /// How many objects of each entity are there.
    private(set) var counts: [String: Int] = [:]
    /// The entities of the rows, in the order in which they came up.
    private var entities: [String] = []

    init(
        _ settings: ImportSettings, _ model: CompiledModel, _ context: ManagedObjectContext,
        _ rejects: RejectFile
    ) throws {
        self.settings = settings
        self.model = model
        self.context = context
        self.rejects = rejects
        size = try mapped { try RealFileSystem().open(settings.path, .read).size() }
    }

    /// Imports everything; a daemon that can't be reached or refuses all ends it, with what is there so far in ``counts``.
    func run() async throws {
        defer { progress.end() }
        try findEntities()
        for entity in entities { try await insert(model.entity(named: entity)) }
    }

    /// Reads everything once: which entities there are, and which rows no daemon need be asked about.
    private func findEntities() throws {
        var reader = try settings.reader(from: ImportLines.Place())
        var unfit: [RejectFile.Reject] = []
        while let row = try reader.next() {
            progress.update(reader.place.offset, of: size)
            do throws(ImportValues.Misfit) {
                let entity = try entity(of: row)
                _ = try ImportValues.values(row, of: entity)
                if !entities.contains(entity.name) { entities.append(entity.name) }
            } catch {
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
            throw ImportValues.Misfit(reason: "the model has no entity \(name)")
        }
        return entity
    }

    private func insert(_ entity: CompiledEntity?) async throws {
        guard let entity else { return }
        let batches = ImportBatches(
            context: context, entity: entity.name, policy: settings.policy, rejects: rejects,
            name: "\(settings.id) \(entity.name)")
        try await batches.run { _ in
            let rows = ImportBatch(
                try settings.reader(from: ImportLines.Place()), settings.entity, entity,
                rejects.lines())
            rows.onRow = { [progress, size] in progress.update($0.offset, of: size) }
            return rows
        } count: {
            counts[entity.name, default: 0] += $0
        }
    }
}

/// The rows of one entity, without those that were refused before.
final class ImportBatch: ImportedRows {
    typealias Element = BatchValues

    private var reader: any ImportReader
    private let usual: String?
    private let entity: CompiledEntity
    private let refused: Set<Int>
    private var last = LastRows<RejectFile.Reject>()
    var onRow: ((ImportLines.Place) -> Void)?

    init(
        _ reader: any ImportReader, _ usual: String?, _ entity: CompiledEntity,
        _ refused: Set<Int>
    ) {
        self.reader = reader
        self.usual = usual
        self.entity = entity
        self.refused = refused
    }

    func reject(_ index: Int) -> RejectFile.Reject? { last[index] }

    /// The next row that can be sent.
    func next() throws -> BatchValues? {
        while let row = try reader.next() {
            guard row.entity ?? usual == entity.name, !refused.contains(row.line),
                let values = try? ImportValues.values(row, of: entity)
            else { continue }
            onRow?(reader.place)
            last.add(
                .init(line: row.line, raw: row.raw, reason: ""), bytes: values.contentBytes)
            return values
        }
        return nil
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
