import ArgumentParser
import Tandem
import TandemIO

/// `tandem import`: inserts objects from a file.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Insert an object for each row of a file.",
        discussion: """
            Each row becomes a new object, in transactions of at most 1,000. The file is CSV, or has one JSON object \
            per line, either as printed by `tandem export` or with only the values. It may be gzipped or a pipe. With \
            --map, PATH is a folder of CSV files, possibly gzipped. A date in a table is written 2013-01-31 or \
            2013-01-31T10:05:00Z; digits alone are seconds in exported files, and rejected elsewhere. Rejected rows are \
            written to the reject file with line numbers and reasons, the import continues, and the exit code is 1. An \
            interrupted import continues with the --id that it printed, and inserts no row twice.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The file or folder; - is standard input.")
    var path: String

    @Option(help: "The entity of rows that do not name one.")
    var entity: String?

    @Option(
        help: ArgumentHelp(
            "A map from columns to attributes and links, as JSON (Importing.md).", valueName: "file"
        ))
    var map: String?

    @Option(
        name: .shortAndLong, help: "The input format; by default that of the file's name.")
    var input: TransferFormat?

    @Option(
        help: ArgumentHelp(
            "The reject file; by default the path and .rejects, with --map that of the map; import.rejects for a pipe without a name.",
            valueName: "file"))
    var rejects: String?

    @Option(help: "The id of the import to continue, or of a new one.")
    var id: String?

    @Option(
        help:
            "The policy for a row whose unique values an existing object has.")
    var policy: ImportPolicy = .error

    @Flag(help: "Continue even if the first 1,000 rows all fail for the same reason.")
    var keepGoing = false

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    func validate() throws {
        guard map != nil, entity != nil || input != nil else { return }
        throw ValidationError("--map cannot be combined with --entity or --input")
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
            try await finish(name, rejects, run)
        } else {
            guard path == TableContent.standardInput || RealFileSystem().exists(path) else {
                throw CommandFailure.noFile(path)
            }
            guard !RealFileSystem().isDirectory(path) else {
                throw CommandFailure(
                    "\(path) is a folder; give a map of its files with --map", code: 2)
            }
            let model = try await container.compiledModel()
            let settings = try settings(model, name)
            let rejects = try rejectFile(TableContent.isUnnamed(path) ? "import" : path, name)
            defer { rejects.close() }
            // Opened last, because it may wait for the writer of a pipe.
            let file = try TableContent.open(path)
            let run = try ImportRun(settings, file, model, container, rejects)
            try await finish(name, rejects, run)
        }
    }

    private func rejectFile(_ path: String, _ name: String) throws -> RejectFile {
        if let rejects, [path, self.path].contains(rejects) {
            throw CommandFailure(
                "\(rejects) is the input and cannot be the reject file; name another file with --rejects",
                code: 2)
        }
        return try RejectFile(rejects ?? path + ".rejects", of: name, isContinued: id != nil)
    }

    private func settings(_ model: CompiledModel, _ name: String) throws -> ImportSettings {
        let known = entity.flatMap(model.entity)
        if let entity, known == nil {
            throw model.unknownEntity(entity)
        }
        let isTable = path.hasSuffix(".csv") || path.hasSuffix(".csv.gz")
        return ImportSettings(
            format: input ?? (isTable ? .csv : .ndjson),
            entity: entity, id: name, policy: policy.mergePolicy,
            properties: Set(known?.properties.map(\.name) ?? []), keepsGoing: keepGoing)
    }

    /// Runs an import and prints its result, even after a failure if rows were inserted.
    @MainActor private func finish(
        _ name: String, _ rejects: RejectFile, _ attempt: some ImportAttempt
    ) async throws {
        // Printed first, because an interrupted process may not be able to print the id.
        if id == nil {
            StandardStream.error.write(
                "import \(name); if it is interrupted, continue with --id \(name)\n")
        }
        do {
            try await attempt.run()
        } catch let failure as UniformFailure {
            throw try stopped(name, attempt, failure)
        } catch let error as TandemError {
            show(attempt.result)
            throw CommandFailure(error).adding("continue with --id \(name)")
        } catch let failure as CommandFailure {
            throw interrupted(name, attempt, failure)
        } catch let error as IOError {
            throw interrupted(name, attempt, CommandFailure("\(error)"))
        }
        show(attempt.result)
        guard rejects.count > 0 else { return }
        let rows = rejects.count == 1 ? "1 row was" : "\(rejects.count) rows were"
        let reason = rejects.firstReason.map { "; the first: \($0)" } ?? ""
        throw CommandFailure("\(rows) rejected; see \(rejects.path)\(reason)")
    }

    /// Returns the failure of an import in which the first rows of a file or entity all failed.
    ///
    /// If nothing was imported, the files that the attempt created are removed.
    @MainActor private func stopped(
        _ name: String, _ attempt: some ImportAttempt, _ failure: UniformFailure
    ) throws -> CommandFailure {
        let count = attempt.result.total
        guard count > 0 else {
            try attempt.discard()
            let result = id == nil ? "nothing was imported" : "this attempt imported nothing"
            return CommandFailure(
                "\(failure.message); \(result) (--keep-going rejects them and continues)")
        }
        show(attempt.result)
        let before = count == 1 ? "1 object was" : "\(count) objects were"
        return CommandFailure(
            "\(failure.message); \(before) imported before; correct the rows and continue with "
                + "--id \(name), or add --keep-going to reject them")
    }

    /// Returns the failure, with the import's id if the attempt has imported anything.
    @MainActor private func interrupted(
        _ name: String, _ attempt: some ImportAttempt, _ failure: CommandFailure
    ) -> CommandFailure {
        guard attempt.result.total > 0 else { return failure }
        show(attempt.result)
        return failure.adding("continue with --id \(name)")
    }

    private static func content(_ path: String) throws -> String {
        do {
            let bytes = try RealFileSystem().contents(of: path, maximumBytes: 1 << 20)
            return String(decoding: bytes, as: UTF8.self)
        } catch {
            throw error.isNotFound
                ? CommandFailure.noFile(path) : CommandFailure("\(error)", code: 2)
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
