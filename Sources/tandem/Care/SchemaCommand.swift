import ArgumentParser
import FoundationEssentials
import Tandem
import TandemIO

/// `tandem schema`: the store's model.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Shows or installs the store's model.",
        subcommands: [Show.self, Apply.self], defaultSubcommand: Show.self)

    /// `tandem schema show`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the model as JSON.")

        @OptionGroup var global: GlobalOptions

        func run() throws { printLine(try global.container().storeModel().model.json.text) }
    }

    /// `tandem schema apply`.
    struct Apply: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Installs a model in an empty store, or migrates to it.")

        @OptionGroup var global: GlobalOptions

        @Argument(help: "A file with the model as JSON.")
        var file: String

        func run() throws {
            let bytes: [UInt8]
            do {
                bytes = try RealFileSystem().contents(of: file, maximumBytes: 4 << 20)
            } catch {
                throw CommandFailure("\(error)", code: 2)
            }
            let model: Model
            do {
                model = try Model(parsing: String(decoding: bytes, as: UTF8.self))
            } catch {
                throw CommandFailure("\(file): \(error)", code: 2)
            }
            printLine("installed at \(try global.container().install(model))")
        }
    }
}
