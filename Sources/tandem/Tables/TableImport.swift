import Tandem
import TandemIO

/// Imports the files of a map, in the order of their dependencies.
@MainActor final class TableImport: ImportAttempt {
    private let folder: String
    private let map: ImportMap
    private let id: String
    private let policy: MergePolicy
    private let keepsGoing: Bool
    private let container: PersistentContainer
    private let model: CompiledModel
    private let context: ManagedObjectContext
    private let rejects: RejectFile
    /// The number of imported objects by entity.
    private var counts: [String: Int] = [:]
    /// The number of objects created for links, by entity.
    private var stubs: [String: Int] = [:]
    var result: ImportCounts {
        ImportCounts(imported: counts, made: stubs, rejected: rejects.count)
    }

    init(
        _ folder: String, _ map: ImportMap,
        _ settings: (id: String, policy: MergePolicy, keepsGoing: Bool),
        _ container: PersistentContainer, _ rejects: RejectFile
    ) throws {
        self.folder = folder
        self.map = map
        (id, policy, keepsGoing) = settings
        self.container = container
        self.rejects = rejects
        model = try container.compiledModel()
        context = container.makeContext(name: "import")
    }

    /// Returns the files of a map in import order; throws ``CommandFailure`` if any of them is
    /// invalid.
    private func files() throws -> [(ImportMap.Table, TableFile)] {
        for table in map.tables { _ = try TableBinding.entity(table, model) }
        return try TableOrder.sorted(map.tables, model).map { table in
            (table, try TableFile(table, in: folder, model))
        }
    }

    func run() async throws {
        let files = try files()
        for (table, file) in files { try await checkFirstRows(table, file) }
        for (table, file) in files {
            try await makeStubs(table, file)
            let targets = try file.reading.links.map { try LinkTargets($0, container) }
            try await insert(table, file, targets)
        }
    }

    func discard() throws { try rejects.discard() }

    // MARK: Rows

    private func batchName(_ table: ImportMap.Table) -> String { "\(id) \(table.name)" }

    /// Throws ``UniformFailure`` if the first rows of a file all fail, before anything is imported.
    private func checkFirstRows(_ table: ImportMap.Table, _ file: TableFile) async throws {
        let failures = UniformFailures(keepsGoing, of: table.name)
        guard !failures.isDisabled else { return }
        let batch = ImportBatches.id(batchName(table))
        // If an earlier attempt inserted rows, not all rows fail.
        guard try await context.tools.insertedRows(table.entity, policy, id: batch) == 0 else {
            return
        }
        try await file.checkFirst(failures, rejects.lines(of: table.name))
    }

    private func insert(
        _ table: ImportMap.Table, _ file: TableFile, _ targets: [LinkTargets]
    ) async throws {
        let progress = ProgressBar("import \(table.name)")
        defer { progress.end() }
        let batches = ImportBatches(
            context: context, entity: table.entity, policy: policy, rejects: rejects,
            file: table.name, keepsGoing: keepsGoing, name: batchName(table))
        try await batches.run { id in
            let inserted = try await context.tools.insertedRows(table.entity, policy, id: id)
            let start = TableFile.Start(
                inserted: inserted, rejected: rejects.lines(of: table.name), targets: targets)
            await file.begin(start)
            let failures = UniformFailures(keepsGoing, of: table.name)
            return TableBatch(file, table.name, rejects, failures) {
                progress.update($0, of: file.size)
            }
        } count: {
            counts[table.entity, default: 0] += $0
        }
    }

    // MARK: Stubs

    /// Creates the missing objects to which the links of a file refer.
    private func makeStubs(_ table: ImportMap.Table, _ file: TableFile) async throws {
        let links = file.reading.links
        guard links.contains(where: { $0.missing == .create }) else { return }
        for (number, keys) in try await keys(table, file).sorted(by: { $0.key < $1.key }) {
            let link = links[number]
            let targets = try LinkTargets(link, container)
            let missing = keys.count { targets[$0] == nil }
            guard missing > 0 else { continue }
            try await insert(keys, link, "\(id) \(table.name) \(link.property.name)")
            stubs[link.destination.name, default: 0] += missing
        }
    }

    /// Inserts an object for each key, and leaves existing objects unchanged.
    ///
    /// The batch's id contains a hash of the keys. Another attempt therefore resumes the batch,
    /// unless the file was corrected and has different keys.
    private func insert(_ keys: [LinkKey], _ link: TablePlan.Link, _ name: String) async throws {
        let hash = StableHash(keys.flatMap { Array("\($0.value.json.text)\n".utf8) })
        let rows = keys.lazy.map { BatchValues([link.key.name: $0.value]) }
        let request = BatchInsertRequest(
            entity: link.destination.name, rows: rows, policy: .storeTrump)
        try await context.execute(request, id: ImportBatches.id("\(name) \(hash)"))
    }

    private func keys(
        _ table: ImportMap.Table, _ file: TableFile
    ) async throws -> [Int: [LinkKey]] {
        let progress = ProgressBar("read \(table.name)")
        defer { progress.end() }
        var keys = try await file.keys(nil)
        while let offset = keys.offset {
            progress.update(offset, of: file.size)
            keys = try await file.keys(keys)
        }
        return keys.byLink
    }
}
