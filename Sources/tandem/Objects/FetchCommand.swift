import ArgumentParser
import Tandem
import TandemIO

/// `tandem fetch`: prints the objects of an entity.
struct FetchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Fetch objects, or with --select and --group-by their values and sums.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: RequestOptions
    @OptionGroup var columns: ColumnOptions

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    @Flag(
        name: [.customShort("l"), .long],
        help: "Do not cut the lines of the short format to the terminal's width.")
    var full = false

    func run() throws {
        let (container, options) = (global.container(), options)
        let output = ObjectOutput(format: output, isFull: full)
        let columns = try columns.columns()
        try onMainActor {
            let context = container.makeContext(name: "tandem")
            let request = try options.request(try container.compiledModel())
            if let columns {
                let rows =
                    try options.position(context, container).map {
                        try context.fetchDictionaries(request, columns, at: $0)
                    } ?? context.fetchDictionaries(request, columns)
                let model = try container.compiledModel()
                for row in rows { try output.write(row, columns, model, context) }
                return
            }
            let objects =
                try options.position(context, container).map { try context.fetch(request, at: $0) }
                ?? context.fetch(request).map(\.snapshot)
            let model = try container.compiledModel()
            for object in objects { try output.write(object, model, context) }
        }
    }
}

/// The lines of `tandem fetch`.
@MainActor private struct ObjectOutput {
    private let format: OutputFormat
    /// The width to which lines are cut; nil for whole lines.
    private let width: Int?

    nonisolated init(format: OutputFormat, isFull: Bool) {
        self.format = format
        let isCut = format == .short && !isFull
        width =
            isCut ? ThisProcess.terminalSize(StandardStream.output.descriptor)?.columns : nil
    }

    func write(
        _ row: [String: PropertyValue], _ columns: FetchColumns, _ model: CompiledModel,
        _ context: ManagedObjectContext
    ) throws {
        let values = try row.mapValues { ValueText.json(try context.tools.withContent($0), model) }
        if format == .json { return printLine(JSON.object(values).text) }
        let fields = columns.columns.map(\.description).map { Self.field($0, values[$0]) }
        printCut(fields.joined(separator: " "))
    }

    func write(
        _ object: ObjectSnapshot, _ model: CompiledModel, _ context: ManagedObjectContext
    ) throws {
        let values = try object.values.mapValues {
            ValueText.json(try context.tools.withContent($0), model)
        }
        if format == .json {
            return printLine(
                JSON.object([
                    "id": .string(object.id.description), "entity": .string(object.id.entity),
                    "values": .object(values),
                ]).text)
        }
        let fields = values.sorted { $0.key < $1.key }.map { Self.field($0.key, $0.value) }
        printCut("\(object.id.description.padded(to: 16)) \(fields.joined(separator: " "))")
    }

    private func printCut(_ line: String) {
        printLine(width.map { line.printable.cut(toCells: $0) } ?? line)
    }

    /// Returns `NAME=VALUE`; a value that could be taken for several fields is quoted.
    private static func field(_ name: String, _ value: JSON?) -> String {
        guard let value else { return "\(name)=" }
        let isAmbiguous =
            value.string.map { text in
                text.isEmpty || text.contains { $0.isWhitespace || "\"=,".contains($0) }
            } ?? false
        return "\(name)=\(isAmbiguous ? value.text : value.plain)"
    }
}
