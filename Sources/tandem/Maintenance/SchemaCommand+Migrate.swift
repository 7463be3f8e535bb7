import ArgumentParser
import Tandem

extension SchemaCommand {
    /// `tandem schema migrate`.
    struct Migrate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Migrate the store to a model, even if data is lost.",
            discussion: """
                Shows each difference with the number of affected objects and lost values, and the objects that \
                violate a rule of the model. After confirmation, the store is migrated in one transaction. \
                Entities and properties that the file lacks are removed, and apps that need them are disconnected. \
                Needs the role admin; no other client is served meanwhile.
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var file: ModelFile

        @Flag(help: "Show what would change, and change nothing.")
        var dryRun = false

        @Flag(name: .shortAndLong, help: "Do not ask for confirmation.")
        var yes = false

        @Option(name: .shortAndLong, help: "The output format.")
        var output: OutputFormat = .short

        func run() throws {
            let model = try file.model()
            let container = global.container()
            let before = try container.end()
            let report = try ElapsedTimeIndicator.shown("preview the migration") {
                try container.preview(of: model)
            }
            show(report)
            guard report.isPossible else {
                throw CommandFailure(
                    "the migration is not possible, for the reasons above; nothing was changed")
            }
            if dryRun { return }
            guard !report.items.isEmpty || report.rewritten > 0 else {
                let position = try container.migrate(to: model).position
                return try printPosition(position, after: before, container)
            }
            try Confirmation.ask(
                "migrate the store (values or objects lost: \(Quantity.count(report.lost)))?",
                unless: yes)
            let rewritten = "migrate, rewriting \(Quantity.count(report.rewritten, "object"))"
            try printPosition(
                try ElapsedTimeIndicator.shown(rewritten) {
                    try container.migrate(to: model).position
                }, after: before, container)
        }

        private func printPosition(
            _ position: Position, after before: Position, _ container: PersistentContainer
        ) throws {
            if output == .json {
                return printLine(JSON.object(["position": .string(position.description)]).text)
            }
            printLine(
                try SchemaCommand.isInstallation(position, after: before, container)
                    ? "migrated at position \(position)" : "the store already has this model")
        }

        private func show(_ report: MigrationReport) {
            if output == .json { return printLine(report.json.text) }
            for item in report.items {
                let objects = item.objects > 0 ? ", \(Quantity.count(item.objects, "object"))" : ""
                printLine(
                    "\(item.difference)\(objects)\(item.lost > 0 ? ", \(item.lost) lost" : "")")
            }
            for problem in report.problems { printLine("\(problem)") }
            printLine(
                "\(Quantity.count(report.rewritten, "object")) to rewrite; values or objects lost: "
                    + Quantity.count(report.lost)
            )
        }
    }
}
