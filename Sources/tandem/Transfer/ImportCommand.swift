import ArgumentParser
import Tandem
import TandemIO

/// `tandem import`: inserts objects from a file.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Insert an object for each row of a file.",
        discussion: """
            Rows are JSON objects, one per line, as `tandem export` prints them or their values only, or CSV. With \
            --map, PATH is a folder of CSV files, possibly gzipped, and the map has their columns and links. A date \
            in a table is written 2013-01-31 or 2013-01-31T10:05:00Z; digits only are seconds in exported files, and \
            rejected elsewhere. Each row becomes a new object, in transactions of at most 1,000. Rejected rows go to \
            the file of rejects with their line numbers and reasons, the import continues, and the exit code is 1. \
            An interrupted import continues with the --id that it printed, and inserts no row twice.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The file or folder.")
    var path: String

    @Option(help: "The entity of rows that have none.")
    var entity: String?

    @Option(
        help: ArgumentHelp(
            "The columns and links of the files, as JSON (Importing.md).", valueName: "file"))
    var map: String?

    @Option(
        name: .shortAndLong, help: "The format: ndjson or csv; by default that of the file's name.")
    var input: TransferFormat?

    @Option(
        help: ArgumentHelp(
            "The file for rejected rows; PATH.rejects by default, or the map's name with this ending.",
            valueName: "file"))
    var rejects: String?

    @Option(help: "The import's id: continues that import, or names a new one.")
    var id: String?

    @Option(
        help:
            "The policy for rows whose unique values an existing object has.")
    var policy: ImportPolicy = .error

    @Flag(help: "Continue even if the first 1,000 rows all fail for one reason.")
    var keepGoing = false

    @Option(name: .shortAndLong, help: "The format: short or json.")
    var output: OutputFormat = .short

    func validate() throws {
        guard map != nil, entity != nil || input != nil else { return }
        throw ValidationError("--map cannot be combined with --entity and --input")
    }

    @MainActor func run() async throws {
        let container = global.container(author: "tandem import")
        let name = id ?? Self.newID
        if let map {
            let tables = try ImportMap(parsing: try Self.content(map), path: map)
            let rejects = try rejectFile(map, name)
            defer { rejects.close() }
            let run = try TableImport(
                path, tables, (name, policy.mergePolicy, keepGoing), container, rejects)
            try await finish(name, rejects) {
                try await run.run()
            } counts: {
                ImportCounts(imported: run.counts, made: run.stubs, rejected: rejects.count)
            }
        } else {
            guard RealFileSystem().exists(path) else {
                throw CommandFailure.noFile(path)
            }
            guard !RealFileSystem().isDirectory(path) else {
                throw CommandFailure(
                    "\(path) is a folder; give a map of its files with --map", code: 2)
            }
            let model = try container.storeModel()
            let settings = try settings(model, name)
            let rejects = try rejectFile(path, name)
            defer { rejects.close() }
            let run = try ImportRun(settings, model, container, rejects)
            try await finish(name, rejects) {
                try await run.run()
            } counts: {
                ImportCounts(imported: run.counts, rejected: rejects.count)
            }
        }
    }

    private func rejectFile(_ path: String, _ name: String) throws -> RejectFile {
        if let rejects, [path, self.path].contains(rejects) {
            throw CommandFailure(
                "\(rejects) is the input and cannot be the file of rejects; name another file with --rejects",
                code: 2)
        }
        return try RejectFile(rejects ?? path + ".rejects", of: name, isContinued: id != nil)
    }

    private func settings(_ model: CompiledModel, _ name: String) throws -> ImportSettings {
        let known = entity.flatMap(model.entity)
        if let entity, known == nil {
            throw model.unknownEntity(entity)
        }
        return ImportSettings(
            path: path, format: input ?? (path.hasSuffix(".csv") ? .csv : .ndjson),
            entity: entity, id: name, policy: policy.mergePolicy,
            properties: Set(known?.properties.map(\.name) ?? []), keepsGoing: keepGoing)
    }

    /// Runs an import, and prints its result, even if it fails.
    @MainActor private func finish(
        _ name: String, _ rejects: RejectFile, _ body: @MainActor () async throws -> Void,
        counts: @MainActor () -> ImportCounts
    ) async throws {
        // The id is printed before the import starts, because an interrupted process may not be
        // able to print it.
        if id == nil {
            StandardStream.error.write(
                "import \(name); if it is interrupted, continue with --id \(name)\n")
        }
        do {
            try await body()
        } catch let failure as UniformFailure {
            try rejects.discard()
            throw CommandFailure(
                "the first 1,000 rows all fail: \(failure.reason); nothing was imported "
                    + "(--keep-going rejects them and continues)")
        } catch let error as TandemError {
            show(counts())
            throw CommandFailure(error).adding("continue with --id \(name)")
        } catch let error as IOError {
            throw CommandFailure("\(error)")
        }
        show(counts())
        guard rejects.count > 0 else { return }
        let rows = rejects.count == 1 ? "1 row was" : "\(rejects.count) rows were"
        throw CommandFailure("\(rows) rejected; see \(rejects.path)")
    }

    private static func content(_ path: String) throws -> String {
        do {
            let bytes = try RealFileSystem().contents(of: path, maximumBytes: 1 << 20)
            return String(decoding: bytes, as: UTF8.self)
        } catch {
            throw CommandFailure("\(error)", code: 2)
        }
    }

    private static var newID: String {
        ThisProcess.randomBytes(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private func show(_ counts: ImportCounts) {
        if output == .json { return printLine(counts.json.text) }
        counts.lines.forEach(printLine)
    }
}

/// The result of an import.
struct ImportCounts {
    /// The number of imported objects by entity.
    var imported: [String: Int]
    /// The number of objects by entity that were created only because links refer to them.
    var made: [String: Int] = [:]
    var rejected: Int

    var json: JSON {
        var members: [String: JSON] = [
            "imported": Self.object(imported), "rejected": .int(Int64(rejected)),
        ]
        if !made.isEmpty { members["made"] = Self.object(made) }
        return .object(members)
    }

    private static func object(_ counts: [String: Int]) -> JSON {
        .object(counts.mapValues { .int(Int64($0)) })
    }

    /// One line for each entity.
    var lines: [String] {
        if imported.isEmpty { return ["nothing to import"] }
        return imported.sorted { $0.key < $1.key }.map {
            "imported \($1) \($1 == 1 ? "object" : "objects") of \($0)"
        }
            + made.sorted { $0.key < $1.key }.map {
                "created \($1) \($1 == 1 ? "object" : "objects") of \($0) for links"
            }
    }
}

/// The treatment of a row with the unique values of an existing object.
enum ImportPolicy: String, ExpressibleByArgument, CaseIterable {
    /// The row is rejected.
    case error
    /// The object stays unchanged, and the row counts as imported.
    case storeTrump
    /// The object receives the row's values.
    case objectTrump

    var mergePolicy: MergePolicy {
        switch self {
        case .error: .error
        case .storeTrump: .storeTrump
        case .objectTrump: .objectTrump
        }
    }
}
