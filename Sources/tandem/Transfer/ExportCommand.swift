import ArgumentParser
import Tandem
import TandemIO

/// `tandem export`: prints all objects of entities at one position.
struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print all objects of entities, for `tandem import`.",
        discussion: """
            All objects are read at one position: the last, or --at. Without names, all entities are printed. An object \
            is printed under its own entity only, so name subentities as well. A CSV file contains one entity, and an \
            empty cell means null. A link is the object's id, with its unique key if there is one. `tandem import` \
            finds the object by the key, or by the id among the rows of the file. Infinite numbers, which JSON lacks, \
            are the strings Infinity and -Infinity. Derived attributes are omitted, because they cannot be set.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The entities.")
    var entities: [String] = []

    @Option(help: "A predicate on objects of each entity, such as 'wins > 2'.")
    var `where`: String?

    @Option(
        help: ArgumentHelp("The position to read at; the last by default.", valueName: "position"))
    var at: UInt64?

    @Option(name: .shortAndLong, help: "The output format.")
    var output: TransferFormat = .ndjson

    func run() throws {
        let (container, options) = (global.container(), self)
        try onMainActor {
            let model = try container.compiledModel()
            let entities = try options.entities(model)
            let context = container.makeContext(name: "export")
            let end = try context.connect()
            if let at = options.at { try CommandFailure.checkReached(at, end.number) }
            let position = try context.pin(at: options.at.map { end.at($0) } ?? end)
            let lines = LineOutput(isRaw: options.output == .csv)
            defer { lines.finish() }
            for entity in entities {
                let rows = ExportRows(context, at: position, label: "export \(entity.name)")
                let keys = try ExportKeys(entity, model, context, at: position)
                let writer = ExportWriter(entity, model, options.output, keys)
                try rows.each(try options.request(entity.name), writer.members) { object in
                    var count = 0
                    lines.write { bytes in
                        let start = bytes.count
                        writer.write(object, into: &bytes)
                        count = bytes.count - start
                    }
                    return count
                } before: {
                    lines.write { bytes in writer.begin(into: &bytes) }
                }
                if lines.isClosed { return }
            }
        }
    }

    private func request(_ entity: String) throws -> FetchRequest<ManagedObject> {
        var request = FetchRequest(entity: entity)
        request.includesSubentities = false
        if let text = `where` { request.predicate = try ObjectPredicate(format: text) }
        return request
    }

    private func entities(_ model: CompiledModel) throws -> [CompiledEntity] {
        let all = model.entities.sorted { $0.name < $1.name }
        let named = try entities.map { name in
            guard let entity = model.entity(named: name) else {
                throw model.unknownEntity(name)
            }
            return entity
        }
        let wanted = entities.isEmpty ? all : named
        guard output == .ndjson || wanted.count == 1 else {
            throw CommandFailure(
                "-o csv needs exactly one entity; name it, or use -o ndjson", code: 2)
        }
        return wanted
    }
}
