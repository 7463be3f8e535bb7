import ArgumentParser
import Tandem

/// `tandem fetch`: objects of an entity.
struct FetchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Fetches objects.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: RequestOptions

    @Option(name: .shortAndLong, help: "short or json.")
    var output: OutputFormat = .short

    func run() throws {
        let (container, options, output) = (global.container(), options, output)
        try onMainActor {
            let context = container.makeContext(name: "tandem")
            let request = try options.request()
            let objects =
                try options.position(context).map { try context.fetch(request, at: $0) }
                ?? context.fetch(request).map(\.snapshot)
            let model = try container.storeModel()
            for object in objects { try FetchCommand.write(object, model, output, context) }
        }
    }

    @MainActor private static func write(
        _ object: ObjectSnapshot, _ model: CompiledModel, _ output: OutputFormat,
        _ context: ManagedObjectContext
    ) throws {
        let values = try object.values.mapValues {
            ValueText.json(try context.withContent($0), model)
        }
        if output == .json {
            return printLine(
                JSON.object([
                    "id": .string(object.id.description), "entity": .string(object.id.entity),
                    "values": .object(values),
                ]).text)
        }
        let text = values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.plain)" }
        printLine("\(object.id.description.padded(to: 16)) \(text.joined(separator: " "))")
    }
}
