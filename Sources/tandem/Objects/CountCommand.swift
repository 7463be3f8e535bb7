import ArgumentParser
import Tandem

/// `tandem count`: prints the number of matching objects.
struct CountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "count", abstract: "Count objects.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: RequestOptions

    func run() throws {
        let (container, options) = (global.container(), options)
        try onMainActor {
            let context = container.makeContext(name: "tandem")
            let request = try options.request(try container.compiledModel())
            let count =
                try options.position(context, container).map {
                    try context.count(for: request, at: $0)
                }
                ?? context.count(for: request)
            printLine(String(count))
        }
    }
}
