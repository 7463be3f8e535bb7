import ArgumentParser
import Tandem

extension SchemaCommand {
    /// `tandem schema migrate`.
    struct Migrate: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Migrates the store to a model, whatever that loses.",
            discussion: """
                Shows each difference with the objects that it concerns and the values that are lost, and which objects \
                break a rule of the model; asks, and migrates in one transaction. Apps that count on what is gone are \
                disconnected. What the file does not have is dropped. For admins; nobody else is served meanwhile.
                """)

        @OptionGroup var global: GlobalOptions
        @OptionGroup var file: ModelFile

        @Flag(help: "Shows what it would do, and changes nothing.")
        var dryRun = false

        @Flag(name: .shortAndLong, help: "Does not ask.")
        var yes = false

        @Option(name: .shortAndLong, help: "short or json.")
        var output: OutputFormat = .short

        func run() throws {
            let model = try file.model()
            let container = global.container()
            let report = try ElapsedTimeIndicator.shown("look what it would do") {
                try container.preview(of: model)
            }
            show(report)
            guard report.isPossible else {
                throw CommandFailure("it can't be done as things are; nothing was changed")
            }
            if dryRun { return }
            guard !report.items.isEmpty || report.rewritten > 0 else {
                return try say(try container.migrate(to: model).position)
            }
            try Confirmation.ask(
                "migrate the store, losing \(report.lost) values or objects?", unless: yes)
            let rewritten = "migrate, \(report.rewritten) objects written anew"
            try say(
                try ElapsedTimeIndicator.shown(rewritten) {
                    try container.migrate(to: model).position
                })
        }

        private func say(_ position: Position) throws {
            printLine(
                output == .json
                    ? JSON.object(["position": .string(position.description)]).text
                    : "migrated at \(position)")
        }

        private func show(_ report: MigrationReport) {
            if output == .json { return printLine(report.json.text) }
            for item in report.items {
                let objects = item.objects > 0 ? ", \(item.objects) objects" : ""
                printLine(
                    "\(item.difference)\(objects)\(item.lost > 0 ? ", \(item.lost) lost" : "")")
            }
            for problem in report.problems { printLine("\(problem)") }
            printLine(
                "\(report.rewritten) objects are written anew, \(report.lost) values or objects lost"
            )
        }
    }
}
