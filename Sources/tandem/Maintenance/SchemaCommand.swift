import ArgumentParser
import Tandem
import TandemIO

/// `tandem schema`: the store's model.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Show, compare or change the store's model.",
        subcommands: [
            Show.self,
            Diff.self,
            Check.self,
            Apply.self,
            Migrate.self,
        ], defaultSubcommand: Show.self)

    /// `tandem schema show`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the model as JSON.")

        @OptionGroup var global: GlobalOptions

        func run() throws { printLine(try global.container().storeModel().json.text) }
    }

    /// `tandem schema apply`.
    struct Apply: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Install a model in an empty store, or one that only adds to the store's model.")

        @OptionGroup var global: GlobalOptions
        @OptionGroup var file: ModelFile

        func run() throws {
            let container = global.container()
            let before = try container.end()
            let position = try container.install(try file.model())
            printLine(
                try SchemaCommand.isInstallation(position, after: before, container)
                    ? "installed at position \(position)" : "the store already has this model")
        }
    }

    /// Returns whether a request to install a model, made after `before`, installed it at the
    /// position in its answer.
    ///
    /// A store that has the model answers with its last position, at which others may have saved.
    static func isInstallation(
        _ position: Position, after before: Position, _ container: PersistentContainer
    ) throws -> Bool {
        guard position > before else { return false }
        var pages = HistoryPages.models(after: position.number - 1, through: position.number)
        return try !container.next(&pages, at: position).transactions.isEmpty
    }
}

/// The argument that names a model file.
struct ModelFile: ParsableArguments {
    @Argument(help: "A file with the model as JSON.")
    var file: String

    /// Reads the model; throws ``CommandFailure`` if the file can't be read or has no valid model.
    func model() throws -> ManagedObjectModel {
        let bytes: [UInt8]
        do {
            bytes = try RealFileSystem().contents(of: file, maximumBytes: 4 << 20)
        } catch {
            throw error.isNotFound
                ? CommandFailure.noFile(file) : CommandFailure("\(error)", code: 2)
        }
        do {
            let model = try ManagedObjectModel(parsing: String(decoding: bytes, as: UTF8.self))
            _ = try CompiledModel(model)
            return model
        } catch {
            throw CommandFailure("\(file): \(error)", code: 2)
        }
    }
}
