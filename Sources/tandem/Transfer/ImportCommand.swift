import ArgumentParser
import Tandem
import TandemIO

/// `tandem import`: objects from a file.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Inserts an object for each row of a file.",
        discussion: """
            Rows are JSON objects, one a line, as `tandem export` prints them or the values alone, or CSV. Every row \
            becomes a new object; links lead to objects of this store. It is worked off in transactions of at most 1,000 \
            rows. What can't be read or is refused goes to the file of rejects with the line's number and the reason, and \
            the rest goes on: the exit code is 1 then. What was interrupted goes on with the --id that it said, and \
            inserts no row twice.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The file.")
    var file: String

    @Option(help: "The entity of rows that don't say theirs.")
    var entity: String?

    @Option(name: .shortAndLong, help: "ndjson or csv; by the file's name if not given.")
    var input: TransferFormat?

    @Option(help: "Where rejected rows go; FILE.rejects if not given.")
    var rejects: String?

    @Option(help: "Goes on with the import of this name, or gives it one.")
    var id: String?

    @Option(
        help:
            "Where a row has an existing object's unique values: error, storeTrump or objectTrump.")
    var policy: ImportPolicy = .error

    @Option(name: .shortAndLong, help: "short or json.")
    var output: OutputFormat = .short

    @MainActor func run() async throws {
        let container = global.container(author: "tandem import")
        let model = try container.storeModel()
        if let entity, model.entity(named: entity) == nil {
            throw CommandFailure("the model has no entity \(entity); see `tandem schema`", code: 2)
        }
        let settings = ImportSettings(
            path: file, format: input ?? (file.hasSuffix(".csv") ? .csv : .ndjson),
            entity: entity, id: id ?? Self.newID, policy: policy.mergePolicy)
        let rejects = try RejectFile(
            rejects ?? file + ".rejects", of: settings.id, isContinued: id != nil)
        let run = try ImportRun(settings, model, container.makeContext(name: "import"), rejects)
        // Whoever ends it now has to know; afterwards there may be nobody left to say it.
        if id == nil {
            StandardStream.error.write(
                "import \(settings.id); if it is interrupted, go on with --id \(settings.id)\n")
        }
        do {
            try await run.run()
        } catch let error as TandemError {
            show(run, rejects)
            throw CommandFailure(error).adding("go on with --id \(settings.id)")
        } catch let error as IOError {
            throw CommandFailure("\(error)")
        }
        show(run, rejects)
        guard rejects.count > 0 else { return }
        throw CommandFailure("\(rejects.count) rows were rejected; see \(rejects.path)")
    }

    private static var newID: String {
        ThisProcess.randomBytes(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @MainActor private func show(_ run: ImportRun, _ rejects: RejectFile) {
        if output == .json {
            let counts = run.counts.mapValues { JSON.int(Int64($0)) }
            return printLine(
                JSON.object([
                    "imported": .object(counts), "rejected": .int(Int64(rejects.count)),
                ]).text)
        }
        for (entity, count) in run.counts.sorted(by: { $0.key < $1.key }) {
            printLine("imported \(count) objects of \(entity)")
        }
        if run.counts.isEmpty { printLine("nothing to import") }
    }
}

/// What happens where a row has the unique values of an existing object.
enum ImportPolicy: String, ExpressibleByArgument, CaseIterable {
    /// The row is rejected.
    case error
    /// The object stays as it is, and the row counts as imported.
    case storeTrump
    /// The object gets the row's values.
    case objectTrump

    var mergePolicy: MergePolicy {
        switch self {
        case .error: .error
        case .storeTrump: .storeTrump
        case .objectTrump: .objectTrump
        }
    }
}

extension CommandFailure {
    /// The failure with one more thing to do about it.
    fileprivate func adding(_ remedy: String) -> CommandFailure {
        CommandFailure("\(message); \(remedy)", code: code)
    }
}
