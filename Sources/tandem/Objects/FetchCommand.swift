import ArgumentParser
import Tandem

/// `tandem fetch`: the objects of an entity.
struct FetchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Fetch objects, or with --select and --group-by their values and sums.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: RequestOptions
    @OptionGroup var columns: ColumnOptions

    @Option(name: .shortAndLong, help: "The format: short or json.")
    var output: OutputFormat = .short

    func run() throws {
        let (container, options, output) = (global.container(), options, output)
        let columns = try columns.columns()
        try onMainActor {
            let context = container.makeContext(name: "tandem")
            let request = try options.request(try container.storeModel())
            if let columns {
                let rows =
                    try options.position(context, container).map {
                        try context.fetchDictionaries(request, columns, at: $0)
                    } ?? context.fetchDictionaries(request, columns)
                let model = try container.storeModel()
                for row in rows { try FetchCommand.write(row, columns, model, output, context) }
                return
            }
            let objects =
                try options.position(context, container).map { try context.fetch(request, at: $0) }
                ?? context.fetch(request).map(\.snapshot)
            let model = try container.storeModel()
            for object in objects { try FetchCommand.write(object, model, output, context) }
        }
    }

    @MainActor private static func write(
        _ row: [String: Value], _ columns: FetchColumns, _ model: CompiledModel,
        _ output: OutputFormat, _ context: ManagedObjectContext
    ) throws {
        let values = try row.mapValues { ValueText.json(try context.withContent($0), model) }
        if output == .json { return printLine(JSON.object(values).text) }
        let text = columns.columns.map(\.description).map { "\($0)=\(values[$0]?.shown ?? "")" }
        printLine(text.joined(separator: " "))
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
        let text = values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.shown)" }
        printLine("\(object.id.description.padded(to: 16)) \(text.joined(separator: " "))")
    }
}
