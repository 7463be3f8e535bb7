import ArgumentParser
import Tandem

extension SchemaCommand {
    /// `tandem schema diff`.
    struct Diff: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists in what a model differs from the store's.",
            discussion: """
                A line for each difference: where, what, from what to what, and what it takes. Nothing is changed; \
                `tandem schema migrate FILE --dry-run` says also how many objects it concerns.
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var file: ModelFile

        @Option(name: .shortAndLong, help: "short or json.")
        var output: OutputFormat = .short

        func run() throws {
            let model = try file.model()
            let differences = try global.container().storeModel().model.differences(to: model)
            for difference in differences {
                printLine(output == .json ? difference.json.text : "\(difference)")
            }
        }
    }

    /// `tandem schema check`.
    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Says whether an app that declares a model could go on.",
            discussion: """
                What the model has beyond the store's would be installed when the app connects, what it lacks would \
                stay. Exits with 1 when the app would be refused, and lists why. A model that the store has served \
                before is one of an older app, which goes on with the rules of today.
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var file: ModelFile

        @Option(name: .shortAndLong, help: "short or json.")
        var output: OutputFormat = .short

        func run() throws {
            let declared = try file.model()
            let container = global.container()
            let merged = try container.storeModel().model.adopting(declared)
            let differences = try container.preview(of: merged).items.map(\.difference)
            let refused = differences.filter { !$0.isCompatible }
            for difference in refused.isEmpty ? differences : refused {
                printLine(output == .json ? difference.json.text : "\(difference)")
            }
            guard refused.isEmpty else {
                throw CommandFailure(
                    "an app that declares this would be refused; see `tandem schema migrate`")
            }
            if differences.isEmpty, output != .json {
                printLine("an app with this model can use the store as it is")
            }
        }
    }
}
