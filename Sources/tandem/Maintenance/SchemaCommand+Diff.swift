import ArgumentParser
import Tandem

extension SchemaCommand {
    /// `tandem schema diff`.
    struct Diff: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the differences between a model and the store's.",
            discussion: """
                Each line names the entity or property, the difference, and its consequence. Nothing is changed. \
                `tandem schema migrate FILE --dry-run` also counts the affected objects.
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var file: ModelFile

        @Option(name: .shortAndLong, help: "The output format.")
        var output: OutputFormat = .short

        func run() throws {
            let model = try file.model()
            let differences = try global.container().storeModel().differences(to: model)
            for difference in differences {
                printLine(output == .json ? difference.json.text : "\(difference)")
            }
        }
    }

    /// `tandem schema check`.
    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check whether an app with a model could connect.",
            discussion: """
                Lists the additions to the store's model that would be installed when the app connects. Parts of the \
                store's model that the app lacks would be kept. An older app, with a model that the store had \
                earlier, can connect if it meets the current rules. If the app would be refused, lists the reasons \
                and exits with 1.
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var file: ModelFile

        @Option(name: .shortAndLong, help: "The output format.")
        var output: OutputFormat = .short

        func run() throws {
            let declared = try file.model()
            let container = global.container()
            let merged = try container.storeModel().adopting(declared)
            let differences = try container.preview(of: merged).items.map(\.difference)
            let refused = differences.filter { !$0.isCompatible }
            for difference in refused.isEmpty ? differences : refused {
                printLine(output == .json ? difference.json.text : "\(difference)")
            }
            guard refused.isEmpty else {
                throw CommandFailure(
                    "an app with this model would be refused; see `tandem schema migrate`")
            }
            if differences.isEmpty, output != .json {
                printLine("an app with this model can connect; the store's model stays the same")
            }
        }
    }
}
